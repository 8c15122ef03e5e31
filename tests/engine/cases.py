"""Random simulations, and the ways to run one: whole, in pieces, row by row, by the twin."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from apps.engine import codes as c
from apps.engine import kernel as k
from apps.engine import records as r
from apps.engine.candles import frozen
from tests.engine.twin import Bar, Contract, Ranges, Rate, Seen, Twin


class Case(NamedTuple):
    """Everything `kernel.run` is given, and the opening cash."""

    market: r.Market
    signals: NDArray[np.uint8]
    plan: k.Plan
    contracts: NDArray[Any]
    rates: NDArray[Any]
    cash: float


class Outcome(NamedTuple):
    """All that a run leaves, as bytes: equal bytes are equal results."""

    state: bytes
    trades: bytes
    curve: bytes


ROWS_A_DAY = 37


def bars_of(table: ArrayLike) -> r.Bars:
    """Lines of (open, high, low, close) as the columns of a market."""
    columns = np.asarray(table, float).reshape(-1, 4).T
    return r.Bars(*(frozen(column) for column in columns))


def random_case(rng: np.random.Generator, *, symbols: int | None = None) -> Case:
    """Every rule is drawn now and then."""
    rows, symbols = int(rng.integers(60, 300)), symbols or int(rng.integers(1, 6))
    there = rng.random((rows, symbols)) >= rng.choice([0.0, 0.3])
    market = _market(rng, there)
    signals = np.zeros((rows, symbols), np.uint8)
    drawn = rng.choice(
        [0, 1, 2, 3, 4, 8, 5, 6, 9],
        int(there.sum()),
        p=[0.7, 0.1, 0.1, 0.01, 0.02, 0.02, 0.02, 0.02, 0.01],
    )
    if rng.random() < 0.5:  # exits by conditions
        drawn |= rng.choice([0, 32, 64, 96], drawn.size, p=[0.6, 0.15, 0.15, 0.1])
    signals[there] = drawn
    return Case(market, signals, _plan(rng), _contracts(rng, symbols), RATES, _cash(rng))


def _market(rng: np.random.Generator, there: NDArray[np.bool_]) -> r.Market:
    rows, symbols = there.shape
    scale, tick = float(rng.choice([0.001, 0.004, 0.02, 0.06])), 0.05
    cell = np.full(there.shape, -1, np.int32)
    cell[there] = rng.permutation(int(there.sum()))  # any order of bars will do
    table = np.zeros((int(there.sum()), 4))
    for s in range(symbols):
        n = int(there[:, s].sum())
        close = 100 * (1 + s) * np.exp(np.cumsum(rng.standard_t(3, n) * scale))
        gap = rng.normal(0, scale / 2, n) * (rng.random(n) < 0.3)
        open_ = np.r_[close[:1], close[:-1]] * np.exp(gap)
        high = np.maximum(open_, close) * np.exp(np.abs(rng.normal(0, scale / 2, n)))
        low = np.minimum(open_, close) * np.exp(-np.abs(rng.normal(0, scale / 2, n)))
        where = cell[there[:, s], s]
        prices = np.column_stack((open_, high, low, close))
        table[where] = np.maximum(np.round(np.round(prices / tick) * tick, 2), tick)
    bars = bars_of(table)
    atr = (bars.high - bars.low + 0.05)[:, None] * np.array([1.0, 0.9, 1.3, 0.7])
    row = np.arange(rows)
    minute = row % ROWS_A_DAY
    flags = np.zeros(len(table), np.uint8)
    if rng.random() < 0.5:
        by_row = np.where(minute >= ROWS_A_DAY - 4, c.AFTER_SQUARE_OFF, 0)
        by_row |= np.where(minute == ROWS_A_DAY - 1, c.LAST_OF_SESSION, 0)
        if rng.random() < 0.3:  # a written square-off beyond the session's last bar
            by_row &= ~c.AFTER_SQUARE_OFF
        flags[cell[there]] = np.broadcast_to(by_row[:, None], there.shape)[there]
    else:
        flags = flags[:0]
    day = (row // ROWS_A_DAY + 100).astype(np.int32)
    return r.Market(frozen(row * 60 + 1_600_000_000), day, cell, bars, atr, flags)


def _plan(rng: np.random.Generator) -> k.Plan:
    def pick(*values: float) -> Any:
        return rng.choice(values).item()

    size_by = int(rng.integers(0, 5))
    sizes = ((1.0, 40.0), (5e3, 5e4), (0.05, 0.6, 1.0, 4.0), (0.002, 0.02), (0.002, 0.02))
    kind = int(rng.integers(0, 3))
    no_stop = size_by != c.BY_RISK and rng.random() < 0.15
    return k.Plan(
        size_by=size_by,
        size=pick(*sizes[size_by]),
        size_atr=pick(1.0, 2.5),
        stop_rate=pick(0.002, 0.01) if kind == 0 and not no_stop else 0.0,
        stop_points=pick(0.35, 2.0) if kind == 1 and not no_stop else 0.0,
        stop_atr=pick(1.0, 2.5) if kind == 2 and not no_stop else 0.0,
        second_stop_rate=pick(0.0, 0.0, 0.005),
        target_ratio=pick(0.0, 1.0, 2.0),
        target_rate=pick(0.0, 0.0, 0.01),
        target_atr=pick(0.0, 0.0, 2.0),
        trail_rate=pick(0.0, 0.004),
        trail_points=pick(0.0, 0.0, 0.5),
        trail_atr=pick(0.0, 0.0, 1.5),
        trail_from=pick(0.0, 0.002),
        order_by=int(pick(c.AT_MARKET, c.AT_MARKET, c.AT_LIMIT, c.AT_STOP)),
        order_offset=pick(0.0, 0.001, 0.004),
        slippage=pick(0.0, 0.0003, 0.02),
        max_entries=int(pick(1, 4)),
        max_positions=int(pick(1, 2, 50)),
        max_holding=int(pick(0, 0, 1, 7)),
        max_position_value=pick(float("inf"), 60_000.0),
        max_daily_loss=pick(float("inf"), 1_500.0),
        reverse=bool(pick(0, 1)),
    )


def _contracts(rng: np.random.Generator, symbols: int) -> NDArray[Any]:
    contracts = np.zeros(symbols, r.CONTRACT)
    contracts["lot"], contracts["multiplier"] = (
        rng.choice([1, 5], symbols),
        rng.choice([1, 1, 10], symbols),
    )
    contracts["margin"], contracts["tick"] = rng.choice([1.0, 0.2], symbols), 500
    contracts["segment"] = rng.integers(0, 3, symbols)
    return contracts


def _cash(rng: np.random.Generator) -> float:
    return float(rng.choice([4_000.0, 30_000.0, 100_000.0, 2_000_000.0]))


RATES = np.array(  # segment 0 changes during the run, 1 has no cap, 2 has no rows
    [
        (0, 0, 0.0003, 20.0, 0.0, 0.00025, 3e-5, 1e-6, 1e-6, 3e-5, 0.18, 0.0),
        (1, 0, 0.0005, np.inf, 0.001, 0.001, 3e-5, 0.0, 1e-6, 1e-4, 0.18, 0.0),
        (0, 103, 0.0005, 10.0, 0.0, 0.0005, 2e-5, 1e-6, 1e-6, 3e-5, 0.18, 5.0),
    ],
    r.RATE,
)


def whole(case: Case, *, cuts: tuple[int, ...] = (), end: int | None = None) -> Outcome:
    """Run to row `end`; at every cut only saved bytes go on."""
    market, signals, plan, contracts, rates, cash = case
    end = market.time.size if end is None else end
    symbols, trades = signals.shape[1], b""
    out = r.Out(np.zeros(4 * symbols + 8, r.TRADE), np.zeros(market.time.size))  # small: fills up
    data, row = r.save(r.new_state(symbols=symbols, cash=cash)), 0
    r.check(r.load(data), market, signals, contracts, out)
    for stop in (*cuts, end):
        while row < stop:
            state = r.load(data)
            row, written = k.run(state, market, signals, row, stop, plan, contracts, rates, out)
            data, trades = r.save(state), trades + out.trades[:written].tobytes()
            if state.account[0]["status"] == c.RUINED:
                return Outcome(data, trades, out.equity[:row].tobytes())
    return Outcome(data, trades, out.equity[:end].tobytes())


def row_by_row(case: Case) -> Outcome:
    """As live trading does it: each row is a market of its own; nothing but the bytes goes on."""
    market, signals, plan, contracts, rates, cash = case
    symbols = signals.shape[1]
    data, trades, curve = r.save(r.new_state(symbols=symbols, cash=cash)), b"", b""
    out = r.Out(np.zeros(2 * symbols, r.TRADE), np.zeros(1))
    for t in range(market.time.size):
        seen = np.flatnonzero(market.cell[t] >= 0)
        cells = market.cell[t, seen]
        cell = np.full((1, symbols), -1, np.int32)
        cell[0, seen] = np.arange(seen.size)
        flags = market.flags[cells] if market.flags.size else market.flags
        now = r.Market(
            market.time[t : t + 1],
            market.day[t : t + 1],
            cell,
            r.Bars(*(frozen(column[cells]) for column in market.bars)),
            market.atr[cells],
            flags,
        )
        state = r.load(data)
        done, written = k.run(state, now, signals[t : t + 1], 0, 1, plan, contracts, rates, out)
        data, trades = r.save(state), trades + out.trades[:written].tobytes()
        curve += out.equity[:done].tobytes()
        if state.account[0]["status"] == c.RUINED:
            break
    return Outcome(data, trades, curve)


def twin_of(case: Case) -> Twin:
    """The case, run by the plain rules."""
    market, signals, plan, contracts, rates, cash = case
    twin = Twin(
        cash,
        plan,
        [Contract(*row) for row in contracts.tolist()],
        [Rate(*row) for row in rates.tolist()],
        squaring=market.flags.size > 0,
    )
    bars = [Bar(*row) for row in np.column_stack(market.bars).tolist()]
    ranges = [Ranges(*row) for row in market.atr.tolist()]
    flags = market.flags.tolist()
    for t in range(market.time.size):
        seen = {
            s: Seen(bars[c], int(signals[t, s]), ranges[c], flags[c] if flags else 0)
            for s, c in enumerate(market.cell[t].tolist())
            if c >= 0
        }
        twin.row(int(market.time[t]), int(market.day[t]), seen)
    return twin


def with_idle_symbols(case: Case, more: int) -> Case:
    """The same symbols and idle ones: one with a bar on every row, the others with none."""
    market, signals, plan, contracts, rates, cash = case
    n, rows = market.bars.open.size, market.time.size
    cell = np.concatenate([market.cell, np.full((rows, more), -1, np.int32)], axis=1)
    cell[:, market.cell.shape[1]] = n + np.arange(rows)
    bars = bars_of(np.concatenate([np.column_stack(market.bars), np.full((rows, 4), 7.0)]))
    atr = np.concatenate([market.atr, np.ones((rows, 4))])
    flags = market.flags
    if flags.size:
        flags = np.concatenate([flags, np.zeros(rows, np.uint8)])
    wide = market._replace(cell=cell, bars=bars, atr=atr, flags=flags)
    return Case(
        wide,
        np.pad(signals, ((0, 0), (0, more))),
        plan,
        np.concatenate([contracts, contracts[:1].repeat(more)]),
        rates,
        cash,
    )
