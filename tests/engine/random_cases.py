"""Random simulations, and the ways to run one: whole, in pieces, by row, by the reference."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from apps.engine.candles.candles import frozen
from apps.engine.kernel import codes as c
from apps.engine.kernel import kernel as k
from apps.engine.kernel import records as r
from apps.engine.kernel import saved
from apps.engine.kernel.reasons import REDUCTIONS, REJECTIONS
from apps.engine.kernel.records import Plan
from tests.engine.reference import Bar, Contract, Ranges, Rate, ReferenceImplementation, Seen


def check_arrays(
    state: r.State,
    market: r.MarketRows,
    signals: NDArray[np.uint8],
    rules: r.Rules,
    output: r.SimulationOutput,
) -> None:
    """Raise ArrayMismatch where `run`, which checks no bounds, would read outside its arrays."""
    r.check_shapes(state, market, signals, rules, output)
    for symbol in range(market.symbols):
        cells = market.cells_of(symbol)
        has_bar = cells >= 0
        if cells.max(initial=-1) >= market.bars.open.size or np.any(signals[symbol][~has_bar]):
            raise r.ArrayMismatch("The arrays of the simulation do not fit each other.")
        if np.any(np.diff(cells[has_bar]) != 1):
            raise r.ArrayMismatch("The bars of a symbol do not lie together, in their order.")


class Outside(NamedTuple):
    """The requests before a row: symbols that expire, entries blocked or unblocked, closes."""

    settle: tuple[int, ...] = ()
    blocked: int | None = None  # the number of a rejection
    close: tuple[int, ...] = ()
    settlement: r.Settlement = r.LAST_CLOSE


class Case(NamedTuple):
    """The arguments of `kernel.run`, the opening cash, and the requests before each row."""

    market: r.MarketRows
    signals: NDArray[np.uint8]
    plan: Plan
    contracts: NDArray[Any]
    rates: NDArray[Any]
    cash: float
    outside: dict[int, Outside]


class Outcome(NamedTuple):
    """The whole outcome of a run as bytes: equal bytes are equal results."""

    state: bytes
    trades: bytes
    curve: bytes
    fills: bytes
    refusals: bytes


ROWS_A_DAY = 37
RANGE_FACTORS = np.array([1.0, 0.9, 1.3, 0.7, 0.8])
"""Of size, stop, target, trail and the distance of adds, in ranges of a bar."""
SLOT_SIZE = r.POSITION.itemsize + r.ORDERS * r.ORDER.itemsize


def bars_of(table: ArrayLike) -> r.Bars:
    """Turn lines of (open, high, low, close) into the columns of a market."""
    columns = np.asarray(table, float).reshape(-1, 4).T
    return r.Bars(*(frozen(column) for column in columns))


def random_case(
    rng: np.random.Generator, *, symbols: int | None = None, rows: int | None = None
) -> Case:
    """Draw a case in which each rule may occur."""
    few, symbols = int(rng.integers(60, 300)), symbols or int(rng.integers(1, 6))
    rows = rows or few
    has_bar = rng.random((rows, symbols)) >= rng.choice([0.0, 0.3])
    market = _market(rng, has_bar)
    signals = np.zeros((rows, symbols), np.uint8)
    drawn = rng.choice(
        [0, 1, 2, 3, 4, 8, 5, 6, 9],
        int(has_bar.sum()),
        p=[0.7, 0.1, 0.1, 0.01, 0.02, 0.02, 0.02, 0.02, 0.01],
    )
    if rng.random() < 0.5:  # exits by conditions
        drawn |= rng.choice([0, 32, 64, 96], drawn.size, p=[0.6, 0.15, 0.15, 0.1])
    signals[has_bar] = drawn
    plan, contracts, cash = _plan(rng), _contracts(rng, symbols), _cash(rng)
    outside, squaring = _outside(rng, rows, symbols), squares_off(market.flags)
    within = squaring and rng.random() < 0.7
    plan = plan._replace(squares_off=squaring, within_session=bool(within))
    if rng.random() < 0.5:
        plan = _with_limits(plan, rng)
    if rng.random() < 0.3:
        plan, market = _with_levels(plan, market, rng)
    market = _with_places(market, rng.spawn(1)[0])
    return Case(market, signals, plan, contracts, RATES, cash, outside)


def calm_case(rng: np.random.Generator) -> Case:
    """Draw a case with long stretches without events.

    Signals are few or always the same, and levels are far away.
    """
    case = random_case(rng, symbols=int(rng.choice([1, 1, 1, 2, 3])))
    if rng.random() < 0.3:
        signals = np.where(case.market.cell >= 0, c.ENTER_LONG, 0).astype(np.uint8)
    else:
        kept = rng.random(case.signals.shape) < rng.choice([0.01, 0.03])
        signals = np.where(kept, case.signals, 0).astype(np.uint8)
    plan = case.plan
    far = plan._replace(
        stop_rate=10 * plan.stop_rate,
        stop_points=20 * plan.stop_points,
        stop_atr=20 * plan.stop_atr,
        second_stop_rate=20 * plan.second_stop_rate,
        target_rate=30 * plan.target_rate,
        target_atr=30 * plan.target_atr,
        trail_rate=plan.trail_rate * float(rng.choice([0, 0, 10])),
        trail_points=0.0,
        trail_atr=0.0,
        max_holding=int(rng.choice([0, 0, 100])),
    )
    return case._replace(signals=signals, plan=far)


def sparse_case(rng: np.random.Generator, market: r.MarketRows | None = None) -> Case:
    """Draw a case with positions held over hundreds of rows and many days.

    Signals are few, trails are of any kind, near or far, and sometimes there is a stop, a target or
    a longest holding that is farther still. Without a `market` it is a walk of thousands of rows.
    """
    case = random_case(
        rng,
        rows=len(market.time) if market else int(rng.integers(2_000, 5_000)),
        symbols=market.symbols if market else int(rng.choice([1, 1, 1, 2, 3])),
    )
    market = market or case.market
    if rng.random() < 0.8:
        market = market._replace(flags=market.flags[:0])
    drawn = rng.choice([c.ENTER_LONG, c.ENTER_SHORT], market.cell.shape)
    signalled = (market.cell >= 0) & (rng.random(drawn.shape) < rng.choice([0.002, 0.002, 0.01]))

    def one_of(*values: float) -> float:
        return float(rng.choice(values))

    kind, close = int(rng.integers(0, 3)), market.bars.close
    price, step = float(np.median(close)), float(np.median(np.abs(np.diff(np.log(close)))))
    distance = min(step * one_of(1, 5, 20, 30, 40, 60, 100), 0.9)
    plan = case.plan._replace(
        trail_rate=distance if kind == 0 else 0.0,
        trail_points=price * distance if kind == 1 else 0.0,
        trail_atr=one_of(0.5, 2.0, 8.0, 16.0, 30.0) if kind == 2 else 0.0,
        trail_from=step * one_of(0, 0, 1, 5, 20),
        stop_rate=one_of(0.0, 0.1, 0.5) if case.plan.size_by != c.BY_RISK else 0.2,
        stop_points=0.0,
        stop_atr=0.0,
        second_stop_rate=0.0,
        target_ratio=0.0,
        target_rate=one_of(0.0, 0.0, 0.3, 1.0),
        target_atr=0.0,
        order_offset=0.0,
        max_holding=int(one_of(0, 0, 0, 700)),
        reverse=bool(rng.integers(0, 2)),
        max_daily_loss=one_of(np.inf, np.inf, np.inf, case.plan.max_daily_loss),
        stops_at_level=False,
        targets_at_level=False,
        trails_at_level=False,
        step_ratio=r.NO_STEPS,
        step_rate=tuple(distance * share for share in (0.2, 0.5, 1.0)),
        size_by=c.BY_EQUITY if case.plan.size_by == c.BY_OPERAND else case.plan.size_by,
    )
    if case.plan.add_direction:
        far = step * one_of(20, 60, 200)
        plan = plan._replace(add_rate=far, add_points=0.0, add_atr=0.0)
    if rng.random() < 0.3:
        plan, market = _with_levels(plan, market, rng, far=distance)
    return case._replace(
        market=market,
        signals=np.where(signalled, drawn, 0).astype(np.uint8),
        plan=plan,
        cash=max(case.cash, 200 * price),
    )


def _market(rng: np.random.Generator, has_bar: NDArray[np.bool_]) -> r.MarketRows:
    rows, symbols = has_bar.shape
    scale, tick = float(rng.choice([0.001, 0.004, 0.02, 0.06])), 0.05
    cell = np.full(has_bar.shape, -1, np.int32)
    cell.T[has_bar.T] = np.arange(int(has_bar.sum()))
    table = np.zeros((int(has_bar.sum()), 4))
    for s in range(symbols):
        n = int(has_bar[:, s].sum())
        close = 100 * (1 + s) * np.exp(np.cumsum(rng.standard_t(3, n) * scale))
        gap = rng.normal(0, scale / 2, n) * (rng.random(n) < 0.3)
        open_ = np.r_[close[:1], close[:-1]] * np.exp(gap)
        high = np.maximum(open_, close) * np.exp(np.abs(rng.normal(0, scale / 2, n)))
        low = np.minimum(open_, close) * np.exp(-np.abs(rng.normal(0, scale / 2, n)))
        cells = cell[has_bar[:, s], s]
        prices = np.column_stack((open_, high, low, close))
        table[cells] = np.maximum(np.round(np.round(prices / tick) * tick, 2), tick)
    locked = _lock(rng, table, cell) if rng.random() < 0.4 else np.zeros(0, np.uint8)
    bars = bars_of(table)
    atr = (bars.high - bars.low + 0.05)[:, None] * RANGE_FACTORS
    row = np.arange(rows)
    minute = row % ROWS_A_DAY
    flags = np.zeros(len(table), np.uint8)
    if rng.random() < 0.5:
        by_row = np.where(minute >= ROWS_A_DAY - 4, c.AFTER_SQUARE_OFF, 0)
        by_row |= np.where(minute == ROWS_A_DAY - 1, c.LAST_OF_SESSION, 0)
        if rng.random() < 0.3:  # a written square-off beyond the session's last bar
            by_row &= ~c.AFTER_SQUARE_OFF
        flags[cell[has_bar]] = np.broadcast_to(by_row[:, None], has_bar.shape)[has_bar]
    elif rng.random() < 0.5:  # contracts that are left before they are delivered
        leaving = np.where(row >= rows - 12, c.AFTER_SQUARE_OFF | c.BEFORE_DELIVERY, 0)
        leaving[-1] |= c.LAST_OF_SESSION
        flags[cell[has_bar]] = np.broadcast_to(leaving[:, None], has_bar.shape)[has_bar]
    else:
        flags = flags[:0]
    if len(locked):
        flags = locked | flags if len(flags) else locked
    day = (row // ROWS_A_DAY + 100).astype(np.int32)
    margins = 12.0 + rng.random(len(table)) if rng.random() < 0.4 else r.NO_MARGINS
    volume = rng.integers(0, 400, len(table)).astype(float)
    return r.MarketRows(
        frozen(row * 60 + 1_600_000_000), day, cell, bars, atr, flags, margins, volume
    )


def _with_places(market: r.MarketRows, rng: np.random.Generator) -> r.MarketRows:
    """Draw places for a third of the cases; some symbols of a row share one."""
    if rng.random() < 2 / 3:
        return market
    ranks = rng.integers(1, 2 + market.symbols, market.bars.open.size).astype(np.int16)
    return market._replace(ranks=ranks)


def squares_off(flags: NDArray[np.uint8]) -> bool:
    squaring = bool(np.any(flags & (c.AFTER_SQUARE_OFF | c.LAST_OF_SESSION)))
    return squaring and not np.any(flags & c.BEFORE_DELIVERY)


def _lock(
    rng: np.random.Generator, table: NDArray[np.float64], cell: NDArray[np.int32]
) -> NDArray[np.uint8]:
    """Give runs of bars, also over the ends of days, a single price, and return the flags."""
    flags = np.zeros(len(table), np.uint8)
    for own in cell.T:
        bars = own[own >= 0]
        for _ in range(int(rng.integers(1, 6))):
            first = int(rng.integers(0, len(bars) - 1))
            run = bars[first : first + int(rng.choice([1, 3, 10, 60]))]
            table[run] = table[run[0], 3]
            flags[run] = rng.choice([c.LOCKED_UP, c.LOCKED_DOWN])
    return flags


def _plan(rng: np.random.Generator) -> Plan:
    def pick(*values: float) -> Any:
        return rng.choice(values).item()

    size_by = int(rng.integers(0, 5))
    sizes = ((1.0, 40.0), (5e3, 5e4), (0.05, 0.6, 1.0, 4.0), (0.002, 0.02), (0.002, 0.02))
    kind = int(rng.integers(0, 3))
    no_stop = size_by != c.BY_RISK and rng.random() < 0.15
    return Plan(
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
        max_volume_share=pick(0.0, 0.0, 0.1),
    )


def _with_limits(plan: Plan, rng: np.random.Generator) -> Plan:
    def pick(*values: float) -> Any:
        return rng.choice(values).item()

    plan = _with_adds(plan, rng) if rng.random() < 0.4 else plan
    plan = _with_steps(plan, rng) if rng.random() < 0.5 else plan
    return plan._replace(
        max_entries_a_day=int(pick(0, 0, 1, 2, 5)),
        max_entries_a_symbol=int(pick(0, 0, 1, 3)),
        cooldown=int(pick(0, 1, 2, 9, 60)),
        cools_after_loss=bool(pick(0, 1)),
        max_daily_profit=pick(float("inf"), 100.0, 1_500.0),
    )


def _with_adds(plan: Plan, rng: np.random.Generator) -> Plan:
    """Draw adds by distance, near or far."""

    def pick(*values: float) -> Any:
        return rng.choice(values).item()

    kind = int(rng.integers(0, 3))
    return plan._replace(
        max_entries=int(pick(2, 3, 9, 500)),
        add_direction=pick(1.0, -1.0),
        add_rate=pick(0.001, 0.005, 0.03) if kind == 0 else 0.0,
        add_points=pick(0.05, 0.5, 3.0) if kind == 1 else 0.0,
        add_atr=pick(0.5, 1.0, 5.0) if kind == 2 else 0.0,
    )


def _with_steps(plan: Plan, rng: np.random.Generator) -> Plan:
    """Draw one to three steps, in any order of their levels."""
    steps = int(rng.integers(1, 4))
    stops = plan.stop_rate + plan.stop_points + plan.stop_atr + plan.second_stop_rate > 0
    kinds = rng.integers(0 if stops else 1, 3, r.EXIT_STEPS)

    def drawn(kind: int, *values: float) -> tuple[float, ...]:
        chosen = (
            rng.choice(values, r.EXIT_STEPS) * (kinds == kind) * (np.arange(r.EXIT_STEPS) < steps)
        )
        return tuple(chosen.tolist())

    return plan._replace(
        steps=steps,
        step_ratio=drawn(0, 0.5, 1.0, 3.0),
        step_rate=drawn(1, 0.001, 0.004, 0.02),
        step_points=drawn(2, 0.1, 0.7, 4.0),
        step_percent=tuple(rng.choice([1.0, 10.0, 25.0, 33.0], r.EXIT_STEPS).tolist()),
        step_moves_stop=tuple(rng.integers(0, 2, r.EXIT_STEPS).tolist()),
    )


def _with_levels(
    plan: Plan, market: r.MarketRows, rng: np.random.Generator, *, far: float = 0.0
) -> tuple[Plan, r.MarketRows]:
    """Draw stops, targets, trails at levels beside the bars, or `far` from them, and shares."""
    bars = market.bars
    stops, targets, trails, by_share = (rng.random(4) < [0.6, 0.4, 0.5, 0.4]).tolist()
    beside = far or rng.choice([-0.002, 0.0, 0.004, 0.02], (3, len(bars.close)))
    levels = np.column_stack(
        [
            price * (1 + side * beside)
            for beside, pair in zip(
                np.broadcast_to(beside, (3, len(bars.close))),
                (("below", "above"), ("above", "below"), ("below", "above")),
                strict=True,
            )
            for side, price in ((_WAYS[way], _edge(bars, way)) for way in pair)
        ]
    )
    levels = np.maximum(np.round(levels, 2), 0.01)
    levels[rng.random(len(levels)) < 0.2, c.TRAIL_LEVEL : c.SHARE] = np.nan
    levels = np.column_stack([levels, rng.choice([0.01, 0.1, 1.0], len(levels))])
    plan = plan._replace(
        stops_at_level=stops,
        targets_at_level=targets,
        trails_at_level=trails,
        size_by=c.BY_OPERAND if by_share else plan.size_by,
        size=1.0 if by_share else plan.size,
        target_ratio=0.0 if targets else plan.target_ratio,
        target_rate=0.0 if targets else plan.target_rate,
        target_atr=0.0 if targets else plan.target_atr,
    )
    if stops:
        plan = plan._replace(stop_rate=0.0, stop_points=0.0, stop_atr=0.0)
    if trails:
        plan = plan._replace(trail_rate=0.0, trail_points=0.0, trail_atr=0.0)
    return plan, market._replace(levels=np.ascontiguousarray(levels))


_WAYS = {"below": -1.0, "above": 1.0}


def _edge(bars: r.Bars, way: str) -> NDArray[np.float64]:
    return bars.low if way == "below" else bars.high


def _contracts(rng: np.random.Generator, symbols: int) -> NDArray[Any]:
    contracts = np.zeros(symbols, r.CONTRACT)
    contracts["lot"], contracts["multiplier"] = (
        rng.choice([1, 5], symbols),
        rng.choice([1, 1, 10], symbols),
    )
    contracts["margin"], contracts["tick"] = rng.choice([1.0, 0.2], symbols), 500
    contracts["segment"] = rng.integers(0, 3, symbols)
    return contracts


def _outside(rng: np.random.Generator, rows: int, symbols: int) -> dict[int, Outside]:
    """Draw no requests in half of the cases, and else requests at six rows."""

    def drawn_symbols(chance: float) -> tuple[int, ...]:
        return tuple(np.flatnonzero(rng.random(symbols) < chance).tolist())

    drawn = rng.integers(0, rows, 6).tolist() if rng.random() < 0.5 else []
    blocked = rng.permutation([c.KILL_SWITCH, c.STALE_DATA, -1, -1, -1, -1]).tolist()
    settlements = [r.Settlement(float(rng.choice([np.nan, 0.0, 123.4])), 0.00125) for _ in drawn]
    return {
        row: Outside(
            drawn_symbols(0.2), None if reason < 0 else reason, drawn_symbols(0.6), settlement
        )
        for row, reason, settlement in zip(drawn, blocked, settlements, strict=False)
    }


def _cash(rng: np.random.Generator) -> float:
    return float(rng.choice([4_000.0, 30_000.0, 100_000.0, 2_000_000.0]))


RATES = np.array(  # segment 0 changes during the run, 1 has no cap, 2 has no rows
    [
        (0, 0, 0.0003, 20.0, 0.0, 0.00025, 3e-5, 1e-6, 1e-6, 3e-5, 0.18, 0.0, 0.0),
        (1, 0, 0.0005, np.inf, 0.001, 0.001, 3e-5, 0.0, 1e-6, 1e-4, 0.18, 0.0, 13.0),
        (0, 103, 0.0005, 10.0, 0.0, 0.0005, 2e-5, 1e-6, 1e-6, 3e-5, 0.18, 5.0, 3.5),
    ],
    r.RATE,
)


def rules_of(case: Case) -> r.Rules:
    instruments = np.arange(case.signals.shape[1])
    return r.rules_of(case.plan, instruments, case.contracts, case.rates)


class Running:
    """A simulation that keeps only its saved bytes between two calls of the kernel."""

    def __init__(self, case: Case, out: r.SimulationOutput) -> None:
        self.case, self.out, self.rules = case, out, rules_of(case)
        self.state = saved.save(r.new_state(self.rules.instruments, cash=case.cash))
        self.parts: list[tuple[bytes, bytes, bytes, bytes]] = []  # as in Outcome
        signals = np.ascontiguousarray(case.signals.T)
        check_arrays(self.loaded, case.market, signals, self.rules, out)

    def run(self, market: r.MarketRows, signals: NDArray[np.uint8], row: int, stop: int) -> int:
        """Run the kernel and return the next row, which is `stop` when the money is gone."""
        state, out = self.loaded, self.out
        by_symbol = np.ascontiguousarray(signals.T)
        ran = k.run(state, market, by_symbol, self.rules, out, row, stop)
        self._keep(state, ran.trades, out.equity[row : ran.row].tobytes(), ran.fills, ran.refusals)
        return stop if self.ruined else ran.row

    def ask(self, outside: Outside) -> None:
        state = self.loaded
        for symbol in outside.settle:
            n = k.settle(state, self.rules, self.out, symbol, c.BY_EXPIRY, outside.settlement)
            self._keep(state, n, b"", n, 0)
        r.block_entries(state, outside.blocked)
        r.request_close(state, outside.close, c.BY_STOPPED)
        self._keep(state, 0, b"", 0, 0)

    def finish(self) -> None:
        state = self.loaded
        n = k.finish(state, self.rules, self.out)
        self._keep(state, n, b"", n, 0)

    @property
    def ruined(self) -> bool:
        return bool(self.loaded.account[0]["status"] == c.RUINED)

    @property
    def loaded(self) -> r.State:
        return saved.load(self.state, self.rules.instruments)

    @property
    def outcome(self) -> Outcome:
        trades, curve, fills, refusals = (b"".join(part) for part in zip(*self.parts, strict=True))
        return Outcome(self.state, trades, curve, fills, refusals)

    def _keep(self, state: r.State, trades: int, curve: bytes, fills: int, refusals: int) -> None:
        self.state, out = saved.save(state), self.out
        reports = out.fills[:fills].tobytes(), out.refusals[:refusals].tobytes()
        self.parts.append((out.trades[:trades].tobytes(), curve, *reports))


def whole(case: Case, *, cuts: tuple[int, ...] = (), end: int | None = None) -> Outcome:
    """Run to row `end`; at every cut and every request, continue from saved bytes alone."""
    return run_to(case, cuts=cuts, end=end).outcome


def run_to(
    case: Case,
    *,
    cuts: tuple[int, ...] = (),
    end: int | None = None,
    out: r.SimulationOutput | None = None,
) -> Running:
    rows, symbols = case.signals.shape
    end = rows if end is None else end
    running, row = Running(case, out or small_out(symbols, rows)), 0
    for stop in sorted({*cuts, *(asked for asked in case.outside if asked < end), end}):
        while row < stop and not running.ruined:
            row = running.run(case.market, case.signals, row, stop)
        if stop in case.outside and stop < end and not running.ruined:
            running.ask(case.outside[stop])
    return running


def small_out(symbols: int, rows: int) -> r.SimulationOutput:
    """Return a small output, so that it sometimes fills up."""
    trades, fills = (
        np.zeros(4 * symbols + 8, r.TRADE),
        np.zeros(r.FILLS_A_ROW * symbols + 8, r.FILL),
    )
    return r.SimulationOutput(trades, np.zeros(rows), fills, np.zeros(2 * symbols + 5, r.REFUSAL))


def every_row(case: Case) -> Outcome:
    """Run each row of the market in its own call, so that every slot is active in every row."""
    return whole(case, cuts=tuple(range(len(case.market.time))))


def row_by_row(case: Case) -> Outcome:
    """Run as live trading does: each row is its own market, and only the saved bytes are kept."""
    market, symbols = case.market, case.signals.shape[1]
    running = Running(case, small_out(symbols, market.time.size))
    for t in range(market.time.size):
        if t in case.outside:
            running.ask(case.outside[t])
        running.run(row_alone(market, t), case.signals[t : t + 1], 0, 1)
        if running.ruined:
            break
    return running.outcome


def row_alone(market: r.MarketRows, t: int) -> r.MarketRows:
    """Return a row with its bars and nothing else."""
    seen = np.flatnonzero(market.cell[t] >= 0)
    cells = market.cell[t, seen]
    cell = np.full((1, market.cell.shape[1]), -1, np.int32)
    cell[0, seen] = np.arange(seen.size)
    return r.MarketRows(
        market.time[t : t + 1],
        market.day[t : t + 1],
        cell,
        r.Bars(*(frozen(column[cells]) for column in market.bars)),
        market.atr[cells],
        market.flags[cells] if market.flags.size else market.flags,
        market.short_margins[cells] if market.short_margins.size else market.short_margins,
        market.volume[cells] if market.volume.size else market.volume,
        market.levels[cells] if market.levels.size else market.levels,
        market.ranks[cells] if market.ranks.size else market.ranks,
    )


def reference_of(case: Case) -> ReferenceImplementation:
    """Run the case by the plain rules of the reference implementation."""
    market, signals, contracts, rates = case.market, case.signals, case.contracts, case.rates
    reference = ReferenceImplementation(
        case.cash,
        case.plan,
        [Contract(*row) for row in contracts.tolist()],
        [Rate(*row) for row in rates.tolist()],
        squaring=case.plan.squares_off,
    )
    bars = [Bar(*row) for row in np.column_stack(market.bars).tolist()]
    ranges = [Ranges(*row) for row in market.atr.tolist()] or [Ranges()] * len(bars)
    flags, margins = market.flags.tolist(), market.short_margins.tolist()
    volumes, levels = market.volume.tolist(), [tuple(row) for row in market.levels.tolist()]
    ranks = market.ranks.tolist()
    for t in range(market.time.size):
        if t in case.outside and not reference.ruined:
            ask_reference(reference, case.outside[t])
        seen = {
            s: Seen(
                bars[c],
                int(signals[t, s]),
                ranges[c],
                flags[c] if flags else 0,
                margins[c] if margins else 0.0,
                volumes[c] if volumes else 0.0,
                levels[c] if levels else (np.nan,) * r.LEVELS,
                ranks[c] if ranks else 0,
            )
            for s, c in enumerate(market.cell[t].tolist())
            if c >= 0
        }
        reference.row(int(market.time[t]), int(market.day[t]), seen)
    return reference


def ask_reference(reference: ReferenceImplementation, outside: Outside) -> None:
    for symbol in outside.settle:
        reference.settle(symbol, c.BY_EXPIRY, *outside.settlement)
    reference.bar(None if outside.blocked is None else REJECTIONS[outside.blocked])
    for symbol in outside.close:
        reference.close(symbol, c.BY_STOPPED)


def fills_of(reference: ReferenceImplementation) -> bytes:
    return np.array(reference.fills, r.FILL).tobytes()


def rejected(outcome: Outcome) -> dict[str, int]:
    return rejected_of(account_of(outcome))


def state_of(outcome: Outcome) -> r.State:
    state = outcome.state
    slots = (len(state) - len(saved.LAYOUT.header) - r.ACCOUNT_STATE.itemsize) // SLOT_SIZE
    return saved.load(state, np.arange(slots))


def account_of(outcome: Outcome) -> Any:
    """Return its ACCOUNT record."""
    return state_of(outcome).account[0]


def reduced(outcome: Outcome) -> dict[str, int]:
    counts = zip(REDUCTIONS, account_of(outcome)["reduced"].tolist(), strict=True)
    return {name: count for name, count in counts if count}


def waited(outcome: Outcome) -> list[int]:
    """Count the exits that waited for a locked price, and the bars they waited in total."""
    counts: list[int] = account_of(outcome)["waited"].tolist()
    return counts


def rejected_of(account: NDArray[Any]) -> dict[str, int]:
    counts = zip(REJECTIONS, account["rejected"].tolist(), strict=True)
    return {name: count for name, count in counts if count}


def with_idle_symbols(case: Case, more: int) -> Case:
    """Return the case with idle symbols added: one with a bar on every row, the others
    with none.
    """
    market, contracts = case.market, case.contracts
    n, rows = market.bars.open.size, market.time.size
    cell = np.concatenate([market.cell, np.full((rows, more), -1, np.int32)], axis=1)
    cell[:, market.cell.shape[1]] = n + np.arange(rows)
    bars = bars_of(np.concatenate([np.column_stack(market.bars), np.full((rows, 4), 7.0)]))
    atr = np.concatenate([market.atr, np.ones((rows, r.RANGES))])
    flags = market.flags
    if flags.size:
        flags = np.concatenate([flags, np.zeros(rows, np.uint8)])
    margins = market.short_margins
    if margins.size:
        margins = np.concatenate([margins, np.zeros(rows)])
    volume = market.volume
    if volume.size:
        volume = np.concatenate([volume, np.zeros(rows)])
    levels = market.levels
    if levels.size:
        levels = np.concatenate([levels, np.ones((rows, r.LEVELS))])
    ranks = market.ranks
    if ranks.size:
        ranks = np.concatenate([ranks, np.zeros(rows, np.int16)])
    wide = market._replace(
        cell=cell,
        bars=bars,
        atr=atr,
        flags=flags,
        short_margins=margins,
        volume=volume,
        levels=levels,
        ranks=ranks,
    )
    return case._replace(
        market=wide,
        signals=np.pad(case.signals, ((0, 0), (0, more))),
        contracts=np.concatenate([contracts, contracts[:1].repeat(more)]),
    )
