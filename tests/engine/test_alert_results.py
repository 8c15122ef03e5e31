"""Alerts in backtests, live rows, explanations, receipts and evidence (rule 25)."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from apps.engine.candles.candles import (
    TIMEFRAMES,
    WARMUP_BARS,
    Candles,
    start_of_block,
)
from apps.engine.candles.resampling import bar_ends, resample
from apps.engine.candles.sessions import Regime, Sessions
from apps.engine.evidence.look_ahead import LookAhead, look_ahead_of
from apps.engine.indicators.aligned_candles import AlignedCandles
from apps.engine.indicators.series import CandleSource
from apps.engine.kernel.codes import ENTER
from apps.engine.language.strategy import Strategy, parse
from apps.engine.live.rows import BarSnapshot, ContractTerms
from apps.engine.live.signals import SignalEvaluator
from apps.engine.signals import alerts, columns
from apps.engine.signals.required_inputs import required_inputs
from apps.engine.simulation.explain import exits_at, sides_at
from apps.engine.simulation.plan import Contract, plan_of
from apps.engine.simulation.prepared_data import prepare_data
from apps.engine.simulation.simulate import History, SimulationResult, simulate
from apps.engine.simulation.simulations import ignore_progress
from apps.engine.simulation.timeline import SymbolSeries
from apps.engine.studies.configs import OptimizationConfig
from apps.engine.studies.parameters import applied
from tests.benchmarks.random_candles import session_bars
from tests.engine.evidence_inputs import evidence_on
from tests.engine.strategies import sma_cross, strategy
from tests.engine.whole_studies import optimise
from tests.trading.live.random_strategies import LONGER, random_steps

NSE = Sessions.build([Regime(0, 40_000, 33_300, 55_800)])
SYMBOLS = ("NSE:ONE", "NSE:TWO")
NAMES = ("scan", "news")
FOREVER = 2**40

Alerts = dict[str, NDArray[np.int64]]


def alert(name: str = "scan", **more: object) -> dict[str, Any]:
    return {"type": "signal", "name": name, **more}


def buying(
    *conditions: dict[str, Any], confirming: int = 1, **changes: Mapping[str, Any]
) -> Strategy:
    """Return a strategy of minutes that buys at these conditions and holds two bars."""
    steps: dict[str, Mapping[str, Any]] = {
        "entryConditions": {"conditions": list(conditions), "confirmationCandles": confirming},
        "exitConditions": {"maxHoldingCandles": 2, "stopLoss": None},
    }
    return strategy(**{**steps, **changes})


def history(
    candles: Candles, symbol: str = "NSE:TEST", timeframe: str = "1m", **alerts: Any
) -> History:
    received = {name: np.asarray(times, np.int64) for name, times in alerts.items()}
    longer = {name: resample(candles, timeframe, name, NSE) for name in LONGER.get(timeframe, ())}
    return History(symbol, candles, NSE, higher_timeframes=longer, alerts=received)


def backtest(
    steps: Strategy, *histories: History, start: int = 0, end: int = FOREVER
) -> SimulationResult:
    return simulate(steps, histories, start=start, end=end, capital=1_000_000.0)


# Backtests


def test_an_alert_is_traded_at_the_open_after_the_bar_that_received_it() -> None:
    candles = session_bars(2)
    end_of_second = int(candles.time[2])
    for received, entered in ((end_of_second, 2), (end_of_second + 1, 3)):
        trades = backtest(buying(alert()), history(candles, scan=[received])).trades
        assert trades["entry_time"].tolist() == [candles.time[entered]]
        assert trades["entry_price"].tolist() == [candles.open[entered]]


def test_an_alert_over_night_is_traded_after_the_first_bar_of_the_day() -> None:
    candles = session_bars(2)
    last, first = candles.time[[374, 375]].tolist()
    for received in (last + 61, (last + first) // 2, first):
        trades = backtest(buying(alert()), history(candles, scan=[received])).trades
        assert trades["entry_time"].tolist() == [candles.time[376]]


def test_each_symbol_reads_its_own_alerts() -> None:
    candles = session_bars(2)
    trades = backtest(
        buying(alert(), basicInfo={"symbols": list(SYMBOLS)}),
        history(candles, SYMBOLS[0], scan=[candles.time[11]]),
        history(candles, SYMBOLS[1], scan=[candles.time[21]], news=[candles.time[31]]),
    ).trades
    assert trades[["symbol", "entry_time"]].tolist() == [
        (0, candles.time[11]), (1, candles.time[21]),
    ]  # fmt: skip


def test_the_start_of_a_range_changes_no_signal() -> None:
    candles, rng = session_bars(12), np.random.default_rng(1)
    received = np.sort(rng.choice(candles.time, 200))
    steps = buying(alert(within=2), confirming=2)
    whole = signals_in(steps, [history(candles, scan=received)])
    for first in rng.integers(0, len(candles) - 50, 20).tolist():
        start = int(candles.time[first])
        part = signals_in(steps, [history(candles, scan=received)], start=start)
        assert part[0].tolist() == whole[0, first:].tolist()


# Live rows


def signals_in(steps: Strategy, histories: Sequence[History], start: int = 0) -> NDArray[np.uint8]:
    """Return the signals of a backtest, u1[symbols, rows]."""
    data = prepare_data(steps, histories, start=start, end=FOREVER, report=ignore_progress)
    return data.with_signals(required_inputs(steps), plan_of(steps))[1].copy()


class Window:
    """The window of a live run: the bars that rule 11 reads, up to a moment."""

    def __init__(self, histories: Sequence[History], timeframe: str, time: int) -> None:
        self._timeframe, self._bars, self._known = timeframe, list[Candles](), list[Candles]()
        block = start_of_block(time, timeframe)
        for own in histories:
            known = own.candles.between(0, time + 1)
            begin = int(np.searchsorted(known.time, block))
            self._known.append(known)
            self._bars.append(known.slice(max(begin - WARMUP_BARS, 0), len(known)))

    def bars(self, symbol: int, /) -> Candles:
        return self._bars[symbol]

    def aligned(
        self, symbol: int, sources: Sequence[CandleSource], calendar: Sessions, /, *, closes: int
    ) -> dict[CandleSource, AlignedCandles]:
        aligned = {}
        for source in sources:
            longer = resample(
                self._known[symbol], self._timeframe, source.timeframe, calendar, until=closes
            )
            aligned[source] = AlignedCandles.of(
                self._bars[symbol], self._timeframe, longer, source.timeframe, calendar
            )
        return aligned

    def days(self, symbol: int, /) -> Candles:
        raise AssertionError("No symbol has circuits.")


def no_underlying(slot: int, timeframe: str) -> Candles:
    raise AssertionError("No symbol is an option.")


def live_signals(steps: Strategy, histories: Sequence[History], time: int) -> list[int]:
    """Return the signals of a live row, with the alerts that were received by its end."""
    timeframe = steps.basicInfo.timeframe
    closes = int(bar_ends(np.array([time]), timeframe, NSE)[0])
    bars = np.full((len(histories), len(Candles.NUMBERS)), np.nan)
    for s, own in enumerate(histories):
        at = own.candles.between(time, time + 1)
        if len(at):
            bars[s] = [getattr(at, name)[0] for name in Candles.NUMBERS]
    symbols = [own.symbol for own in histories]
    evaluator = SignalEvaluator(
        Window(histories, timeframe, time), symbols, BarSnapshot(time, closes, bars), no_underlying
    )
    terms = ContractTerms.of([Contract()] * len(histories), (), [NSE] * len(histories))
    received = [
        {name: times[times <= closes] for name, times in own.alerts.items()} for own in histories
    ]
    signals = evaluator.evaluate(steps, plan_of(steps), terms, received).signals
    return [int(bits) for bits in signals[:, 0]]


def drawn_alerts(rng: np.random.Generator, candles: Candles, timeframe: str) -> Alerts:
    """Return alerts within bars, at their ends, and while the market is closed."""
    first, last = candles.time[[0, -1]].tolist()
    ends = candles.time + TIMEFRAMES[timeframe] + rng.integers(-1, 2)
    return {
        name: np.sort(np.concatenate((rng.integers(first, last, 60), rng.choice(ends, 60))))
        for name in NAMES
    }


@pytest.mark.parametrize("timeframe", ["5m", "15m", "1h"])
def test_random_strategies_read_the_same_alerts_live_and_in_a_backtest(timeframe: str) -> None:
    deciding = 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        steps = parse(random_steps(random.Random(seed), SYMBOLS, timeframe, alerts=NAMES))
        histories, without = [], []
        for number, symbol in enumerate(SYMBOLS):
            whole = session_bars(60, length=TIMEFRAMES[timeframe], seed=seed + 100 * number)
            candles = whole.select(rng.random(len(whole)) < 0.95)
            alerts = drawn_alerts(rng, candles, timeframe)
            histories.append(history(candles, symbol, timeframe, **alerts))
            without.append(history(candles, symbol, timeframe))
        signals = signals_in(steps, histories)
        changed = np.flatnonzero((signals_in(steps, without) != signals).any(axis=0))
        time = np.union1d(histories[0].candles.time, histories[1].candles.time)
        for row in (*changed[:8].tolist(), *rng.integers(0, len(time), 8).tolist()):
            live = live_signals(steps, histories, int(time[row]))
            assert live == signals[:, row].tolist()
        deciding += len(changed) > 8
    assert deciding >= 2


def test_runs_of_two_owners_read_their_own_alerts_in_one_row() -> None:
    candles = session_bars(2)
    own, row = history(candles), int(candles.time[20])
    bars = np.array([[getattr(candles, name)[20] for name in Candles.NUMBERS]])
    evaluator = SignalEvaluator(
        Window([own], "1m", row), ["NSE:TEST"], BarSnapshot(row, row + 60, bars), no_underlying
    )
    terms, steps = ContractTerms.of([Contract()], (), [NSE]), buying(alert())
    received: tuple[Sequence[Alerts], ...] = (
        [{"scan": np.array([row + 30])}],
        [{"scan": np.array([row + 61])}],
        [{}],
    )
    bits = [
        evaluator.evaluate(steps, plan_of(steps), terms, alerts).signals[0, 0] & ENTER
        for alerts in received
    ]
    assert bits == [1, 0, 0]


# Explanations


def series_of(steps: Strategy, own: History) -> SymbolSeries:
    return SymbolSeries.of(steps, own, 0, FOREVER)


def test_a_candle_is_explained_with_the_times_of_its_alerts() -> None:
    candles = session_bars(2)
    steps = buying(
        alert(within=2),
        sma_cross(3, 8),
        exitConditions={"conditions": [alert("news")], "stopLoss": None},
    )
    start = int(candles.time[20])
    received = [start, start + 1, start + 60, start + 61]
    series = series_of(steps, history(candles, scan=received, news=[start - 30]))
    ((long, *_), (later, *_)) = (sides_at(steps, series, bar) for bar in (20, 22))
    within, cross = long["conditions"]
    assert within["text"] == 'alert "scan" is received, at one of the last 2 candles'
    assert "alerts" not in within
    assert "alerts" not in cross
    (part,) = within["parts"]
    assert (part["text"], part["holds"]) == ('alert "scan" is received', True)
    assert part["alerts"] == ["2000-01-03T04:05:01.000Z", "2000-01-03T04:06:00.000Z"]
    assert part["operands"] == []
    (part,) = later["conditions"][0]["parts"]
    assert (later["conditions"][0]["holds"], part["holds"], part["alerts"]) == (True, False, [])
    (leaving,) = exits_at("long", steps, series, 19)["conditions"]
    assert (leaving["holds"], leaving["alerts"]) == (True, ["2000-01-03T04:04:30.000Z"])


def test_an_explanation_names_the_last_twenty_alerts_of_a_candle() -> None:
    candles = session_bars(2)
    received = np.arange(candles.time[20] + 1, candles.time[21])
    steps = buying(alert(), confirming=2)
    series = series_of(steps, history(candles, scan=received))
    (at, after) = (sides_at(steps, series, bar)[0]["conditions"][0] for bar in (20, 21))
    assert len(at["alerts"]) == 20
    assert at["alerts"][-1] == "2000-01-03T04:05:59.000Z"
    assert (at["holds"], at["confirmed"]) == (True, False)
    assert (after["holds"], after["confirmed"]) == (False, True)


# Receipts and notes


def test_the_receipt_has_a_hash_of_the_alerts_that_could_be_read() -> None:
    candles = session_bars(2)
    inside, after = int(candles.time[40]), int(candles.time[-1]) + 61
    plain, steps = buying(sma_cross(3, 8)), buying(alert())
    first = backtest(steps, history(candles, scan=[inside])).receipt
    same = backtest(steps, history(candles, scan=[inside, after], news=[inside])).receipt
    other = backtest(steps, history(candles, scan=[inside + 1])).receipt
    named = backtest(buying(alert("news")), history(candles, news=[inside])).receipt
    none = backtest(steps, history(candles)).receipt
    assert first == same
    hashes = [receipt["alerts"] for receipt in (first, other, named, none)]
    assert len({*hashes}) == 4
    assert None not in hashes
    assert first["rulebook"] == other["rulebook"]
    assert first["candles"] == other["candles"]
    unread = backtest(plain, history(candles, scan=[inside])).receipt
    assert unread["alerts"] is None
    assert unread == backtest(plain, history(candles)).receipt


def no_alerts_notes(result: SimulationResult) -> list[str]:
    return [note["message"] for note in result.receipt["notes"] if note["code"] == "no_alerts"]


def test_a_note_says_which_alerts_did_not_come_before_the_range() -> None:
    candles = session_bars(4)
    begin, end = candles.time[[400, 1200]].tolist()
    steps = buying(
        alert(), alert("news"), alert("gap"), alert("old"), basicInfo={"symbols": list(SYMBOLS)}
    )
    first = history(candles, SYMBOLS[0], scan=[end + 60], news=[end - 60])
    second = history(candles, SYMBOLS[1], news=[begin + 59], old=[begin - 1, end - 60])
    result = backtest(steps, first, second, start=begin, end=end)
    assert no_alerts_notes(result) == [
        "No alert of these names came for the symbols before the end of the range, so conditions on"
        ' them are never true: "gap", "scan". Alerts of these names began within the range, so'
        ' conditions on them are not true before: "news" (from 2000-01-04 09:40 on).'
    ]
    known = history(candles, SYMBOLS[0], scan=[begin - 1], news=[begin - 1], gap=[begin - 1])
    assert no_alerts_notes(backtest(steps, known, second, start=begin, end=end)) == []
    assert no_alerts_notes(backtest(buying(sma_cross(3, 8)), history(candles))) == []


# Evidence


def looked(steps: Strategy, *histories: History) -> LookAhead:
    return look_ahead_of(evidence_on(steps, histories))


def test_alerts_show_no_look_ahead_where_symbols_begin_at_other_minutes() -> None:
    """A bar of one symbol is not over where the next one of the other begins."""
    whole = session_bars(6, length=900)
    later = Candles.build(
        whole.time + 300, **{name: getattr(whole, name) for name in Candles.NUMBERS}
    )
    steps = buying(
        basicInfo={"symbols": list(SYMBOLS), "timeframe": "15m"},
        entryConditions={"conditions": [alert(), sma_cross(2, 3)], "logicalOperator": "OR"},
    )
    rng, histories = np.random.default_rng(4), []
    for symbol, candles in zip(SYMBOLS, (whole, later), strict=True):
        received = np.sort(rng.integers(candles.time[0], candles.time[-1], 80))
        doubled = np.repeat(received, rng.integers(1, 3, len(received)))
        histories.append(history(candles, symbol, "15m", scan=doubled))
    result = looked(steps, *histories)
    assert (result.cuts > 8, result.futures > 4, result.changed) == (True, True, ())


def test_an_alert_that_counts_a_bar_early_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    candles = session_bars(2)
    received = np.sort(np.random.default_rng(5).choice(candles.time[:-1], 100) + 30)
    steps, own = buying(alert()), history(candles, scan=received)
    assert looked(steps, own).changed == ()
    alerted = alerts.alerted

    def early(times: NDArray[np.int64], edges: NDArray[np.int64]) -> NDArray[np.bool_]:
        return np.append(alerted(times, edges)[1:], False)

    monkeypatch.setattr(columns, "alerted", early)
    assert looked(steps, own).changed


# Studies


def test_every_set_of_a_search_reads_the_alerts() -> None:
    candles = session_bars(4)
    received = np.sort(np.random.default_rng(6).choice(candles.time, 60))
    steps = buying(alert(within=1), sma_cross(3, 8)).model_dump(
        mode="json", exclude_none=True, by_alias=True
    )
    start = int(candles.time[400])
    path, own = "entryConditions.conditions[0].within", history(candles, scan=received)
    config = OptimizationConfig.read(
        {
            "parameters": [{"path": path, "from": 1, "to": 6, "step": 1}],
            "objective": "netProfit",
        }
    )
    study = optimise(steps, config, histories=[own], start=start, end=FOREVER, capital=1e6, seed=1)
    findings = dict(study.findings)
    trades = set()
    for row in findings["ranking"]:
        alone = backtest(parse(applied(steps, row["parameters"])), own, start=start)
        assert row["objective"] == alone.performance["netProfit"]
        trades.add(len(alone.trades))
    assert len(trades) > 3
    assert (
        study.result.receipt["alerts"] == backtest(parse(steps), own, start=start).receipt["alerts"]
    )
