"""The outcome of each signal, found from the stored result alone, adds up to the simulation's own
counts.
"""

from collections import Counter
from typing import Any, cast

import numpy as np
import pytest

from apps.engine.candles import Candles
from apps.engine.candles.sessions import Regime, Sessions
from apps.engine.kernel.codes import ENTER_LONG, ENTER_SHORT, EXIT_LONG, EXIT_SHORT
from apps.engine.kernel.reasons import EXIT_REASONS
from apps.engine.language.conditions import Side
from apps.engine.language.strategy import Strategy
from apps.engine.signals.required_inputs import required_inputs
from apps.engine.signals.signals import signals_of
from apps.engine.simulation.simulate import History, SimulationResult, simulate
from apps.engine.simulation.timeline import SymbolSeries
from apps.engine.simulation.trade_levels import orders_reached, sides_beyond_levels
from apps.engine.simulation.verdict import SignalBar, StoredResult, Verdict, verdict
from tests.engine.strategies import price, sma_cross, strategy
from tests.engine.test_simulate import MONDAY, history, walk

DAY = 86400
HOURS = Sessions.build([Regime(19_000, 21_000, 9 * 3600 + 15 * 60, 11 * 3600)])
CAPITAL = 10_000.0


def days(symbol: str, seed: int) -> History:
    """Return three days of 105 minutes, 09:15 to 11:00."""
    closes = walk(315, seed)
    given = history(closes, symbol=symbol, sessions=HOURS).candles
    times = np.concatenate([MONDAY + day * DAY + np.arange(105) * 60 for day in range(3)])
    return History(
        symbol,
        type(given).build(
            times,
            open=given.open,
            high=given.high,
            low=given.low,
            close=given.close,
            volume=given.volume,
        ),
        HOURS,
    )


SIDES: list[tuple[int, Side]] = [(ENTER_LONG, "long"), (ENTER_SHORT, "short")]


def verdicts(
    given: Strategy, histories: list[History], capital: float = CAPITAL
) -> tuple[SimulationResult, list[Verdict]]:
    """Return the verdicts of every bar of every symbol."""
    result = simulate(given, histories, start=0, end=2**40, capital=capital)
    rejected: dict[str, Any] = result.performance["rejectedSignals"]  # type: ignore[assignment]
    reported = StoredResult(result.trades, result.curve, capital, rejected)
    outcomes = []
    for symbol, symbol_history in enumerate(histories):
        symbol_series = SymbolSeries.of(given, symbol_history, 0, 2**40)
        bits = signals_of(
            required_inputs(given), symbol_series.bars, 0, len(symbol_series.candles)
        ).tolist()
        for index, bit in enumerate(bits):
            signals = [side for entering, side in SIDES if bit & entering]
            if len(signals) == 1 and bit & (EXIT_LONG | EXIT_SHORT):
                signals = ["long", "short"]
            bar = at(given, symbol_history, symbol_series, index, symbol)
            outcomes.append(verdict(given, bar, signals, reported, ranges_known=True))
    return result, outcomes


def at(
    given: Strategy, symbol_history: History, symbol_series: SymbolSeries, index: int, symbol: int
) -> SignalBar:
    time, after = symbol_series.candles.time, index + 1
    last = after == len(time)
    flags = np.zeros(len(time) + 1, np.uint8)
    flags[: len(symbol_series.flags)] = symbol_series.flags
    before = len(symbol_series.used) - len(symbol_series.candles)
    reached = orders_reached(given, symbol_history.contract, symbol_series.candles, index)
    return SignalBar(
        symbol,
        int(time[index]),
        int(flags[index]),
        None if last else int(time[after]),
        int(flags[after]),
        reached,
        time,
        set(range(symbol)),
        sides_beyond_levels(given, symbol_history.contract, symbol_series, before + index),
    )


BUSY = {"positionType": "both", "conditions": [sma_cross(3, 8)]}
BOTH = {
    "positionType": "both",
    "logicalOperator": "OR",
    "conditions": [sma_cross(3, 8), {**price("above", 99), "side": "short"}],
}

UNTURNED = {
    "positionType": "long",
    "logicalOperator": "OR",
    "conditions": [sma_cross(3, 8), {"type": "time_window", "from": "09:20", "to": "09:30"}],
}
OPPOSITE = {"exitOnOppositeSignal": True}
LEVEL = {"type": "level", "price": {"type": "SMA", "period": 2}}


