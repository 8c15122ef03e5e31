"""The kernel's input and output: the state, which survives a row, market, rules and output."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import blake2b
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from apps.engine.errors import EngineError
from apps.engine.kernel.codes import (
    ADD_WAITS,
    ENTER,
    ENTER_LONG,
    ENTER_SHORT,
    EXIT_LONG,
    EXIT_SHORT,
    FLATTEN,
    HALTED_BY_LOSS,
    HALTED_BY_PROFIT,
    HELD_UP,
    RUINED,
)
from apps.engine.kernel.reasons import CHARGE_KINDS, REDUCTIONS, REJECTIONS, WAITS

# Goes up with every change of a rule or of a figure in a result.
ENGINE_VERSION: Final = 13

# Any: records and plain numbers alike.
Array = NDArray[Any]

CONTRACT = np.dtype(
    [("lot", "f8"), ("multiplier", "f8"), ("margin", "f8"), ("tick", "f8"), ("segment", "i8")]
)
RATE = np.dtype(
    # Fractions of the traded value. Sorted by first_day; in force is the last row that has begun.
    [
        ("segment", "i8"),
        ("first_day", "i8"),
        ("brokerage", "f8"),
        ("brokerage_cap", "f8"),
        ("tax_buy", "f8"),
        ("tax_sell", "f8"),
        ("exchange", "f8"),
        ("ipft", "f8"),
        ("regulator", "f8"),
        ("stamp_buy", "f8"),
        ("gst", "f8"),
        ("brokerage_flat", "f8"),  # rupees an order, beside its share of the value
        ("depository", "f8"),  # rupees a sale of shares that were bought on an earlier day
    ]
)

# State.

# Average true ranges: of size, stop, target, trail and the distance of adds.
RANGES: Final = 5
# Levels of a bar, and the share of equity: the columns of `codes`.
LEVELS: Final = 7
# Steps of an exit in parts, at most.
EXIT_STEPS: Final = 3
NO_STEPS: Final = (0.0, 0.0, 0.0)

ACCOUNT_STATE = np.dtype(
    [
        ("cash", "f8"),  # free: money locked by open positions is in their records
        ("equity", "f8"),  # at the last close
        ("day_start", "f8"),  # equity at the last close before the session
        ("paid", "f8", (len(CHARGE_KINDS),)),  # charges so far in paise, by kind
        ("rows", "i8"),
        ("trades", "i8"),
        ("rejected", "i8", (len(REJECTIONS),)),
        ("reduced", "i8", (len(REDUCTIONS),)),  # entries of fewer lots than their sizing asks for
        ("waited", "i8", (len(WAITS),)),  # exits for a locked price (rule 22)
        ("day", "i4"),
        ("status", "i2"),
        ("halted", "i2"),  # the day's loss or profit was at its limit: a number of `codes`
        ("blocked", "i2"),  # entries, from outside: 1 + the number of the rejection, 0 for none
        ("entries_today", "i4"),  # positions opened on `day`
    ]
)
POSITION = np.dtype(
    # One for each slot: its instrument and the source of its signals. Today every instrument of a
    # run has one slot and its own signals. A missing level is NaN, so that every comparison with it
    # is false. If `side` is 0, `source`, `instrument`, `entry_day`, `opened` and `cooling` alone
    # have a meaning.
    [
        ("source", "i8"),  # `instrument_id`
        ("instrument", "i8"),
        ("side", "f8"),  # 1 long, -1 short
        ("quantity", "f8"),
        ("average", "f8"),  # entry price
        ("stop", "f8"),
        ("target", "f8"),
        ("extreme", "f8"),  # the best price of completed bars since entry
        ("locked", "f8"),
        ("charges", "f8"),  # of its entries, and of the parts that have left
        ("close", "f8"),  # its last close, with the bar's time and day
        ("time", "i8"),
        ("entry_time", "i8"),
        ("atr", "f8", (RANGES,)),  # average true ranges at the signal of its first entry
        ("contract", CONTRACT),  # the terms of its last entry; `segment` is a number of that day
        ("bars", "i4"),
        ("day", "i4"),
        ("entry_day", "i4"),  # the date of `entry_time` in Asia/Kolkata
        ("entries", "i2"),
        ("trailed", "u1"),  # the stop is where trailing put it
        ("last_fill", "f8"),  # the price of its last entry or add
        ("stop_level", "f8"),  # of a stop that rests at a level, as read at the signal
        ("target_level", "f8"),
        ("share", "f8"),  # of equity, of each entry whose size an operand says
        ("steps", "f8", (EXIT_STEPS,)),  # the levels at which parts of it leave
        ("taken", "i4"),  # steps so far
        ("sold", "f8"),  # the quantity of the parts that have left
        ("sold_value", "f8"),  # the sum of quantity x price of these
        ("sold_gross", "f8"),  # their profit or loss before charges
        ("delivered_on", "i4"),  # the day of the last depository charge of a part
        ("opened", "i4"),  # positions opened on `entry_day`
        ("cooling", "i4"),  # bars, with the current one, in which nothing is entered after an exit
    ]
)
ORDER = np.dtype(
    # Pending work for the next bar of a slot's instrument.
    [
        ("price", "f8"),  # of an entry, unless it is at market
        ("atr", "f8", (RANGES,)),  # average true ranges at its signal
        ("stop_level", "f8"),  # of its side, at its signal
        ("target_level", "f8"),
        ("share", "f8"),  # of equity
        ("close_reason", "i8"),  # why `pending` has FLATTEN or HELD_UP
        ("pending", "i8"),  # signal bits, and marks of `codes`
        ("rank", "i8"),  # the place of an entry in the ranking at its signal; 0 without a ranking
    ]
)
# Orders that a slot can hold.
ORDERS: Final = 1


class State(NamedTuple):
    """Everything that survives a row.

    It holds no index of a row or bar, so any market may continue it.
    """

    account: Array  # ACCOUNT[1]
    positions: Array  # POSITION[slots]
    orders: Array  # ORDER[slots, ORDERS]

    @classmethod
    def first(cls, symbols: Iterable[str], *, cash: float) -> State:
        """Return the state before the first row: flat, with `cash` rupees."""
        return new_state(instrument_ids(symbols), cash=cash)

    @property
    def is_ruined(self) -> bool:
        """Whether the capital is lost (rule 13)."""
        return bool(self.account["status"][0] == RUINED)

    @property
    def halted_by(self) -> str:
        """The limit that has ended the entries of the day: `loss`, `profit`, or none."""
        return {HALTED_BY_LOSS: "loss", HALTED_BY_PROFIT: "profit"}.get(
            int(self.account["halted"][0]), ""
        )

    def drop_entry(self, slot: int, *, closes_on_opposite: bool) -> None:
        """Drop the pending entry of a slot.

        An entry that would reverse a position still closes it, as where entries are blocked (rule
        20).
        """
        order, side = self.orders[slot, 0], self.positions[slot]["side"]
        pending = int(order["pending"])
        against = ENTER_SHORT if side > 0 else ENTER_LONG
        if side and pending & against and closes_on_opposite:
            pending |= EXIT_LONG if side > 0 else EXIT_SHORT
        order["pending"] = pending & ~(ENTER | ADD_WAITS)


def instrument_id(symbol: str) -> int:
    """Return the number of a symbol in states, the same in every run and release."""
    return int.from_bytes(blake2b(symbol.encode(), digest_size=8).digest(), "big", signed=True)


def instrument_ids(symbols: Iterable[str]) -> NDArray[np.int64]:
    return np.array([instrument_id(symbol) for symbol in symbols], np.int64)


def new_state(instruments: NDArray[np.int64], *, cash: float) -> State:
    """Return the state before the first row: flat, with `cash` rupees."""
    slots = len(instruments)
    state = State(
        np.zeros(1, ACCOUNT_STATE), np.zeros(slots, POSITION), np.zeros((slots, ORDERS), ORDER)
    )
    for field in ("cash", "equity", "day_start"):
        state.account[field] = cash
    state.account["day"] = -1
    state.positions["source"] = state.positions["instrument"] = instruments
    return state


def new_states(instruments: NDArray[np.int64], plans: int, *, cash: float) -> State:
    """Return such states for many plans, each array with one more axis."""
    state = new_state(instruments, cash=cash)
    many = (
        np.repeat(array[np.newaxis], plans, axis=0) for array in (state.positions, state.orders)
    )
    return State(np.repeat(state.account, plans), *many)


def block_entries(state: State, reason: int | None) -> None:
    """Block entries from the next row on, for a rejection of `codes`; None allows them again.

    Pending entries are dropped in the next row. Exits continue.
    """
    state.account["blocked"] = 0 if reason is None else reason + 1


def request_close(state: State, slots: Iterable[int], reason: int) -> None:
    """Close these positions at the next open of each, for an exit reason of `codes`.

    Each may be entered again, even at that open, unless entries are blocked.
    """
    for slot in slots:
        if state.positions[slot]["side"] != 0:
            order = state.orders[slot, 0]
            if not order["pending"] & HELD_UP:
                order["close_reason"] = reason
            order["pending"] |= FLATTEN


# Market.


class Bars(NamedTuple):
    """Prices, f8[bars] each, with low <= open, close <= high: columns, so that the candles of one
    symbol are used without copies.
    """

    open: NDArray[np.float64]
    high: NDArray[np.float64]
    low: NDArray[np.float64]
    close: NDArray[np.float64]


NO_MARGINS: Final = np.empty(0)
NO_VOLUME: Final = np.empty(0)
NO_LEVELS: Final = np.empty((0, LEVELS))
Ranks: TypeAlias = NDArray[np.int16]
NO_RANKS: Final = np.empty(0, np.int16)


class MarketRows(NamedTuple):
    """Rows of the union of all symbols' timelines; each symbol's bars are contiguous, in their
    order.

    `time` and `bars` are read-only (`candles.frozen`): writable arrays have another type, and would
    need another compilation.
    """

    time: NDArray[np.int64]  # [rows] epoch seconds
    day: NDArray[np.int32]  # [rows] date in Asia/Kolkata, as a day number
    # [rows, symbols] index into `bars`, -1 for a symbol without a bar; [1, symbols], the indexes of
    # the first row, if each symbol has a bar in every row.
    cell: NDArray[np.int32]
    bars: Bars
    atr: NDArray[np.float64]  # [bars, RANGES], or [0, RANGES]: no rule of the plan needs any
    flags: NDArray[np.uint8]  # [bars], or empty: no bar has any
    # [bars] the rupees locked by a sold unit beside its value, for each rupee that it gains per
    # rupee of price; or empty: nothing (rule 6).
    short_margins: NDArray[np.float64] = NO_MARGINS
    volume: NDArray[np.float64] = NO_VOLUME  # [bars], or empty: no entry is cut by it (rule 6)
    # [bars, LEVELS] what operands say at each close, or [0, LEVELS]: the plan reads none. A stop, a
    # target and a share are known where there is an entry; an unknown trail is NaN.
    levels: NDArray[np.float64] = NO_LEVELS
    ranks: Ranks = NO_RANKS  # [bars] the place in the ranking, or empty: there is none (rule 2)

    @property
    def rows(self) -> int:
        return len(self.time)

    @property
    def symbols(self) -> int:
        return int(self.cell.shape[1])

    def cells_of(self, symbol: int) -> NDArray[np.int32]:
        """Return the bar of a symbol in each row, -1 without one."""
        cells: NDArray[np.int32] = self.cell[:, symbol]
        return cells if len(cells) == self.rows else cells[0] + np.arange(self.rows, dtype=np.int32)


# Rules.


class Plan(NamedTuple):
    """A strategy in numbers: fractions, not percent.

    A distance is rate x price + points + multiple x average true range at the signal; 0 means none.
    """

    size_by: int = 0  # codes.BY_QUANTITY and the others
    size: float = 1.0
    size_atr: float = 0.0
    stop_rate: float = 0.0
    stop_points: float = 0.0
    stop_atr: float = 0.0
    second_stop_rate: float = 0.0
    target_ratio: float = 0.0  # of the distance to the stop
    target_rate: float = 0.0
    target_points: float = 0.0
    target_atr: float = 0.0
    trail_rate: float = 0.0
    trail_points: float = 0.0
    trail_atr: float = 0.0
    trail_from: float = 0.0  # gain over the average entry that arms the trailing stop
    order_by: int = 0  # codes.AT_MARKET and the others
    order_offset: float = 0.0  # from the signal's close to the order's price
    slippage: float = 0.0
    max_entries: int = 1
    max_positions: int = 1
    max_holding: int = 0  # bars; 0 is no limit
    max_position_value: float = np.inf
    max_daily_loss: float = np.inf
    reverse: bool = True  # an entry signal against the position closes it
    within_session: bool = False  # an entry is filled in the session of its signal, or not at all
    squares_off: bool = False  # nothing is held over night (rule 9)
    max_volume_share: float = 0.0  # of the volume of the bar that fills an entry; 0 is no limit
    max_entries_a_day: int = 0  # positions opened on a date; 0 is no limit
    max_entries_a_symbol: int = 0  # of them, in one symbol
    cooldown: int = 0  # bars without an entry after the bar of an exit
    cools_after_loss: bool = False  # only after a trade with a loss
    max_daily_profit: float = np.inf
    # Adds by distance from the last fill: in favour of the position (1), against it (-1), or adds
    # by new signals (0).
    add_direction: float = 0.0
    add_rate: float = 0.0
    add_points: float = 0.0
    add_atr: float = 0.0
    stops_at_level: bool = False
    targets_at_level: bool = False
    trails_at_level: bool = False
    # Parts of a position that leave earlier. The distance of a level is ratio x the stop's + rate x
    # price + points.
    steps: int = 0
    step_ratio: tuple[float, ...] = NO_STEPS
    step_rate: tuple[float, ...] = NO_STEPS
    step_points: tuple[float, ...] = NO_STEPS
    step_percent: tuple[float, ...] = NO_STEPS  # of the quantity before the first step
    step_moves_stop: tuple[int, ...] = (0, 0, 0)  # 1: to the average entry


PLAN = np.dtype(
    [
        (name, type(value[0]), len(value)) if isinstance(value, tuple) else (name, type(value))
        for name, value in Plan()._asdict().items()
    ]
)


class Rules(NamedTuple):
    """The rules of a run: its plan, and the contract terms and charges of its instruments."""

    plan: Array  # PLAN[1]
    instruments: NDArray[np.int64]  # [symbols] `instrument_id`
    contracts: Array  # CONTRACT[symbols]
    rates: Array  # RATE


class Settlement(NamedTuple):
    """The settlement of a contract: at a price, for an option its intrinsic value, or at its last
    close if that is NaN; `tax` is the fraction of the value that the holder of a long position
    pays.
    """

    price: float = np.nan
    tax: float = 0.0


LAST_CLOSE: Final = Settlement()


def rules_of(plan: Plan, instruments: NDArray[np.int64], contracts: Array, rates: Array) -> Rules:
    return Rules(np.array([plan], PLAN), instruments, contracts, rates)


# Output.

TRADE = np.dtype(
    [
        ("entry_time", "i8"),
        ("exit_time", "i8"),
        ("symbol", "i4"),
        ("bars", "i4"),
        ("side", "i2"),
        ("reason", "i2"),
        ("quantity", "f8"),
        ("entry_price", "f8"),
        ("exit_price", "f8"),
        ("value", "f8"),  # average entry x quantity x multiplier
        ("gross", "f8"),
        ("charges", "f8"),
    ]
)
FILL = np.dtype(
    # One for every entry, add and exit, in order of time.
    [
        ("time", "i8"),  # the start of the bar that it happened in, or at the close of
        ("symbol", "i4"),
        ("side", "i2"),  # 1 bought, -1 sold
        ("reason", "i2"),  # of an exit; codes.OPEN of an entry or an add
        ("quantity", "f8"),
        ("price", "f8"),
        ("charges", "f8"),  # rupees, the sum of
        ("paid", "f8", (len(CHARGE_KINDS),)),  # paise, by kind
    ]
)
REFUSAL = np.dtype(
    # An entry that was not traded.
    [
        ("time", "i8"),  # the start of the bar with the refusal at its open, or at its close
        ("symbol", "i4"),
        ("reason", "i2"),
        ("side", "i2"),  # 1 long, -1 short, 0 both at once
    ]
)
# One row: its bars' start, and equity at their close.
CURVE = np.dtype([("time", "i8"), ("equity", "f8")])

# A slot can take its steps and leave, enter, and take the steps of the new position and leave.
FILLS_A_ROW: Final = 2 * EXIT_STEPS + 3
NO_FILLS, NO_REFUSALS = np.empty(0, FILL), np.empty(0, REFUSAL)


class SimulationOutput(NamedTuple):
    """The results. Fills and refusals are written unless their arrays are empty."""

    trades: Array  # TRADE[at least 2 x slots]
    equity: NDArray[np.float64]  # [rows]
    fills: Array = NO_FILLS  # FILL[at least FILLS_A_ROW x slots]
    refusals: Array = NO_REFUSALS  # REFUSAL[at least 2 x slots]


class Sampling(NamedTuple):
    """The rows for storing equity: all by default."""

    rows: NDArray[np.int64]
    curve: NDArray[np.float64]  # [rows of the market] memory for the equity of one plan


NO_SAMPLING = Sampling(np.empty(0, np.int64), np.empty(0))


class Span(NamedTuple):
    """The rows [first, stop) of each plan; the next plan, and its next row.

    Positions are closed before row `end`, or when the money is gone (rule 13); never with NO_END.
    """

    first: int
    stop: int
    number: int
    row: int
    end: int


NO_END: Final = -1


class KernelProgress(NamedTuple):
    """The progress of a call: the next plan and the next row of the last plan, and the number of
    records in Output.
    """

    number: int
    row: int
    trades: int
    fills: int
    refusals: int


# Checks.


class ArrayMismatch(EngineError):
    """Arrays of a simulation that do not fit each other."""


def check_shapes(
    state: State, market: MarketRows, signals: Array, rules: Rules, output: SimulationOutput
) -> None:
    """Raise ArrayMismatch if `run`, which checks no bounds, would read outside its arrays.

    It does not check the content of `cell`.
    """
    rows, symbols = market.rows, market.symbols
    bars, slots = market.bars.open.size, state.positions.size
    instruments = set(rules.instruments.tolist())
    fits = (
        market.time.shape == market.day.shape == (rows,)
        and len(market.cell) in (1, rows)
        and signals.shape == (symbols, rows)
        and rules.instruments.shape == rules.contracts.shape == (symbols,)
        and rules.plan.shape == (1,)
        and state.orders.shape == (slots, ORDERS)
        and instruments.issuperset(state.positions["instrument"].tolist())
        and instruments.issuperset(state.positions["source"].tolist())
        and all(column.shape == (bars,) for column in market.bars)
        and market.atr.shape in ((0, RANGES), (bars, RANGES))
        and market.flags.shape in ((0,), (bars,))
        and market.short_margins.shape in ((0,), (bars,))
        and market.volume.shape in ((0,), (bars,))
        and market.levels.shape in ((0, LEVELS), (bars, LEVELS))
        and market.ranks.shape in ((0,), (bars,))
        and output.trades.size >= 2 * slots
        and output.equity.size == rows
        and (output.fills.size == 0 or output.fills.size >= FILLS_A_ROW * slots)
        and (output.refusals.size == 0 or output.refusals.size >= 2 * slots)
    )
    if not fits:
        raise ArrayMismatch("The arrays of the simulation do not fit each other.")
    if not all(array.flags.writeable and array.flags.c_contiguous for array in (*state, *output)):
        raise ArrayMismatch("State and output must be writable and contiguous.")
