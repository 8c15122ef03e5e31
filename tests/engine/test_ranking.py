"""Rankings: places, the signals that they leave, and the order of entries."""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from apps.engine.candles.candles import Candles, ist_day
from apps.engine.candles.sessions import Override, Regime, Sessions
from apps.engine.indicators.aligned_candles import AlignedCandles
from apps.engine.indicators.series import CandleSource
from apps.engine.kernel import codes as c
from apps.engine.language.strategy import Strategy, parse, read_strategy
from apps.engine.live.rows import BarSnapshot, ContractTerms
from apps.engine.live.signals import SignalEvaluator
from apps.engine.signals.ranking import NO_RANKING, apply_ranking, places_of
from apps.engine.signals.required_inputs import RankInputs, required_inputs
from apps.engine.simulation.plan import Contract, MissingCalendar, plan_of, terms_of
from apps.engine.simulation.prepared_data import PreparedData, prepare_data
from apps.engine.simulation.simulate import History, SimulationResult, simulate
from apps.engine.simulation.simulations import ignore_progress
from apps.engine.simulation.strategy_at_bar import StrategyAtBar
from apps.engine.simulation.verdict import StoredResult
from tests.engine.random_cases import Case, reference_of
from tests.engine.strategies import price, strategy
from tests.engine.worked_examples import candles_of, examples, sessions_of

SYMBOLS = [f"NSE:S{number}" for number in range(5)]
CHANGE = {"type": "ROC", "period": 3}
WEEKDAYS = Sessions.build([Regime(0, 40_000, 33_300, 55_800)])
CAPITAL = 1_000_000.0


def ranked(rank: Mapping[str, Any] | None, **changes: Mapping[str, Any]) -> Strategy:
    """Return a strategy of five symbols that buys whatever the ranking picks."""
    entry: dict[str, Any] = {"positionType": "long", "conditions": [price("above", 1)]}
    if rank is not None:
        entry["rank"] = {"by": CHANGE, "top": 2, "every": "candle", **rank}
    steps: dict[str, Mapping[str, Any]] = {
        "basicInfo": {"timeframe": "1m", "symbols": SYMBOLS},
        "entryConditions": entry,
        "exitConditions": {"maxHoldingCandles": 4, "stopLoss": None},
    }
    return strategy(
        **{name: {**steps.get(name, {}), **changes.get(name, {})} for name in {*steps, *changes}}
    )


def walks(seed: int = 1, bars: int = 370) -> list[Candles]:
    """Return candles of five symbols, each without a tenth of its bars."""
    rng, walked = np.random.default_rng(seed), list[Candles]()
    for _ in SYMBOLS:
        prices = np.round(1000 * np.exp(np.cumsum(rng.normal(0, 0.002, bars))), 1)
        candles = Candles.build(
            1_704_080_700 + 60 * np.arange(bars),
            open=prices,
            high=prices + 1,
            low=prices - 1,
            close=prices + np.round(rng.uniform(-0.9, 0.9, bars), 1),
            volume=np.full(bars, 1000.0),
        )
        walked.append(candles.select(rng.random(bars) < 0.9))
    return walked


def histories_of(candles: Sequence[Candles]) -> list[History]:
    return [History(symbol, own, WEEKDAYS) for symbol, own in zip(SYMBOLS, candles, strict=True)]


def prepared(steps: Strategy, histories: Sequence[History]) -> PreparedData:
    return prepare_data(steps, histories, start=0, end=2**40, report=ignore_progress)


def simulated(steps: Strategy, histories: Sequence[History]) -> SimulationResult:
    return simulate(steps, histories, start=0, end=2**40, capital=CAPITAL)


def plain_places(values: Mapping[int, float], *, highest: bool) -> dict[int, int]:
    """Return the places of the symbols of a row, keyed by symbol, in plain Python."""
    known = [symbol for symbol in sorted(values) if not math.isnan(values[symbol])]
    known.sort(key=lambda symbol: -values[symbol] if highest else values[symbol])
    return {symbol: 1 + known.index(symbol) for symbol in known}


