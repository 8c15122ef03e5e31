"""What the kernel reads and writes: records, the state that survives a row, the market, results."""

from __future__ import annotations

from collections.abc import Iterable
from hashlib import sha256
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles import ist_day
from apps.engine.errors import EngineError
from apps.engine.kernel.codes import FLATTEN
from apps.engine.kernel.reasons import CHARGE_KINDS, REJECTIONS

ENGINE_VERSION = 11
"""Goes up with every change of a rule or of a figure in a result."""
STATE_VERSION = 5
"""Goes up with every change of what State holds, or of what a field of it means. A run that was
saved by an earlier version goes on only if `load` converts its state, as it does that of version 4.
"""

Array = NDArray[Any]
"""Any: records and plain numbers alike."""

ACCOUNT = np.dtype(
    [
        ("cash", "f8"),  # free: what open positions lock is in their records
        ("equity", "f8"),  # at the last close
        ("day_start", "f8"),  # the last mark before the session
        ("paid", "f8", (len(CHARGE_KINDS),)),  # charges so far in paise, by kind
        ("rows", "i8"),
        ("trades", "i8"),
        ("rejected", "i8", (len(REJECTIONS),)),
        ("day", "i4"),
        ("status", "i2"),
        ("halted", "i2"),  # a breach of the daily loss today
        ("barred", "i2"),  # entries, from outside: 1 + the number of the rejection, 0 for none
    ]
)
POSITION = np.dtype(
    # A level that does not exist is NaN, so every comparison with it is false. Written for flat
    # symbols too, where `side` is 0 and only `pending` and `order_atr` mean something.
    [
        ("side", "f8"),  # 1 long, -1 short
        ("quantity", "f8"),
        ("exposure", "f8"),  # side x quantity x contract multiplier
        ("average", "f8"),  # entry price
        ("stop", "f8"),
        ("target", "f8"),
        ("extreme", "f8"),  # the best price of completed bars since entry
        ("order_price", "f8"),  # of the entry that waits, unless it is at market
        ("locked", "f8"),
        ("charges", "f8"),  # of its entries
        ("close", "f8"),  # its last close, with the bar's time and day
        ("time", "i8"),
        ("entry_time", "i8"),
        ("atr", "f8", (4,)),  # of the first entry, and
        ("order_atr", "f8", (4,)),  # of the entry that waits
        ("bars", "i4"),
        ("day", "i4"),
        ("entry_day", "i4"),  # the date of `entry_time` in Asia/Kolkata
        ("entries", "i2"),
        ("asked", "i2"),  # why `pending` has FLATTEN: the reason that its exit gets
        ("trailed", "u1"),  # the stop is where trailing put it
        ("pending", "u1"),  # signals that wait for the symbol's next bar
    ]
)
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
    # One for every entry, add and exit, in the order in which they happened.
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
        ("time", "i8"),  # the start of the bar at whose open it was refused, or at whose close
        ("symbol", "i4"),
        ("reason", "i2"),
        ("side", "i2"),  # 1 long, -1 short, 0 both at once
    ]
)
CURVE = np.dtype([("time", "i8"), ("equity", "f8")])
"""One row: its bars' start, and equity at their close."""


class ForeignState(EngineError):
    """Saved state of another version or layout, or cut short."""


class Misfit(EngineError):
    """Arrays of a simulation that do not fit each other."""


class Bar(NamedTuple):
    """Prices of one bar, in rupees."""

    open: float
    high: float
    low: float
    close: float


