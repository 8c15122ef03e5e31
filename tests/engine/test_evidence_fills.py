"""Fills: bars with two levels, by the rule, by the opposite and by finer candles; gaps and
delays.
"""

from dataclasses import replace
from math import nan
from typing import Any

import numpy as np
import pytest

from apps.engine.candles import Candles
from apps.engine.evidence.fills import (
    NetByOrder,
    UndecidedBar,
    check_of,
    fills_section,
    opposite_is_true,
)
from apps.engine.evidence.inputs import EvidenceInput
from apps.engine.evidence.sections import CheckStatus
from apps.engine.language.strategy import Strategy, parse
from apps.engine.simulation.charges import ChargeRow
from apps.engine.simulation.simulate import History
from apps.engine.simulation.simulation_input import SimulationInput
from tests.engine.strategies import price, strategy

BEGIN = 1_704_080_700 - 1_704_080_700 % 300  # of a bar of five minutes in a session
RATES = (ChargeRow("", 0, tax_sell=0.001),)
Prices = tuple[float, float, float, float]


def five_minutes(*bars: Prices, length: int = 300, volume: float = 1000) -> Candles:
    opens, highs, lows, closes = np.array(bars, np.float64).T
    return Candles.build(
        BEGIN + length * np.arange(len(bars)),
        open=opens,
        high=highs,
        low=lows,
        close=closes,
        volume=np.full(len(bars), float(volume)),
    )


def steps_of(**settings: Any) -> Strategy:
    """Return steps that buy ten above 100, with a stop of 5 and a target of 10 rupees."""
    return strategy(
        basicInfo={"timeframe": "5m"},
        entryConditions={"positionType": "long", "conditions": [price("crosses_above", 100)]},
        exitConditions={
            "stopLoss": {"type": "points", "points": 5},
            "takeProfit": {"type": "points", "points": 10},
        },
        positionSizing={"method": "fixed_quantity", "quantity": 10},
        executionSettings={"slippage": 0, "productType": "delivery", **settings},
    )


def evidence_of(
    steps: Strategy, *bars: Prices, finer: Candles | None = None, volume: float = 1000
) -> EvidenceInput:
    written = steps.model_dump(mode="json", exclude_none=True, by_alias=True)
    history = History(steps.basicInfo.symbols[0], five_minutes(*bars, volume=volume))
    inputs = SimulationInput(written, [history], 0, 2**40, 1e6, RATES)
    result = inputs.simulate()
    return EvidenceInput(
        inputs, result.trades, result.curve, finer=lambda symbol, start, end: finer
    )


def status_of(evidence: EvidenceInput) -> CheckStatus:
    check = fills_section(evidence).check
    assert check is not None
    return check.status


def figures_of(evidence: EvidenceInput) -> Any:
    return fills_section(evidence).figures


BEFORE: tuple[Prices, ...] = ((99, 99, 99, 99), (99, 99, 99, 99), (101, 101, 101, 101))
AFTER: Prices = (99, 99, 99, 99)
BOTH: Prices = (101, 112, 95, 99)  # entered at 101; the stop of 96 and the target of 111


def test_by_the_opposite_a_target_is_reached_before_the_stop() -> None:
    figures = figures_of(evidence_of(steps_of(), *BEFORE, BOTH, AFTER))
    assert figures["undecidedBars"] == {"stopAndTarget": 1, "entryAndStop": 0, "entryAndTarget": 0}
    net = figures["netProfit"]
    assert net["rule"] == net["worst"] == net["resolved"] == pytest.approx(-50 - 0.96)
    assert net["best"] == pytest.approx(100 - 1.11)
    assert figures["shareDecidedByFinerCandles"] == 0


@pytest.mark.parametrize(
    ("inside", "net", "share"),
    [
        (((101, 105, 100, 104), (104, 112, 104, 110), (110, 110, 95, 99)), 100 - 1.11, 1),
        (((101, 105, 95, 104), (104, 112, 104, 110), (110, 110, 99, 99)), -50.96, 1),
        (((101, 112, 95, 104), (104, 104, 104, 104)), -50.96, 0),
        (((101, 105, 100, 104), (111, 112, 95, 99)), 100 - 1.11, 1),
    ],
)
def test_finer_candles_decide(inside: tuple[Prices, ...], net: float, share: float) -> None:
    minutes = five_minutes(*inside, length=60)
    finer = replace(minutes, time=minutes.time + 3 * 300)
    figures = figures_of(evidence_of(steps_of(), *BEFORE, BOTH, AFTER, finer=finer))
    assert figures["netProfit"]["resolved"] == pytest.approx(net)
    assert figures["shareDecidedByFinerCandles"] == share