@pytest.mark.parametrize("seed", range(20))
def test_places_and_signals_equal_those_of_plain_python(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, symbols, highest = 60, 6, bool(seed % 2)
    rank = RankInputs(..., highest, 2, 3, "candle", c.CLOSE_LONG)  # type: ignore[arg-type]
    has_bar = rng.random((symbols, rows)) < 0.8
    ranks = rng.random(rows) < 0.5
    table = rng.choice([-1.0, 0.0, 0.5, 0.5, 2.0, np.nan], (symbols, rows))
    bits = rng.integers(0, 128, (symbols, rows)).astype(np.uint8)
    times = [np.flatnonzero(own) for own in has_bar]
    places = places_of(
        times,
        [own[at] for own, at in zip(table, times, strict=True)],
        [ranks[at] for at in times],
        highest=highest,
    )
    for symbol, at in enumerate(times):
        signals = bits[symbol, at]
        apply_ranking(rank, places[symbol], signals)
        for row, number, signal in zip(at.tolist(), places[symbol], signals, strict=True):
            seen = {s: float(table[s, row]) for s in range(symbols) if has_bar[s, row]}
            plain = plain_places(seen, highest=highest).get(symbol, 0) if ranks[row] else NO_RANKING
            wanted = int(bits[symbol, row])
            if plain not in (1, 2):
                wanted &= ~c.ENTER
            if plain == 0 or plain > 3:
                wanted |= c.CLOSE_LONG
            assert (number, signal) == (plain, wanted)


def test_example_c1_makes_its_trades_by_the_reference_implementation() -> None:
    example = examples("examples")["C1"]
    steps, calendar = parse(example["steps"]), sessions_of(example)
    histories = [
        History(name, candles_of(example["candles"][name]), calendar)
        for name in steps.basicInfo.symbols
    ]
    closes = [history.candles.close.tolist() for history in histories]
    last_of_week = [2, 5, 8]  # the rows of 9, 16 and 23 January
    data = prepared(steps, histories)
    rows = len(data.market.time)
    signals, places = np.zeros((rows, 3), np.uint8), np.full((3, rows), -1, np.int16)
    for row in last_of_week:
        change = {s: (close[row] / close[row - 2] - 1) * 100 for s, close in enumerate(closes)}
        for s, number in plain_places(change, highest=True).items():
            places[s, row] = number
            signals[row, s] = (c.ENTER_LONG if number <= 1 else 0) | (
                c.CLOSE_LONG if number > 2 else 0
            )
    terms = terms_of(data.symbols, data.contracts, ())
    cells = np.column_stack([data.market.cells_of(s) for s in range(3)])
    market = data.market._replace(cell=cells, ranks=places.ravel())
    case = Case(market, signals, plan_of(steps), terms.units[0], terms.rates, CAPITAL, {})
    reference = reference_of(case)
    reference.finish()
    result = simulated(steps, histories)
    assert reference.trades == result.trades.tolist()
    assert reference.rejected == {"position_limit": 1}
    assert len(reference.trades) == len(example["expected"]["trades"])


def test_a_ranking_that_picks_all_symbols_trades_like_none() -> None:
    histories = histories_of(walks())
    all_picked = {"top": len(SYMBOLS), "by": {"type": "PRICE"}}
    for exits in ({}, {"onRank": "leave"}):
        with_rank = simulated(ranked(all_picked, exitConditions=exits), histories)
        without = simulated(ranked(None), histories)
        assert len(without.trades) > 100

        def in_order(result: SimulationResult) -> list[tuple[Any, ...]]:
            return sorted(result.trades.tolist())

        assert in_order(with_rank) == in_order(without)


@pytest.mark.parametrize("order", ["highest", "lowest"])
def test_the_entries_of_a_candle_are_tried_by_their_places(order: str) -> None:
    candles = walks()
    single = {"riskParameters": {"maxOpenPositions": 1}}
    result = simulated(ranked({"top": 5, "order": order}, **single), histories_of(candles))
    changes = [
        dict(zip(own.time[3:].tolist(), own.close[3:] / own.close[:-3], strict=True))
        for own in candles
    ]
    times = sorted({time for own in candles for time in own.time.tolist()})
    before = dict(pairwise(reversed(times)))
    first = [0, 0]
    for trade in result.trades[5:]:
        row, symbol = before[int(trade["entry_time"])], int(trade["symbol"])
        opened = {s for s, own in enumerate(candles) if trade["entry_time"] in own.time}
        values = {s: own[row] for s, own in enumerate(changes) if row in own}
        if symbol in values and opened >= set(values):
            places = plain_places(values, highest=order == "highest")
            first[places[symbol] == 1] += 1
    assert first[1] > 20
    assert first[0] == 0


def test_a_position_beyond_the_places_kept_leaves_at_its_next_open() -> None:
    candles = walks()
    held = simulated(
        ranked({"top": 1, "keep": 3}, exitConditions={"onRank": "hold"}), histories_of(candles)
    )
    left = simulated(
        ranked({"top": 1, "keep": 3}, exitConditions={"onRank": "leave"}), histories_of(candles)
    )
    assert not (held.trades["reason"] == c.BY_SIGNAL).any()
    assert (left.trades["reason"] == c.BY_SIGNAL).sum() > 10


def test_later_bars_change_no_place() -> None:
    steps, candles = ranked({"by": CHANGE, "top": 2}, exitConditions={"onRank": "leave"}), walks()
    whole = prepared(steps, histories_of(candles))
    inputs, plan = required_inputs(steps), plan_of(steps)
    market, signals = whole.with_signals(inputs, plan)
    for row in (50, 151, 252):
        moment = int(market.time[row])
        cut = prepared(steps, histories_of([own.between(0, moment) for own in candles]))
        short, early = cut.with_signals(inputs, plan)
        assert np.array_equal(early, signals[:, : len(short.time)])
        for s, section in enumerate(cut.joined.sections):
            own = market.ranks[whole.joined.sections[s]]
            assert np.array_equal(short.ranks[section], own[: section.stop - section.start])


def test_the_outcome_of_each_signal_is_found_from_the_result_and_the_places() -> None:
    steps = ranked({"top": 3}, riskParameters={"maxOpenPositions": 2, "maxEntriesPerDay": 20})
    histories = histories_of(walks(bars=100))
    result, data = simulated(steps, histories), prepared(steps, histories)
    rejected: Any = result.performance["rejectedSignals"]
    stored = StoredResult(result.trades, result.curve, CAPITAL, rejected)
    ranking, outcomes = data.ranking_of(steps), Counter[str]()
    for s, series in enumerate(data.all_series):
        for bar in range(len(series.used)):
            at_bar = StrategyAtBar.of(steps, Contract(), series, bar, ranking)
            outcome = stored.verdict(at_bar, s).reason
            outcomes[outcome] += 1
            row = at_bar.explain()["ranking"]
            (own_rank,) = [member["rank"] for member in row if member["symbol"] == SYMBOLS[s]]
            assert (outcome == "not_ranked") == (own_rank is None or own_rank > 3)
            ranks = [member["rank"] for member in row if member["rank"]]
            assert ranks == list(range(1, len(ranks) + 1))
    assert outcomes["entered"] == len(result.trades)
    for reason in ("position_limit", "entry_limit"):
        assert outcomes[reason] == rejected[reason] > 0
    assert not outcomes["not_traded"]


class Window:
    """The window of a live run: all bars up to a moment."""

    def __init__(self, candles: Sequence[Candles], until: int) -> None:
        self._candles = [own.between(0, until) for own in candles]

    def bars(self, symbol: int, /) -> Candles:
        return self._candles[symbol]

    def aligned(
        self, symbol: int, sources: Sequence[CandleSource], calendar: Sessions, /, *, closes: int
    ) -> Mapping[CandleSource, AlignedCandles]:
        return {}

    def days(self, symbol: int, /) -> Candles:
        raise AssertionError("No symbol has circuits.")


def row_at(
    candles: Sequence[Candles], time: int, late: frozenset[int] = frozenset()
) -> BarSnapshot:
    bars = np.full((len(candles), len(Candles.NUMBERS)), np.nan)
    for s, own in enumerate(candles):
        at = own.between(time, time + 1)
        if len(at):
            bars[s] = [getattr(at, name)[0] for name in Candles.NUMBERS]
    return BarSnapshot(time, time + 60, bars, late)


def evaluated(
    steps: Strategy, candles: Sequence[Candles], row: BarSnapshot
) -> tuple[list[int], list[int]]:
    """Return the signals and the places of the symbols in a live row; place 0 without a bar."""

    def no_underlying(slot: int, timeframe: str) -> Candles:
        raise AssertionError("No symbol is an option.")

    window = Window(candles, row.time + 1)
    evaluator = SignalEvaluator(window, SYMBOLS, row, no_underlying)
    terms = ContractTerms.of([Contract()] * len(SYMBOLS), (), [WEEKDAYS] * len(SYMBOLS))
    given = evaluator.evaluate(steps, plan_of(steps), terms, [{}] * len(SYMBOLS))
    cells = given.market.cell[0].tolist()
    places = [int(given.market.ranks[cell]) if cell >= 0 else 0 for cell in cells]
    return given.signals[:, 0].tolist(), places


def test_a_live_row_has_the_places_and_signals_of_the_backtest() -> None:
    steps, candles = ranked({"top": 2}, exitConditions={"onRank": "leave"}), walks()
    data = prepared(steps, histories_of(candles))
    market, signals = data.with_signals(required_inputs(steps), plan_of(steps))
    for row in range(200, 230):
        cells = [int(market.cells_of(s)[row]) for s in range(len(SYMBOLS))]
        places = [int(market.ranks[cell]) if cell >= 0 else 0 for cell in cells]
        live = evaluated(steps, candles, row_at(candles, int(market.time[row])))
        assert live == (signals[:, row].tolist(), places)


def test_a_late_symbol_of_a_live_row_is_not_ranked() -> None:
    steps, candles = ranked({"top": 2}, exitConditions={"onRank": "leave"}), walks()
    common = set.intersection(*(set(own.time.tolist()) for own in candles))
    time = sorted(common)[200]
    without = [own.select(own.time != time) if s == 3 else own for s, own in enumerate(candles)]
    seen = evaluated(steps, without, row_at(without, time))
    replayed = evaluated(steps, candles, row_at(candles, time, late=frozenset({3})))
    assert seen[0] == replayed[0]
    assert replayed[1] == [*seen[1][:3], NO_RANKING, seen[1][4]]


def test_a_row_without_bars_ranks_nothing() -> None:
    candles = walks()
    time = int(candles[0].time[-1]) + 600
    assert evaluated(ranked({}), candles, row_at(candles, time)) == ([0] * 5, [0] * 5)


def days(first: str, last: str) -> NDArray[np.int32]:
    return np.arange(first, last, dtype="M8[D]").astype(np.int32)


def test_the_last_session_of_a_week_or_month_is_known_from_the_calendar() -> None:
    friday = int(np.datetime64("2026-01-30", "D").astype(int))
    calendar = Sessions.build([Regime(0, 40_000, 33_300, 55_800)], [Override(friday)])
    dates = days("2026-01-19", "2026-02-07")
    for period, wanted in (("week", {"23", "29", "06"}), ("month", {"29"})):
        last, certain = calendar.is_last_session(dates, period)  # type: ignore[arg-type]
        assert certain.all()
        assert {str(day)[-2:] for day in dates[last].astype("M8[D]")} == wanted


def test_an_unlisted_year_makes_only_the_sessions_before_it_uncertain() -> None:
    calendar = Sessions.build([Regime(0, 40_000, 33_300, 55_800)], years=[2025])
    dates = days("2025-12-22", "2026-01-03")
    _, certain = calendar.is_last_session(dates, "week")
    assert dates[~certain].astype("M8[D]").astype(str).tolist() == [
        "2025-12-31", "2026-01-01", "2026-01-02",
    ]  # fmt: skip
    _, certain = calendar.is_last_session(dates, "month")
    assert (~certain).sum() == 2


def test_a_ranking_of_weeks_needs_a_certain_calendar() -> None:
    time = days("2025-12-01", "2026-01-09").astype(np.int64) * 86_400 - 19_800
    time = time[np.isin((ist_day(time) + 3) % 7, range(5))]
    prices = dict.fromkeys(("open", "high", "low", "close", "volume"), np.full(len(time), 100.0))
    candles = [Candles.build(time, **prices)] * len(SYMBOLS)
    steps = ranked({"every": "week"}, basicInfo={"timeframe": "1d"})
    calendar = Sessions.build([Regime(0, 40_000, 33_300, 55_800)], years=[2025])
    known, unknown = (
        [replace(history, sessions=sessions) for history in histories_of(candles)]
        for sessions in (WEEKDAYS, calendar)
    )
    assert len(simulated(steps, known).curve) == len(time)
    with pytest.raises(
        MissingCalendar, match="The sessions of NSE:S0 after 2025-12-31 are not known"
    ):
        simulated(steps, unknown)


def test_the_receipt_changes_with_the_sessions_at_which_symbols_are_ranked() -> None:
    """A holiday without bars moves the last session of its week to the day before."""
    friday = int(np.datetime64("2026-01-30", "D").astype(int))
    time = days("2026-01-05", "2026-02-07").astype(np.int64) * 86_400 - 19_800
    weekday = (ist_day(time) + 3) % 7
    time = time[(weekday < 5) & (ist_day(time) != friday)]
    close = np.round(
        100 + np.random.default_rng(3).normal(0, 1, (len(SYMBOLS), len(time))).cumsum(1), 1
    )
    candles = [
        Candles.build(time, open=row, high=row, low=row, close=row, volume=row) for row in close
    ]
    holiday = Sessions.build([Regime(0, 40_000, 33_300, 55_800)], [Override(friday)])
    receipts = []
    for sessions in (WEEKDAYS, holiday):
        histories = [replace(history, sessions=sessions) for history in histories_of(candles)]
        steps = ranked({"every": "week"}, basicInfo={"timeframe": "1d"})
        receipts.append(simulated(steps, histories).receipt)
    first, second = receipts
    assert first["candles"] == second["candles"]
    assert first["rulebook"] != second["rulebook"]


@pytest.mark.parametrize(
    ("changes", "field", "message"),
    [
        ({"entryConditions": {"rank": {"by": CHANGE, "top": 3, "keep": 2, "every": "candle"}}},
         "entryConditions.rank.keep", "must not be less than top."),
        ({"basicInfo": {"symbols": ["NSE:S0"]}},
         "entryConditions.rank", "needs two symbols or more."),
        ({"entryConditions": {"rank": None}, "exitConditions": {"onRank": "leave"}},
         "exitConditions.onRank", "is not used without entryConditions.rank."),
        ({"entryConditions": {"rank": {"by": {**CHANGE, "timeframe": "1m"}, "top": 1,
                                       "every": "candle"}}},
         "entryConditions.rank.by.timeframe", "must be one of"),
        ({"entryConditions": {"rank": {"by": CHANGE, "top": 51, "every": "candle"}}},
         "entryConditions.rank.top", "must be at most 50."),
        ({"entryConditions": {"rank": {"by": CHANGE, "top": 1, "every": "candle", "kep": 2}}},
         "entryConditions.rank.kep", "is not a known field; did you mean keep?"),
    ],
)  # fmt: skip
def test_a_wrong_ranking_is_refused(changes: dict[str, Any], field: str, message: str) -> None:
    written = ranked({}).model_dump(mode="json", by_alias=True, exclude_none=True)
    steps = {name: {**step, **changes.get(name, {})} for name, step in written.items()}
    if steps["entryConditions"]["rank"] is None:
        del steps["entryConditions"]["rank"]
    (error,) = read_strategy(steps).errors
    assert error.field == field
    assert error.message.startswith(f"{field} {message}")


def test_more_picks_than_positions_are_warned_of() -> None:
    few = ranked({"top": 5}, riskParameters={"maxOpenPositions": 3})
    assert [(warning.field, warning.message) for warning in few.warnings] == [
        (
            "entryConditions.rank.top",
            "5 symbols are picked, and riskParameters.maxOpenPositions leaves room for 3.",
        )
    ]


def test_a_ranked_result_notes_that_its_symbols_were_chosen() -> None:
    noted = [note["code"] for note in simulated(ranked({}), histories_of(walks())).receipt["notes"]]
    assert "chosen_universe" in noted
