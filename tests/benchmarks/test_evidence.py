"""The cost of the evidence on a year of minutes, beside its simulations alone."""

import json
import time
from math import floor
from typing import Any

import numpy as np
import pytest

from apps.engine.evidence import EvidenceInput, charges_as_of_section, evidence_document
from apps.engine.evidence.costs import COST_FACTORS
from apps.engine.evidence.sections import EvidenceSection
from apps.engine.evidence.traded_fills import FROM_DEMAT, TRADED_FILL
from apps.engine.kernel.records import Array
from apps.engine.language.strategy import Strategy
from apps.engine.simulation.charges import ChargeRow
from apps.engine.simulation.simulate import SimulationResult
from apps.engine.simulation.simulation_input import SimulationInput
from apps.engine.simulation.timeline import History
from tests.benchmarks.random_candles import session_bars
from tests.benchmarks.side_by_side import MEASURED, Row, compare
from tests.engine.strategies import strategy

pytestmark = [pytest.mark.bench, pytest.mark.timeout(600)]

SESSIONS, ROUNDS = 250, 7
CHARGES = (ChargeRow("", 0, brokerage=0.0003, brokerage_cap=20, tax_sell=0.00025, gst=0.18),)
CROSSING = {
    "type": "indicator_indicator",
    "operator": "crosses_above",
    "indicator1": {"type": "EMA", "period": 9},
    "indicator2": {"type": "EMA", "period": 21},
}


def above(kind: str, period: int, value: float) -> dict[str, Any]:
    indicator = {"type": kind, "period": period}
    return {"type": "indicator_value", "indicator": indicator, "operator": "above", "value": value}


FILTERS = [above("RSI", 14, 30), above("RSI", 21, 20), above("ADX", 14, 5), above("ATR", 14, 0.1)]


def crossing(*filters: dict[str, Any]) -> Strategy:
    return strategy(
        basicInfo={"timeframe": "1m"},
        entryConditions={"positionType": "both", "conditions": [CROSSING, *filters]},
        exitConditions={
            "stopLoss": {"type": "percentage", "percentage": 0.3},
            "takeProfit": {"type": "risk_reward", "ratio": 2},
        },
        executionSettings={"slippage": 0.01},
    )


def charges_fill_by_fill(fills: Array, row: ChargeRow) -> float:
    """Return the charges of TRADED_FILL records by a plain loop."""
    total = 0.0
    for fill in fills:
        value = float(fill["value"])
        brokerage = row.brokerage_flat + min(row.brokerage * value, row.brokerage_cap)
        exchange, regulator = row.exchange * value, row.regulator * value
        depository = row.depository if fill["special"] == FROM_DEMAT else 0.0
        items = (
            brokerage,
            (row.tax_buy if fill["bought"] else row.tax_sell) * value,
            exchange,
            row.ipft * value,
            regulator,
            row.stamp_buy * value if fill["bought"] else 0.0,
            row.gst * (brokerage + exchange + regulator + depository),
            depository,
        )
        total += sum(floor(item * 100 + 0.5 + 1e-9) / 100 for item in items)
    return total


def simulations_of(sections: Any) -> int:
    """Return the number of simulations of the strategy."""
    certificate = sections["lookAhead"]["figures"]["certificate"]
    neighbours = sections["sensitivity"]["figures"]
    cuts = 1 + certificate["cuts"] + certificate["futures"]
    tried = 1 + neighbours["neighbours"] - neighbours["invalid"]
    return int(cuts + tried + len(COST_FACTORS))  # factor 1 is the simulation of the fills


@pytest.mark.parametrize("filters", [[], FILTERS], ids=["plain", "filtered"])
def test_a_year_of_minutes(filters: list[dict[str, Any]]) -> None:
    steps = crossing(*filters).model_dump(mode="json", exclude_none=True, by_alias=True)
    histories = [History("NSE:TEST", session_bars(SESSIONS))]
    inputs = SimulationInput(steps, histories, 0, 2**40, 1e6, CHARGES)
    result = inputs.simulate()

    def evidence() -> Any:
        return evidence_document(EvidenceInput(inputs, result.trades, result.curve))

    document = evidence()
    count, size = simulations_of(document["sections"]), len(json.dumps(document))

    def alone() -> list[SimulationResult]:
        return [inputs.simulate() for _ in range(count)]

    bars = len(histories[0].candles)
    begun = time.process_time()
    evidence()
    spent = time.process_time() - begun
    assert bars == 93_750
    assert len(result.trades) >= 4_000
    assert count <= 200
    assert size <= 100_000
    numbers = document["sections"]["sensitivity"]["figures"]["numbers"]
    name = f"evidence on {bars:,} minutes, {len(result.trades):,} trades, {numbers} numbers"
    compare(f"{name}, against its {count} simulations as backtests", evidence, alone, ROUNDS)
    MEASURED.append(Row(f"{name}, CPU and document", f"{spent:.2f} s, {size / 1000:.0f} kB"))
    print(f"{spent:.2f} s of processor time, {size / 1000:.0f} kB")


def test_the_charges_of_another_date() -> None:
    fills = np.zeros(10_000, TRADED_FILL)
    fills["value"] = np.random.default_rng(1).uniform(1e4, 5e5, len(fills))
    fills["bought"][::2] = True
    (row,) = CHARGES

    def section() -> EvidenceSection[Any]:
        return charges_as_of_section(fills, CHARGES, ["NSE:TEST"], [""], day=20_000, gross=0.0)

    figures: Any = section().figures
    assert figures["asOf"]["total"] == pytest.approx(charges_fill_by_fill(fills, row), abs=0.01)
    compare(
        f"charges of {len(fills):,} fills as of another date, against a plain loop",
        section,
        lambda: charges_fill_by_fill(fills, row),
        ROUNDS,
    )
