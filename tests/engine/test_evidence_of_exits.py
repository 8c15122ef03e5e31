"""Evidence on results whose positions leave in parts, at levels, and by places."""

from typing import Any

import numpy as np
import pytest

from apps.engine.evidence.costs import costs_section
from apps.engine.evidence.document import SECTIONS, evidence_document
from apps.engine.evidence.inputs import EvidenceInput
from apps.engine.evidence.look_ahead import CUTS, look_ahead_of
from apps.engine.evidence.sensitivity import sensitivity
from apps.engine.kernel.codes import BY_STEP
from apps.engine.simulation.timeline import History
from tests.benchmarks.random_candles import session_bars
from tests.engine.evidence_inputs import evidence_on
from tests.engine.strategies import sma_cross, strategy

LOW = {"type": "MIN", "period": 15, "source": "low"}
BELOW = {"type": "CALC", "operator": "multiply", "operands": [LOW, 0.9995]}
PARTS = strategy(
    basicInfo={"symbols": ["NSE:A", "NSE:B", "NSE:C"]},
    positionSizing={"method": "fixed_quantity", "quantity": 100},
    entryConditions={
        "positionType": "long",
        "conditions": [{**sma_cross(3, 8), "within": 3}],
        "rank": {"by": {"type": "ROC", "period": 10}, "top": 2, "every": "candle"},
    },
    exitConditions={
        "stopLoss": {"type": "level", "price": BELOW, "buffer": 0.02},
        "trailingStop": {"enabled": True, "type": "level", "price": LOW},
        "steps": [
            {"at": {"type": "risk_reward", "ratio": 0.5}, "close": 40, "moveStop": "entry"},
            {"at": {"type": "points", "points": 2}, "close": 30},
        ],
    },
    riskParameters={"maxEntriesPerDay": 40, "cooldown": {"candles": 2}, "maxDailyProfit": 1e6},
)


@pytest.fixture(scope="module")
def evidence() -> EvidenceInput:
    histories = [
        History(symbol, session_bars(4, seed=seed))
        for seed, symbol in enumerate(PARTS.basicInfo.symbols)
    ]
    return evidence_on(PARTS, histories)


def test_every_section_reads_positions_that_leave_in_parts(evidence: EvidenceInput) -> None:
    steps = np.count_nonzero(evidence.fills["reason"] == BY_STEP)
    assert steps > len(evidence.result.trades) / 4
    document: dict[str, Any] = evidence_document(evidence)
    assert document["sections"].keys() == SECTIONS.keys()


def test_parts_lead_from_signal_prices_to_the_net_profit(evidence: EvidenceInput) -> None:
    figures = costs_section(evidence).figures
    left = figures["grossProfitAtSignalPrices"] - figures["slippage"] - figures["charges"]
    assert left == pytest.approx(figures["netProfit"], abs=1e-3)
    assert figures["netProfit"] == pytest.approx(evidence.result.net, abs=1e-3)


def test_levels_and_places_read_nothing_later(evidence: EvidenceInput) -> None:
    result = look_ahead_of(evidence)
    assert (result.cuts, result.changed) == (CUTS, ())


def test_the_numbers_of_later_fields_are_moved_too(evidence: EvidenceInput) -> None:
    moved = {neighbour.path for neighbour in sensitivity(evidence).neighbours}
    assert moved >= {
        "entryConditions.conditions[0].within",
        "entryConditions.rank.by.period",
        "entryConditions.rank.top",
        "exitConditions.stopLoss.buffer",
        "exitConditions.stopLoss.price.operands[1]",
        "exitConditions.steps[0].at.ratio",
        "exitConditions.steps[0].close",
        "exitConditions.steps[1].at.points",
        "riskParameters.cooldown.candles",
        "riskParameters.maxEntriesPerDay",
    }
