"""Fed bar by bar, a strategy trades as its backtest does: on the market's own candles, with only
saved bytes and the bars so far between rows (engine rules 11 and 16).
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import cast

import numpy as np
import pytest

from apps.backtests.running.histories import symbol_history
from apps.core.times import day_in_india
from apps.engine.candles import DAY, IST, WARMUP_BARS, Candles, start_of_block
from apps.engine.candles.resampling import resample
from apps.engine.candles.sessions import Sessions, in_session
from apps.engine.errors import InsufficientBars
from apps.engine.kernel.codes import BY_END_OF_DATA
from apps.engine.kernel.records import instrument_ids, new_state
from apps.engine.kernel.saved import load, save
from apps.engine.language import strategy as engine
from apps.engine.language.strategy import Strategy
from apps.engine.live import BarSnapshot, ContractTerms
from apps.engine.simulation.plan import contract_rows, rate_rows
from apps.engine.simulation.simulate import SimulationResult, simulate
from apps.engine.simulation.timeline import History
from apps.market.importers.candle_file import ImportOptions, read_one_series
from apps.market.rulebook.contracts import MarketRules, bundled_market_rules
from apps.market.rulebook.files.rule_set import bundled_rule_set
from apps.market.rulebook.sessions import sessions_of
from apps.trading.booking.step_result import BarStep
from apps.trading.live.indicator_window import IndicatorWindow, WindowSeries
from apps.trading.live.step import BarChanges, RunContext, RunSnapshot, step_bar
from apps.trading.live.stream_cache import BarStreamCache, run_context_of
from apps.trading.models import BarStream, Run
from apps.trading.runs.bar_rows import find_closed_rows
from tests.trading.live.random_strategies import LONGER, random_steps

CASES, ROWS = 200, 300
FILES = {
    "NSE:BHEL": ("BHEL_5m_2025-26.parquet", "5m"),
    "NSE:MM": ("MandM_5m_2025-26.parquet", "5m"),
    "NSE:INFY": ("INFY_1m_2024-25.parquet", "1m"),
}
TOGETHER = [
    ["NSE:BHEL"],
    ["NSE:MM"],
    ["NSE:INFY"],
    ["NSE:BHEL", "NSE:INFY"],
    ["NSE:MM", "NSE:BHEL"],
]
"""Symbols whose files overlap."""

Market = Mapping[str, Mapping[str, Candles]]
"""By symbol and timeframe."""


@pytest.fixture(scope="module")
def market(market_data: Path) -> Market:
    series = {}
    for symbol, (name, timeframe) in FILES.items():
        given = ImportOptions(symbol=symbol, timeframe=timeframe)
        bars = read_one_series(market_data / name, given)[1].candles
        series[symbol] = {
            longer: resample(bars, timeframe, longer, sessions_of(symbol))
            for longer in ("5m", "15m", "1h", "1d")
        }
    return series


@pytest.mark.slow
@pytest.mark.timeout(3600)
def test_two_hundred_strategies_trade_live_as_in_their_backtests(market: Market) -> None:
    rng, traded, skipped = random.Random(20261121), 0, 0
    for case in range(CASES):
        timeframe = rng.choice(list(LONGER))
        symbols = rng.choice(TOGETHER)
        strategy = engine.parse(steps := random_steps(rng, symbols, timeframe))
        histories, start, end, rules = staged(market, strategy, rng)
        capital = strategy.executionSettings.initialCapital
        try:
            result = simulate(
                strategy, histories, start=start, end=end, capital=capital, schedule=rules.schedule
            )
        except InsufficientBars:
            skipped += 1
            continue
        live = list(stepped(steps, histories, rules, start=start, end=end))
        require_equal(result, live, case)
        traded += len(result.trades)
    assert traded > 5 * CASES
    assert skipped < CASES / 20


def require_equal(result: SimulationResult, live: Sequence[BarStep], case: int) -> None:
    """Trades to the last bit, equity at every close, charges to the paisa."""
    trades = np.concatenate([step.trades for step in live])
    trades = trades[np.argsort(trades["exit_time"], kind="stable")]
    expected = result.trades[result.trades["reason"] != BY_END_OF_DATA]
    assert trades.tobytes() == expected.tobytes(), case
    equity = [float(step.state.account["equity"][0]) for step in live]
    assert equity[:-1] == result.curve["equity"][:-1].tolist(), case
    paid = sum(float(step.fills["paid"].sum()) for step in live)
    assert paid == pytest.approx(float(live[-1].state.account["paid"].sum()), abs=1e-6), case


def staged(
    market: Market, strategy: Strategy, rng: random.Random
) -> tuple[list[History], int, int, MarketRules]:
    """Return a segment of some hundred rows with any beginning, and all of history before it."""
    timeframe, symbols = strategy.basicInfo.timeframe, strategy.basicInfo.symbols
    series = [market[symbol][timeframe] for symbol in symbols]
    common = max(bars.time[0] for bars in series), min(bars.time[-1] for bars in series)
    times = np.unique(np.concatenate([bars.between(*common).time for bars in series]))
    first = rng.randrange(len(times) // 4, len(times) - 40)
    start, end = int(times[first]), int(times[min(first + ROWS, len(times) - 1)])
    rules = bundled_market_rules(strategy, first=day_in_india(start), last=day_in_india(end))
    histories = []
    for symbol in symbols:
        history = symbol_history(rules, symbol, market[symbol][timeframe], start=start)
        longer = {name: market[symbol][name] for name in LONGER[timeframe]}
        histories.append(
            History(
                symbol,
                history.candles,
                history.sessions,
                history.contract,
                days=market[symbol]["1d"] if timeframe != "1d" else None,
                higher_timeframes=longer,
            )
        )
    return histories, start, end, rules


def stepped(
    steps: Mapping[str, object],
    histories: Sequence[History],
    rules: MarketRules,
    *,
    start: int,
    end: int,
) -> Iterator[BarStep]:
    """Return a BarSnapshot for each row."""
    context = run_context_of(Run(configuration=steps))
    cache = cache_of(context, histories, start)
    bars = [visible(history, context).between(start, end) for history in histories]
    rows = find_closed_rows(
        bars, context.strategy.basicInfo.timeframe, cache.calendars, start=0, now=2**40
    ).rows
    capital = context.strategy.executionSettings.initialCapital
    instruments = instrument_ids(history.symbol for history in histories)
    data = save(new_state(instruments, cash=capital))
    for row in rows:
        assert cache.window is not None
        cache.window.add(row)
        terms = contract_terms_for(histories, rules, row)
        signals = cache.evaluator(row).evaluate(
            context.strategy, context.live.plan, terms, [{}] * len(histories)
        )
        step = step_bar(snapshot(context, data), row, signals, terms, BarChanges({}, (), False))
        data = save(step.state)
        yield step
    assert load(data, instruments).account["rows"][0] == len(rows)


def cache_of(context: RunContext, histories: Sequence[History], start: int) -> BarStreamCache:
    """Return a cache with the bars that rule 11 reads before the segment."""
    timeframe = context.strategy.basicInfo.timeframe
    stream = BarStream(symbols=[history.symbol for history in histories], timeframe=timeframe)
    block = start_of_block(start, timeframe)
    tapes = []
    for history in histories:
        candles = visible(history, context)
        begin, first = np.searchsorted(candles.time, (block, start)).tolist()
        tapes.append(candles.slice(max(begin - WARMUP_BARS, 0), first))
    today = start - (start + IST) % DAY
    stored = partial(before, histories, start, today)
    calendars = [cast(Sessions, history.sessions) for history in histories]
    series = [
        WindowSeries(history.symbol, timeframe, calendar, tape)
        for history, calendar, tape in zip(histories, calendars, tapes, strict=True)
    ]
    window = WindowOfManyDays(timeframe, series, today=today, stored=stored)
    window.all_days = [history.days for history in histories]
    return BarStreamCache(stream, bundled_rule_set(), calendars, window=window)


class WindowOfManyDays(IndicatorWindow):
    """A window that serves the rows of more than a day."""

    all_days: Sequence[Candles | None]

    def days(self, symbol: int) -> Candles:
        days = self.all_days[symbol]
        assert days is not None
        return days


def visible(history: History, context: RunContext) -> Candles:
    """Return the bars in session."""
    candles, timeframe = history.candles, context.strategy.basicInfo.timeframe
    return candles.select(in_session(candles.time, timeframe, history.sessions))


def before(histories: Sequence[History], start: int, today: int, symbol: int, name: str) -> Candles:
    """Return longer candles of the days before the segment; later bars make the next ones."""
    whole = histories[symbol].higher_timeframes[name]
    longer = whole.select(in_session(whole.time, name, histories[symbol].sessions))
    begin, end = np.searchsorted(longer.time, (start_of_block(start, name), today)).tolist()
    return longer.slice(max(begin - WARMUP_BARS, 0), end)


def contract_terms_for(
    histories: Sequence[History], rules: MarketRules, row: BarSnapshot
) -> ContractTerms:
    contracts = tuple(history.contract.on(row.day) for history in histories)
    segments = {contract.segment: number for number, contract in enumerate(contracts)}
    return ContractTerms(
        contracts,
        contract_rows(contracts, segments),
        rate_rows(rules.schedule, segments),
        tuple(history.sessions for history in histories if history.sessions),
    )


def snapshot(context: RunContext, data: bytes) -> RunSnapshot:
    return RunSnapshot(
        context=context,
        data=data,
        row_time=None,
        peak=0.0,
        drawdown=0.0,
        drawdown_amount=0.0,
        status="active",
        ended_at=None,
        close_requested_at=None,
        kill_switch_since=None,
        closing={},
        cancelled=(),
    )