@pytest.mark.parametrize(
    ("changes", "reasons"),
    [
        ({"executionSettings": {"productType": "intraday"}}, ["outside_session"]),
        ({"riskParameters": {"maxDailyLoss": 1.0}}, ["daily_loss_limit"]),
        ({"riskParameters": {"maxDailyProfit": 1.0}}, ["daily_profit_limit"]),
        (
            {"riskParameters": {"maxDailyProfit": 1.0, "maxDailyLoss": 1.0}},
            ["daily_profit_limit", "daily_loss_limit"],
        ),
        ({"riskParameters": {"maxEntriesPerDay": 2}}, ["entry_limit"]),
        ({"riskParameters": {"maxEntriesPerSymbol": 2}}, ["entry_limit"]),
        ({"riskParameters": {"cooldown": {"candles": 9}}}, ["cooldown"]),
        ({"exitConditions": {"stopLoss": LEVEL}}, ["level_beyond_entry"]),
        (
            {
                "exitConditions": {"stopLoss": LEVEL},
                "executionSettings": {"orderType": "stop", "limitOffset": 0.01, "slippage": 0.01},
            },
            ["level_beyond_entry", "limit_not_reached"],
        ),
        ({"riskParameters": {"cooldown": {"candles": 20, "after": "loss"}}}, ["cooldown"]),
        ({"entryConditions": BOTH}, ["both_sides"]),
        ({"entryConditions": UNTURNED, "exitConditions": OPPOSITE}, ["both_sides"]),
        ({"executionSettings": {"orderType": "limit", "limitOffset": 0.05}}, ["limit_not_reached"]),
        ({"executionSettings": {"orderType": "stop", "limitOffset": 0.05}}, ["limit_not_reached"]),
    ],
)
def test_reasons_that_are_certain_add_up(changes: dict[str, Any], reasons: list[str]) -> None:
    given = strategy(**{"entryConditions": BUSY, **changes})
    result, outcomes = verdicts(given, [days("NSE:TEST", 1)])
    counted = Counter(outcome.reason for outcome in outcomes)
    assert counted["entered"] == len(result.trades) > 3
    for reason in reasons:
        rejected: Any = result.performance["rejectedSignals"]
        assert counted[reason] == rejected[reason] > 0
    assert counted["not_traded"] == 0


def test_an_entry_names_its_trade_and_an_open_position_names_its_own() -> None:
    result, outcomes = verdicts(strategy(entryConditions=BOTH), [days("NSE:TEST", 1)])
    entered = sorted(
        cast(int, outcome.trade) for outcome in outcomes if outcome.reason == "entered"
    )
    assert entered == list(range(len(result.trades)))
    held = [outcome for outcome in outcomes if outcome.reason == "position_held"]
    assert held
    assert all(outcome.trade is not None for outcome in held)


def test_a_position_of_another_symbol_is_in_the_way() -> None:
    given, histories = two_symbols(riskParameters={"maxOpenPositions": 1})
    result, outcomes = verdicts(given, histories)
    counted = Counter(outcome.reason for outcome in outcomes)
    rejected: Any = result.performance["rejectedSignals"]
    assert counted["position_limit"] == rejected["position_limit"] > 0
    assert counted["entered"] == len(result.trades)


DEAR = {"maxPositionSize": 100.0, "maxOpenPositions": 2}


def two_symbols(**changes: Any) -> tuple[Strategy, list[History]]:
    given = strategy(entryConditions=BUSY, **changes)
    info = given.basicInfo.model_copy(update={"symbols": ("NSE:TEST", "NSE:OTHER")})
    return given.model_copy(update={"basicInfo": info}), [days("NSE:TEST", 1), days("NSE:OTHER", 2)]


def test_the_only_possible_reason_of_a_rejection_is_certain() -> None:
    given = strategy(entryConditions=BUSY, riskParameters={"maxPositionSize": 50.0})
    result, outcomes = verdicts(given, [days("NSE:TEST", 1)])
    counted = Counter(outcome.reason for outcome in outcomes)
    rejected: Any = result.performance["rejectedSignals"]
    assert counted["position_limit"] == rejected["position_limit"] > 0
    assert counted["not_traded"] == 0
    assert not any(outcome.possible for outcome in outcomes)