def test_by_the_opposite_a_step_is_taken_before_the_stop() -> None:
    """Of ten bought at 101, six would leave at 106, the rest at the stop of 96."""
    steps = [{"at": {"type": "points", "points": 5}, "close": 60}]
    stop = {"type": "points", "points": 5}
    only_steps = steps_of().model_dump(mode="json", exclude_none=True, by_alias=True)
    given = parse({**only_steps, "exitConditions": {"stopLoss": stop, "steps": steps}})
    reaching_both = figures_of(evidence_of(given, *BEFORE, (101, 107, 95, 99), AFTER))
    assert reaching_both["undecidedBars"]["stopAndTarget"] == 1
    net = reaching_both["netProfit"]
    assert net["rule"] == net["worst"] == pytest.approx(-50 - 0.96)
    assert net["best"] == pytest.approx(30 - 20, abs=1.1)
    stopped = figures_of(evidence_of(given, *BEFORE, (101, 105, 95, 99), AFTER))
    assert stopped["undecidedBars"]["stopAndTarget"] == 0


def test_an_order_filled_inside_its_bar_and_stopped_there() -> None:
    """A stop order at 102.01 has its stop at 97, where prices may have been before."""
    by_stop = steps_of(orderType="stop", limitOffset=1)
    figures = figures_of(evidence_of(by_stop, *BEFORE, (101, 103, 96, 102), AFTER))
    assert figures["undecidedBars"]["entryAndStop"] == 1
    assert figures["netProfit"]["rule"] < figures["netProfit"]["best"]
    closed_below = figures_of(evidence_of(by_stop, *BEFORE, (101, 103, 96, 96.5), AFTER))
    assert closed_below["undecidedBars"]["entryAndStop"] == 0


def test_an_order_filled_inside_a_bar_that_reaches_its_target() -> None:
    by_limit = steps_of(orderType="limit", limitOffset=1)
    figures = figures_of(evidence_of(by_limit, *BEFORE, (101, 111, 99.5, 101), AFTER))
    assert figures["undecidedBars"]["entryAndTarget"] == 1
    assert figures["netProfit"]["best"] == pytest.approx(100, abs=2)


def test_a_close_beyond_the_target_leaves_nothing_undecided() -> None:
    by_limit = steps_of(orderType="limit", limitOffset=1)
    figures = figures_of(evidence_of(by_limit, *BEFORE, (101, 111, 99.5, 111), AFTER))
    assert figures["undecidedBars"]["entryAndTarget"] == 0


def undecided(**changes: Any) -> UndecidedBar:
    usual = UndecidedBar("entryAndStop", 0, BEGIN, 1.0, 97.0, nan, 102.0, True, 2, 0.0)
    return usual._replace(**changes)


@pytest.mark.parametrize(
    ("bar", "inside", "opposite"),
    [
        (undecided(), ((101, 101, 96, 100), (100, 103, 100, 102)), True),
        (undecided(), ((101, 103, 101, 101), (101, 101, 96, 98)), False),
        (undecided(), ((101, 103, 96, 101), (101, 101, 101, 101)), None),
        (undecided(), ((101, 101.5, 96, 101), (101, 101, 101, 101)), None),
        (undecided(), ((101, 103, 96, 96), (96, 101, 96, 101)), False),
    ],
)
def test_finer_candles_decide_between_an_order_and_its_stop(
    bar: UndecidedBar, inside: tuple[Prices, ...], opposite: bool | None
) -> None:
    assert opposite_is_true(five_minutes(*inside, length=60), bar) is opposite


def test_a_short_is_a_long_upside_down() -> None:
    target = UndecidedBar("entryAndTarget", 0, BEGIN, -1.0, nan, 92.0, 102.0, True, 1, 0.0)
    reached = five_minutes((101, 103, 101, 101), (101, 101, 91, 95), length=60)
    assert opposite_is_true(reached, target) is True
    before = five_minutes((101, 101, 91, 95), (95, 103, 95, 101), length=60)
    assert opposite_is_true(before, target) is False


def test_gaps_are_counted_with_their_cost() -> None:
    figures = figures_of(evidence_of(steps_of(), *BEFORE, (101,) * 4, (90,) * 4, AFTER))
    assert figures["gaps"]["stops"] == 1
    assert figures["gaps"]["lostBeyondStops"] == pytest.approx(60)


GAIN: tuple[Prices, ...] = (*BEFORE, (101, 104, 100, 103), (103, 112, 103, 111), AFTER)


def test_a_result_that_hangs_on_the_order_of_prices_is_in_doubt() -> None:
    evidence = evidence_of(steps_of(), *GAIN)
    assert status_of(evidence) == CheckStatus.PASS
    by_order = NetByOrder(worst=-1, rule=1, best=1, resolved=1, left=1)
    statuses = [
        check_of(evidence, net).status
        for net in (
            by_order,
            by_order._replace(left=0),
            by_order._replace(left=0, resolved=-1),
            by_order._replace(rule=-1),
        )
    ]
    assert statuses == ["doubt", "pass", "fail", "unknown"]


def test_without_a_trade_nothing_is_known() -> None:
    assert status_of(evidence_of(steps_of(), *[AFTER] * 4)) == CheckStatus.UNKNOWN
