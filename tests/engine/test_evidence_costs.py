"""Costs: the effect of slippage and charges on a result, and the same fills at other rates."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from apps.engine.evidence.charges_as_of import charges_as_of_section
from apps.engine.evidence.costs import costs_section, times_charges
from apps.engine.evidence.inputs import EvidenceInput, HistoryChanged
from apps.engine.evidence.sections import CheckStatus
from apps.engine.evidence.traded_fills import FROM_DEMAT, charges_by, rates_on, traded_fills_of
from apps.engine.language.strategy import Strategy
from apps.engine.simulation.charges import NO_CHARGES, ChargeRow, Schedule
from apps.engine.simulation.plan import Contract
from apps.engine.simulation.simulate import History
from apps.engine.simulation.simulation_input import SimulationInput
from tests.benchmarks.random_candles import session_bars
from tests.engine.strategies import sma_cross, strategy

RATES = ChargeRow(
    "a",
    0,
    brokerage=0.0003,
    brokerage_cap=20,
    tax_buy=0.0001,
    tax_sell=0.00025,
    exchange=0.00003,
    ipft=0.000001,
    regulator=0.000001,
    stamp_buy=0.00003,
    gst=0.18,
    brokerage_flat=1,
    depository=13.5,
)
SCHEDULE: Schedule = (RATES, RATES._replace(segment="b", first_day=10_970, tax_sell=0.001))
SYMBOLS, SEGMENTS = ("NSE:A", "NSE:B"), ("a", "b")


def crossing(**sections: Any) -> Strategy:
    return strategy(
        **{
            "basicInfo": {"symbols": list(SYMBOLS)},
            "entryConditions": {"positionType": "both", "conditions": [sma_cross(5, 20)]},
            "positionSizing": {"method": "fixed_quantity", "quantity": 3},
            "executionSettings": {"slippage": 0.05, "productType": "delivery"},
            **sections,
        }
    )


def evidence_of(steps: Strategy, schedule: Schedule = SCHEDULE) -> EvidenceInput:
    histories = [
        History(symbol, session_bars(20, length=200, seed=seed), contract=Contract(segment=segment))
        for seed, (symbol, segment) in enumerate(zip(SYMBOLS, SEGMENTS, strict=True))
    ]
    as_written = steps.model_dump(mode="json", exclude_none=True, by_alias=True)
    inputs = SimulationInput(as_written, histories, 0, 2**40, 1e6, schedule)
    result = inputs.simulate()
    return EvidenceInput(inputs, result.trades, result.curve)


def figures_of(evidence: EvidenceInput) -> Mapping[str, Any]:
    return costs_section(evidence).figures


def test_the_waterfall_leads_from_signal_prices_to_the_net_profit() -> None:
    evidence = evidence_of(crossing())
    figures = figures_of(evidence)
    left = figures["grossProfitAtSignalPrices"] - figures["slippage"]
    assert left == pytest.approx(figures["grossProfit"], abs=1e-3)
    assert left - figures["charges"] == pytest.approx(figures["netProfit"], abs=1e-3)
    assert sum(figures["chargesByKind"].values()) == pytest.approx(figures["charges"], abs=1e-3)
    assert figures["slippage"] > 0


def test_without_costs_the_result_equals_one_at_signal_prices() -> None:
    figures = figures_of(evidence_of(crossing()))
    nets = {row["factor"]: row["netProfit"] for row in figures["netProfitAtCosts"]}
    assert nets[0] == pytest.approx(figures["grossProfitAtSignalPrices"], abs=1e-3)
    assert nets[1] == figures["netProfit"]
    assert sorted(nets.values(), reverse=True) == list(nets.values())


def test_the_break_even_cost_of_a_trade_leaves_nothing() -> None:
    evidence = evidence_of(crossing())
    figures, trades = figures_of(evidence), evidence.result.trades
    cost = figures["breakEvenCostOfTrade"]
    gross = figures["grossProfitAtSignalPrices"]
    assert cost["rupees"] * len(trades) == pytest.approx(gross, rel=1e-3)
    assert cost["basisPoints"] * trades["value"].sum() / 1e4 == pytest.approx(gross, rel=1e-3)


def test_targets_and_limit_orders_do_not_slip() -> None:
    steps = crossing(
        exitConditions={"takeProfit": {"type": "percentage", "percentage": 0.001}},
        executionSettings={
            "slippage": 0.05,
            "productType": "delivery",
            "orderType": "limit",
            "limitOffset": 0.01,
        },
    )
    evidence = evidence_of(steps)
    by_target = evidence.result.trades["reason"] == 2
    assert by_target.any()
    slipped = evidence.result.trades[~by_target]
    rate = 0.0005
    worsened = slipped["exit_price"] * slipped["quantity"] * rate / (1 - slipped["side"] * rate)
    left = slipped["reason"] != 8  # end of data
    assert figures_of(evidence)["slippage"] == pytest.approx(worsened[left].sum(), abs=1e-3)


def test_a_losing_result_fails_and_one_that_survives_double_costs_passes() -> None:
    evidence = evidence_of(crossing())
    losing = costs_section(evidence)
    assert evidence.result.net < 0
    assert losing.check is not None
    assert losing.check.status == CheckStatus.FAIL
    free = crossing(
        positionSizing={"method": "fixed_quantity", "quantity": 3},
        entryConditions={"positionType": "long", "conditions": [sma_cross(5, 20)]},
        executionSettings={"slippage": 0, "charges": "none"},
    )
    evidence = evidence_of(free)
    check = costs_section(evidence).check
    assert check is not None
    assert check.status == (CheckStatus.PASS if evidence.result.net > 0 else CheckStatus.FAIL)


def test_an_infinite_cap_is_never_multiplied_to_nan() -> None:
    uncapped = (ChargeRow("a", 0, brokerage=0.001),)
    assert times_charges(uncapped, 0) == NO_CHARGES
    assert times_charges(uncapped, 2)[0].brokerage_cap == float("inf")
    assert times_charges(SCHEDULE, 3)[0].gst == RATES.gst


@pytest.mark.parametrize("entries", [1, 3])
def test_fills_recomputed_at_their_rates_cost_the_kernels_charges(entries: int) -> None:
    sizing = {
        "method": "fixed_quantity",
        "quantity": 3,
        "pyramiding": {"enabled": entries > 1, "maxEntries": max(entries, 2)},
    }
    evidence = evidence_of(crossing(positionSizing=sizing))
    traded = traded_fills_of(evidence.fills, evidence.data.contracts)
    assert (traded["special"] == FROM_DEMAT).any()
    for day in np.unique(traded["day"]).tolist():
        today = traded[traded["day"] == day]
        again = charges_by(today, rates_on(SCHEDULE, SEGMENTS, day))
        assert np.array_equal(np.round(again * 100), np.round(today["paid"] * 100))
    assert traded["paid"].sum() == pytest.approx(evidence.result.trades["charges"].sum())


def test_another_day_uses_the_rates_in_force_then() -> None:
    evidence = evidence_of(crossing())
    traded = traded_fills_of(evidence.fills, evidence.data.contracts)
    gross = float(evidence.result.trades["gross"].sum())
    early = charges_as_of_section(traded, SCHEDULE, SYMBOLS, SEGMENTS, day=10_969, gross=gross)
    assert early.figures["withoutRates"] == ["NSE:B"]
    assert "Charges of NSE:B: no rates for that date." in early.not_looked_at
    late = charges_as_of_section(traded, SCHEDULE, SYMBOLS, SEGMENTS, day=10_970, gross=gross)
    figures: Mapping[str, Any] = late.figures
    assert figures["date"] == "2000-01-14"
    assert figures["netProfitAsOf"] == pytest.approx(gross - figures["asOf"]["total"], abs=1e-3)
    assert figures["difference"] == pytest.approx(
        figures["asOf"]["total"] - figures["paid"]["total"], abs=1e-3
    )


def test_a_history_that_has_changed_gives_no_fills() -> None:
    evidence = evidence_of(crossing())
    with pytest.raises(HistoryChanged):
        _ = replace(evidence, trades=evidence.trades[1:]).fills