def test_unstored_facts_leave_the_verdict_between_counted_reasons() -> None:
    """Cash pays for one position, and some prices exceed the allowed worth of one."""
    given, histories = two_symbols(riskParameters=DEAR)
    _, outcomes = verdicts(given, histories, 150.0)
    left = [outcome for outcome in outcomes if outcome.reason == "not_traded"]
    assert left
    assert {outcome.possible for outcome in left} == {("position_limit", "insufficient_cash")}


def test_an_order_that_is_reached_was_refused_for_something_else() -> None:
    orders = {"orderType": "limit", "limitOffset": 0.4}
    given, histories = two_symbols(riskParameters=DEAR, executionSettings=orders)
    result, outcomes = verdicts(given, histories, 150.0)
    counted = Counter(outcome.reason for outcome in outcomes)
    rejected: Any = result.performance["rejectedSignals"]
    assert counted["limit_not_reached"] == rejected["limit_not_reached"] > 0
    assert not any("limit_not_reached" in outcome.possible for outcome in outcomes)


def test_an_unreached_order_may_have_met_too_many_positions_first() -> None:
    """Another symbol's position was closed in that row; the result does not say whether at its
    open.
    """
    given, histories = two_symbols(
        riskParameters={"maxOpenPositions": 1}, executionSettings={"orderType": "limit"}
    )
    result, outcomes = verdicts(given, histories)
    counted = Counter(outcome.reason for outcome in outcomes)
    rejected: Any = result.performance["rejectedSignals"]
    left = [outcome.possible for outcome in outcomes if outcome.reason == "not_traded"]
    assert set(left) == {("position_limit", "limit_not_reached")}
    both = counted["limit_not_reached"] + counted["position_limit"] + len(left)
    assert both == rejected["limit_not_reached"] + rejected["position_limit"]
    assert counted["limit_not_reached"] > 10 * len(left)


def minutes(*bars: tuple[float, float, float, float]) -> History:
    """Return minutes with the open, high, low and close of each."""
    columns = dict(zip(("open", "high", "low", "close"), np.array(bars, float).T, strict=True))
    times = MONDAY + 60 * np.arange(len(bars))
    candles = Candles.build(times, **columns, volume=np.ones(len(bars)))
    return History("NSE:TEST", candles)


def test_a_gap_over_the_stop_leaves_nothing_in_the_way_of_the_next_order() -> None:
    given = strategy(
        entryConditions={"conditions": [price("above", 50)]},
        executionSettings={"orderType": "limit", "limitOffset": 5.0, "slippage": 0.5},
        exitConditions={"stopLoss": {"type": "percentage", "percentage": 3}},
    )
    _, outcomes = verdicts(
        given,
        [
            minutes(
                (100, 101, 99, 100),
                (94, 95, 93.5, 94),
                (94, 95, 93, 94),
                (90.5, 91, 90.4, 90.5),
                (90, 91, 90, 90),
            )
        ],
    )
    assert [outcome.reason for outcome in outcomes] == [
        "entered",
        "position_held",
        "limit_not_reached",
        "limit_not_reached",
        "end_of_data",
    ]


def test_a_position_closed_with_its_session_was_held_until_then() -> None:
    given = strategy(
        basicInfo={"timeframe": "1h"},
        entryConditions={"conditions": [price("above", 50)]},
        executionSettings={"productType": "intraday"},
        exitConditions={"stopLoss": {"type": "percentage", "percentage": 20}},
    )
    times = MONDAY + 3600 * np.arange(3)
    flat = {name: np.full(3, 100.0) for name in ("open", "high", "low", "close", "volume")}
    sessions = Sessions.build([Regime(19_000, 21_000, 9 * 3600 + 900, 12 * 3600 + 900)])
    _, outcomes = verdicts(given, [History("NSE:TEST", Candles.build(times, **flat), sessions)])
    reasons = [outcome.reason for outcome in outcomes]
    assert reasons == ["entered", "position_held", "after_session"]


