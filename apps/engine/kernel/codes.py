"""The kernel's numbers for signals, orders, sizes and reasons.

Compiled code has them as constants; `reasons.py` has the names of reasons on the wire.
"""

# Signals: one byte per row and symbol, 0 where the symbol has no bar. EXIT is an opposite signal of
# an algorithm of one side, CLOSE is said by conditions of exits.
ENTER_LONG, ENTER_SHORT, EXIT_LONG, EXIT_SHORT, CLOSE_LONG, CLOSE_SHORT = 1, 2, 4, 8, 32, 64
ENTER = ENTER_LONG | ENTER_SHORT
FLATTEN = 16
"""Not a signal: the mark on a position that is closed for its order's `close_reason`."""
HELD_UP, LOCKED_AT_CLOSE, TARGET_WAITS = 128, 256, 512
"""Nor are these: an exit waits for a locked price, for `close_reason`; the last bar was locked on
the side of the position's exit; the last bar reached the target there (rule 22).
"""
ADD_WAITS = 1024
"""Nor is this: an add by distance waits (rule 7)."""

# Flags of a bar in which positions are squared off (rule 9), or leave before the contract is
# delivered (rule 13); BEFORE_DELIVERY is combined with one of the others.
AFTER_SQUARE_OFF, LAST_OF_SESSION, BEFORE_DELIVERY = 1, 2, 4
# The price of the bar is locked (rule 22): nobody sells at the upper, nobody buys at the lower.
LOCKED_UP, LOCKED_DOWN = 8, 16

# The column of each average true range (rules 5 and 7).
SIZE, STOP, TARGET, TRAIL, DISTANCE = range(5)

# The columns of the levels of a bar: of a long position, the next one of a short one; and the share
# of equity (rules 3, 5 and 6).
STOP_LEVEL, TARGET_LEVEL, TRAIL_LEVEL, SHARE = 0, 2, 4, 6

# Why a position was closed, OPEN while it is not, and why an entry was not traded. BY_STEP is the
# reason of a fill that closes a part.
(
    OPEN,
    BY_STOP,
    BY_TARGET,
    BY_TRAIL,
    BY_OPPOSITE,
    BY_SQUARE_OFF,
    BY_HOLDING,
    BY_DAILY_LOSS,
    BY_END_OF_DATA,
    BY_SIGNAL,
    BY_STOPPED,
    BY_EXPIRY,
    BY_EXPIRY_CLOSE,
    BY_DAILY_PROFIT,
    BY_STEP,
) = range(15)
(
    POSITION_LIMIT,
    INSUFFICIENT_CASH,
    BELOW_ONE_LOT,
    DAILY_LOSS_LIMIT,
    OUTSIDE_SESSION,
    BOTH_SIDES,
    LIMIT_NOT_REACHED,
    KILL_SWITCH,
    STALE_DATA,
    AFTER_SESSION,
    CIRCUIT,
    DAILY_PROFIT_LIMIT,
    ENTRY_LIMIT,
    COOLDOWN,
    LEVEL_BEYOND_ENTRY,
) = range(15)
TRADED, IGNORED = -1, -2
# Limits that make an entry smaller than its sizing.
BY_POSITION_SIZE, BY_CASH, BY_VOLUME = range(3)
# The counts of exits that wait at a locked price.
WAITING_EXITS, WAITED_BARS = range(2)

# How an entry is filled (rule 12).
AT_MARKET, AT_LIMIT, AT_STOP = range(3)

# The sizing of a position: units, rupees, fraction of equity, fraction of equity lost at the stop
# or over a multiple of the average true range, fraction of equity that an operand says.
BY_QUANTITY, BY_AMOUNT, BY_EQUITY, BY_RISK, BY_VOLATILITY, BY_OPERAND = range(6)

RUNNING, RUINED = 0, 1
# Why entries have ended for the day (rule 8).
NOT_HALTED, HALTED_BY_LOSS, HALTED_BY_PROFIT = range(3)

DUST = 1e-6  # rupees: the tolerance for reaching a limit, because of binary fractions
TICKS_PER_RUPEE = 10_000.0  # CONTRACT's `tick` counts ten-thousandths of a rupee: 0.05 is 500