class Plan(NamedTuple):
    """One strategy in numbers: fractions, not percent.

    A distance is rate x price + points + multiple x average true range at the signal; 0 is none.
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


class State(NamedTuple):
    """All that survives a row. It holds no index of a row or bar, so any market may continue it."""

    account: Array  # ACCOUNT[1]
    positions: Array  # POSITION[symbols]


class Bars(NamedTuple):
    """Prices, f8[bars] each, with low <= open, close <= high: columns, so that the candles of one
    symbol are used as they lie.
    """

    open: NDArray[np.float64]
    high: NDArray[np.float64]
    low: NDArray[np.float64]
    close: NDArray[np.float64]


class Market(NamedTuple):
    """Rows of the union of all symbols' timelines; each symbol's bars lie together, in their order.

    `time` and `bars` are read-only (`candles.frozen`): compiled code has another type, and would be
    compiled once more, for arrays that can be written.
    """

    time: NDArray[np.int64]  # [rows] epoch seconds
    day: NDArray[np.int32]  # [rows] date in Asia/Kolkata, as a day number
    cell: NDArray[np.int32]  # [rows, symbols] index into `bars`, -1 where the symbol has no bar
    bars: Bars
    atr: NDArray[np.float64]  # [bars, 4], or [0, 4]: no rule of the plan asks for any
    flags: NDArray[np.uint8]  # [bars], or empty: nothing is squared off


NO_FILLS, NO_REFUSALS = np.empty(0, FILL), np.empty(0, REFUSAL)
NO_ROWS, NOWHERE = np.empty(0, np.int64), np.empty(0)


class Out(NamedTuple):
    """Where results are written; what is empty nobody asks for."""

    trades: Array  # TRADE[at least 2 x symbols]
    equity: NDArray[np.float64]  # [rows], or empty
    fills: Array = NO_FILLS  # FILL[at least 3 x symbols], or empty
    refusals: Array = NO_REFUSALS  # REFUSAL[at least 2 x symbols], or empty
    sampled: NDArray[np.int64] = NO_ROWS  # rows, ascending, whose equity is written to
    samples: NDArray[np.float64] = NOWHERE  # [sampled], where `equity` is empty


class Ran(NamedTuple):
    """What `run` did: the next row, and how much of each it wrote to Out."""

    row: int
    trades: int
    fills: int
    refusals: int


def new_state(*, symbols: int, cash: float) -> State:
    """Before the first row: flat, with `cash` rupees."""
    account, positions = np.zeros(1, ACCOUNT), np.zeros(symbols, POSITION)
    for field in ("cash", "equity", "day_start"):
        account[field] = cash
    account["day"] = -1
    return State(account, positions)


def bar_entries(state: State, reason: int | None) -> None:
    """Let nothing be entered from the next row on, for a rejection of `codes`; None lets it again.

    Entries that wait are dropped in the next row. Exits go on.
    """
    state.account["barred"] = 0 if reason is None else reason + 1


def ask_to_close(state: State, symbols: Iterable[int], reason: int) -> None:
    """Close what is held of these symbols at each one's next open, for an exit reason of `codes`.

    Each may be entered again, even at that open, unless entries are barred.
    """
    for symbol in symbols:
        position = state.positions[symbol]
        if position["side"] != 0:
            position["pending"] |= FLATTEN
            position["asked"] = reason


# What version 4 held: no depository charges, and no dates of entries.
ACCOUNT_4 = np.dtype(
    [("paid", "f8", (7,)) if field[0] == "paid" else field for field in ACCOUNT.descr]
)
POSITION_4 = np.dtype([field for field in POSITION.descr if field[0] != "entry_day"])


def header_of(version: int, account: np.dtype[Any], position: np.dtype[Any]) -> bytes:
    """Return the 16 bytes that states of this version and layout begin with."""
    layout = repr((version, account.descr, position.descr)).encode()
    return b"state\0" + version.to_bytes(2, "big") + sha256(layout).digest()[:8]


_UNREADABLE = "The engine has changed: it cannot read what it saved before."
HEADER = header_of(STATE_VERSION, ACCOUNT, POSITION)
HEADER_4 = header_of(4, ACCOUNT_4, POSITION_4)


def save(state: State) -> bytes:
    return HEADER + state.account.tobytes() + state.positions.tobytes()


def load(data: bytes) -> State:
    """Return what `save` made, also as version 4 did, as writable arrays; raise ForeignState for
    anything else.
    """
    header = data[: len(HEADER)]
    if header == HEADER_4:
        return _from_version_4(_read(data, ACCOUNT_4, POSITION_4))
    if header == HEADER:
        return _read(data, ACCOUNT, POSITION)
    raise ForeignState(_UNREADABLE)


def _read(data: bytes, account: np.dtype[Any], position: np.dtype[Any]) -> State:
    size = len(data) - len(HEADER) - account.itemsize
    if size < 0 or size % position.itemsize:
        raise ForeignState(_UNREADABLE)
    buffer = bytearray(data[len(HEADER) :])  # compiled code would write into immutable bytes too
    return State(
        np.frombuffer(buffer, account, 1), np.frombuffer(buffer, position, offset=account.itemsize)
    )


def _from_version_4(old: State) -> State:
    """Return the same state in the layout of today: no depository has charged anything."""
    state = new_state(symbols=old.positions.size, cash=0.0)
    for name in set(ACCOUNT_4.names or ()) - {"paid"}:
        state.account[name] = old.account[name]
    state.account["paid"][:, :7] = old.account["paid"]
    for name in POSITION_4.names or ():
        state.positions[name] = old.positions[name]
    state.positions["entry_day"] = ist_day(old.positions["entry_time"])
    return state


def check(state: State, market: Market, signals: Array, contracts: Array, out: Out) -> None:
    """Raise Misfit where `run` would read or write beside its arrays: it checks no bounds."""
    check_shapes(state, market, signals, contracts, out)
    there = market.cell >= 0
    beside = market.cell.max(initial=-1) >= market.bars.open.size
    if beside or np.any(signals[~there]):
        raise Misfit("The arrays of the simulation do not fit each other.")
    if any(np.any(np.diff(own[has]) != 1) for own, has in zip(market.cell.T, there.T, strict=True)):
        raise Misfit("The bars of a symbol do not lie together, in their order.")


def check_shapes(state: State, market: Market, signals: Array, contracts: Array, out: Out) -> None:
    """As `check`, of a market and signals whose cells are known to be right."""
    rows, symbols = market.cell.shape
    bars = market.bars.open.size
    fits = (
        market.time.shape == market.day.shape == (rows,)
        and signals.shape == (rows, symbols)
        and state.positions.shape == contracts.shape == (symbols,)
        and all(column.shape == (bars,) for column in market.bars)
        and market.atr.shape in ((0, 4), (bars, 4))
        and market.flags.shape in ((0,), (bars,))
        and out.trades.size >= 2 * symbols
        and out.equity.size in (0, rows)
        and (out.sampled.size == 0 or out.equity.size == 0)
        and out.samples.size >= out.sampled.size
        and (out.fills.size == 0 or out.fills.size >= 3 * symbols)
        and (out.refusals.size == 0 or out.refusals.size >= 2 * symbols)
    )
    if not fits:
        raise Misfit("The arrays of the simulation do not fit each other.")
    if not all(array.flags.writeable and array.flags.c_contiguous for array in (*state, *out)):
        raise Misfit("State and results must be writable and contiguous.")