@pytest.mark.parametrize(("limit", "dropped"), [(1e6, "after_session"), (5.0, "daily_loss_limit")])
def test_an_entry_that_its_session_did_not_fill_is_named(limit: float, dropped: str) -> None:
    """It holds in a session with a last bar and in one without, after a position that was
    stopped.
    """
    hours = [("10:56", "10:57"), ("10:59", "11:00"), ("10:06", "10:07"), ("10:09", "10:10")]
    windows = [{"type": "time_window", "from": first, "to": end} for first, end in hours]
    given = strategy(
        basicInfo={"timeframe": "1m"},
        entryConditions={"logicalOperator": "OR", "conditions": windows},
        executionSettings={"productType": "intraday"},
        exitConditions={
            "squareOffTime": "10:59",
            "stopLoss": {"type": "percentage", "percentage": 5},
        },
        riskParameters={"maxDailyLoss": limit},
    )
    minutes = np.concatenate([np.arange(101, 105), DAY // 60 + np.arange(51, 55), [2 * DAY // 60]])
    closes = np.array([100.0, 100.0, 80.0, 80.0] * 2 + [80.0])
    bars = Candles.build(
        MONDAY + 60 * minutes, open=closes, high=closes, low=closes, close=closes, volume=np.ones(9)
    )
    result, outcomes = verdicts(given, [History("NSE:TEST", bars, HOURS)])
    reasons = [outcome.reason for outcome in outcomes if outcome.reason != "no_signal"]
    assert reasons == ["entered", dropped, "entered", dropped]
    rejected: Any = result.performance["rejectedSignals"]
    assert rejected[dropped] == 2


def test_a_position_that_a_session_left_open_ignored_its_last_signal() -> None:
    given = strategy(
        entryConditions={"conditions": [price("above", 50)]},
        executionSettings={"productType": "intraday"},
    )
    minutes, closes = np.array([0, 1, DAY // 60]), np.full(3, 100.0)
    bars = Candles.build(
        MONDAY + 60 * minutes, open=closes, high=closes, low=closes, close=closes, volume=np.ones(3)
    )
    result, outcomes = verdicts(given, [History("NSE:TEST", bars, HOURS)])
    assert [outcome.reason for outcome in outcomes] == ["entered", "position_held", "end_of_data"]
    rejected: Any = result.performance["rejectedSignals"]
    assert not any(rejected.values())


def test_the_signal_of_the_bar_that_ruins_the_account_has_its_own_verdict() -> None:
    given = strategy(
        positionSizing={"method": "percentage_of_equity", "percentage": 100, "quantity": None},
        entryConditions={"positionType": "short", "conditions": [price("above", 50)]},
        exitConditions={"stopLoss": None, "maxHoldingCandles": 500},
    )
    bars = [(100.0,) * 4, (100.0,) * 4, (150, 260, 150, 250), (250.0,) * 4, (250.0,) * 4]
    _, outcomes = verdicts(given, [minutes(*bars)])
    assert [outcome.reason for outcome in outcomes] == [
        "entered",
        "position_held",
        "ruined",
        "ruined",
        "ruined",
    ]


def test_an_opposite_signal_that_is_ignored_names_the_position() -> None:
    given = strategy(
        entryConditions={
            "positionType": "both",
            "conditions": [
                {**price("above", 100), "side": "long"},
                {**price("below", 100), "side": "short"},
            ],
        },
        exitConditions={
            "exitOnOppositeSignal": False,
            "stopLoss": {"type": "percentage", "percentage": 5},
        },
    )
    bars = [(100, 102, 100, 101), (101, 102, 99, 99), (90, 91, 89, 90.5), (90, 91, 89, 90)]
    result, outcomes = verdicts(given, [minutes(*bars)])
    assert len(result.trades) == 2
    assert (outcomes[1].reason, outcomes[1].trade) == ("position_held", 0)


def test_rule_7_at_a_breach_a_position_ignores_its_own_direction() -> None:
    """The loss of the third close is the limit; its signals do not count as rejected."""
    given = strategy(
        entryConditions={"positionType": "long", "conditions": [price("above", 10)]},
        exitConditions={"stopLoss": {"type": "percentage", "percentage": 90}},
        riskParameters={"maxDailyLoss": 1.0},
    )
    bars = [(100.0,) * 4, (100.0,) * 4, (100, 100, 50, 50), (50.0,) * 4]
    result, outcomes = verdicts(given, [minutes(*bars)])
    assert EXIT_REASONS[result.trades[0]["reason"]] == "daily_loss_limit"
    rejected: Any = result.performance["rejectedSignals"]
    assert rejected["daily_loss_limit"] == 1  # of the fourth close, when nothing was held
    assert (outcomes[2].reason, outcomes[2].trade) == ("position_held", 0)
