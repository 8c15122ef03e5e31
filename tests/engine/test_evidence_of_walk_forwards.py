"""Evidence on a walk-forward: the test of each window is simulated again as the study did."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from apps.engine.evidence.costs import costs_section
from apps.engine.evidence.fills import fills_section
from apps.engine.evidence.inputs import EvidenceInput, HistoryChanged, JoinedTests
from apps.engine.evidence.sensitivity import sensitivity, sensitivity_section
from apps.engine.language.exits import PercentageStop
from apps.engine.language.strategy import Strategy, parse
from apps.engine.simulation.charges import NO_CHARGES, ChargeRow, Schedule
from apps.engine.simulation.plan import Contract
from apps.engine.simulation.simulation_input import SimulationInput
from apps.engine.simulation.timeline import History
from apps.engine.studies.configs import WalkForwardConfig
from apps.engine.studies.parameters import applied
from apps.engine.units import Unit, rounded
from tests.benchmarks.random_candles import session_bars
from tests.engine.strategies import sma_cross, strategy
from tests.engine.whole_studies import walk_forward

CANDLES = session_bars(22, length=300)
HISTORIES = [
    History("NSE:TEST", CANDLES),
    History("NSE:OTHER", session_bars(20, length=900)),  # fewer bars, and none on the last days
]
CROSS = strategy(
    basicInfo={"symbols": ["NSE:TEST", "NSE:OTHER"], "timeframe": "5m"},
    entryConditions={"positionType": "both", "conditions": [sma_cross(3, 12)]},
    positionSizing={"method": "percentage_of_equity", "percentage": 40, "quantity": None},
    exitConditions={"stopLoss": {"type": "percentage", "percentage": 0.5}},
    executionSettings={"slippage": 0.01},
)
CONFIG = WalkForwardConfig.read(
    {
        "parameters": [
            {
                "path": "entryConditions.conditions[0].indicator1.period",
                "from": 2,
                "to": 8,
                "step": 2,
            },
            {"path": "exitConditions.stopLoss.percentage", "from": 0.2, "to": 0.4, "step": 0.2},
        ],
        "objective": "netProfit",
    },
)
CHARGES: Schedule = (ChargeRow("", 0, tax_sell=0.0001),)


def evidence_of(
    cross: Strategy = CROSS, histories: list[History] = HISTORIES, schedule: Schedule = CHARGES
) -> EvidenceInput:
    steps = cross.model_dump(mode="json", exclude_none=True, by_alias=True)
    whole: dict[str, Any] = {
        "histories": histories,
        "start": 0,
        "end": 2**40,
        "capital": 1e6,
        "schedule": schedule,
    }
    output = walk_forward(steps, CONFIG, **whole)
    windows: Any = output.findings["windows"]
    chosen = [applied(steps, window["parameters"]) for window in windows]
    first = int(output.result.curve["time"][0])
    inputs = SimulationInput(chosen[-1], **whole | {"start": first})
    joined = JoinedTests(chosen, CONFIG.windows)
    return EvidenceInput(inputs, output.result.trades, output.result.curve, joined=joined)


def test_the_windows_are_simulated_as_the_study_did() -> None:
    evidence = evidence_of()
    assert len({part.inputs.strategy for part in evidence.parts}) > 1  # they chose differently
    assert np.concatenate([part.trades for part in evidence.parts]).tolist() == (
        evidence.trades.tolist()
    )
    assert len(evidence.fills) == 2 * len(evidence.trades) > 40
    for section in (costs_section(evidence), fills_section(evidence)):
        assert "Each test window is simulated on its own" in section.sentence
    fills: Any = fills_section(evidence).figures
    assert fills["netProfit"]["rule"] == rounded(evidence.result.net, Unit.RUPEES)


def test_costs_are_multiplied_window_by_window() -> None:
    """Without costs each test is a simulation of its dates without slippage and charges, from the
    equity that the one before it left.
    """
    evidence = evidence_of()
    figures: Any = costs_section(evidence).figures
    nets = {row["factor"]: row["netProfit"] for row in figures["netProfitAtCosts"]}
    held = 1e6
    for part in evidence.parts:
        free = applied(part.inputs.steps, {"executionSettings.slippage": 0.0})
        times = part.curve["time"]
        alone = replace(
            part.inputs,
            steps=free,
            start=int(times[0]),
            end=int(times[-1]) + 1,
            capital=held,
            schedule=NO_CHARGES,
            histories=[h for h in HISTORIES if len(h.candles.between(times[0], times[-1] + 1))],
        )
        held = float(alone.simulate().curve["equity"][-1])
    assert nets[0] == rounded(held - 1e6, Unit.RUPEES)
    assert nets[1] == figures["netProfit"] == rounded(evidence.result.net, Unit.RUPEES)
    assert sorted(nets.values(), reverse=True) == list(nets.values())
    left = figures["grossProfitAtSignalPrices"] - figures["slippage"] - figures["charges"]
    assert left == pytest.approx(figures["netProfit"], abs=1e-3)


def test_of_a_walk_forward_that_was_ruined_the_windows_until_then_are_simulated() -> None:
    risky = strategy(
        basicInfo={"timeframe": "5m"},
        positionSizing={"quantity": 5000},
        entryConditions={"positionType": "both", "conditions": [sma_cross(3, 12)]},
        executionSettings={"slippage": 2},
    )
    histories = [History("NSE:TEST", CANDLES, contract=Contract(margin=0.01))]
    evidence = evidence_of(risky, histories, NO_CHARGES)
    assert len(evidence.parts) < CONFIG.windows
    assert len(evidence.fills) > 0
    net: Any = costs_section(evidence).figures["netProfit"]
    assert net == rounded(evidence.result.net, Unit.RUPEES) <= -1e6


def test_changed_candles_are_no_evidence() -> None:
    evidence = evidence_of()
    later = replace(CANDLES, close=CANDLES.close * 1.01)
    inputs = replace(evidence.inputs, histories=[History("NSE:TEST", later), HISTORIES[1]])
    with pytest.raises(HistoryChanged):
        costs_section(replace(evidence, inputs=inputs))


def test_neighbours_of_each_windows_numbers_are_simulated_in_its_test() -> None:
    evidence = evidence_of()
    result = sensitivity(evidence)
    assert result.net == pytest.approx(evidence.result.net, abs=1e-6)
    path = "exitConditions.stopLoss.percentage"
    [wider] = [n for n in result.neighbours if n.path == path and n.change == 0.1]
    changed = [
        applied(part.inputs.steps, {path: round(stop.percentage * 1.1, 10)})
        for part in evidence.parts
        for stop in [part.inputs.strategy.exitConditions.stopLoss]
        if isinstance(stop, PercentageStop)
    ]
    nets = [
        part.simulate(parse(steps)).result_data.net
        for part, steps in zip(evidence.parts, changed, strict=True)
    ]
    assert wider.net == pytest.approx(sum(nets), abs=1e-6)
    figures: Any = sensitivity_section(evidence).figures
    assert {row["value"] for row in figures["changes"]} == {None}
