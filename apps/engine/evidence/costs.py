"""The loss of a result to slippage and charges, and the costs it can bear."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from apps.engine.evidence.figures import CostOfTrade, CostsFigures
from apps.engine.evidence.inputs import EvidenceInput
from apps.engine.evidence.sections import (
    CheckStatus,
    EvidenceCheck,
    EvidenceSection,
    charges_by_kind,
)
from apps.engine.evidence.traded_fills import multipliers
from apps.engine.kernel.codes import AT_LIMIT, BY_END_OF_DATA, BY_EXPIRY, BY_TARGET, OPEN
from apps.engine.kernel.records import Array, Plan
from apps.engine.language.strategy import Strategy
from apps.engine.simulation.charges import NO_CHARGES, Schedule
from apps.engine.simulation.plan import Contract, plan_of
from apps.engine.studies.walk_forward import tested_in_turn
from apps.engine.units import Unit, rounded, rupees_text

Floats = NDArray[np.float64]

COSTS: Final = "costs"
COST_FACTORS: Final = (0.0, 0.5, 1.0, 1.5, 2.0, 3.0)
"""Multiples of slippage and charges at which the result is simulated again."""
# The rates that are multiplied; GST follows its base.
_MULTIPLIED: Final = (
    "brokerage",
    "brokerage_cap",
    "brokerage_flat",
    "tax_buy",
    "tax_sell",
    "exchange",
    "ipft",
    "regulator",
    "stamp_buy",
    "depository",
)
# Exits at prices that slippage does not worsen (rule 4).
_NO_SLIPPAGE: Final = (BY_TARGET, BY_END_OF_DATA, BY_EXPIRY)
_NOT_LOOKED_AT: Final = (
    "Large orders that move the price: slippage is the fixed percentage of the steps.",
    "Interest, income tax and data fees.",
)


def costs_section(evidence: EvidenceInput) -> EvidenceSection[CostsFigures]:
    """Return the steps from the profit at signal prices to the net profit, the break-even cost of a
    trade, and the net profit at COST_FACTORS times the costs.

    The break-even cost is the profit at signal prices over the number of trades, and over the value
    of their entries in basis points (hundredths of a percent).
    """
    result, contracts = evidence.result, evidence.data.contracts
    trades, paid = result.trades, evidence.fills["paid"].sum(axis=0) / 100
    slippage = sum(
        float(slippage_of(part.fills, plan_of(part.inputs.strategy), contracts).sum())
        for part in evidence.parts
    )
    gross, charges = float(trades["gross"].sum()), float(paid.sum())
    nets = {factor: _net_at(evidence, factor) for factor in COST_FACTORS}
    reversals = int(((trades["gross"] > 0) & (result.profit < 0)).sum())
    check = _check(nets, len(trades))
    return EvidenceSection(
        COSTS,
        CostsFigures(
            grossProfitAtSignalPrices=rounded(gross + slippage, Unit.RUPEES),
            slippage=rounded(slippage, Unit.RUPEES),
            grossProfit=rounded(gross, Unit.RUPEES),
            chargesByKind=charges_by_kind(paid),
            charges=rounded(charges, Unit.RUPEES),
            netProfit=rounded(result.net, Unit.RUPEES),
            costOfTrade=_of_trade(slippage + charges, trades),
            breakEvenCostOfTrade=_of_trade(gross + slippage, trades),
            netProfitAtCosts=[
                {"factor": factor, "netProfit": rounded(net, Unit.RUPEES)}
                for factor, net in nets.items()
            ],
            tradesTurnedToLoss=reversals,
            shareTurnedToLoss=rounded(reversals / len(trades), Unit.RATIO) if len(trades) else None,
        ),
        _sentence(gross + slippage, slippage, charges, reversals, len(trades))
        + evidence.simulation_note,
        _NOT_LOOKED_AT,
        check,
    )


def slippage_of(fills: Array, plan: Plan, contracts: Sequence[Contract]) -> Floats:
    """Return the rupees by which slippage worsened each of FILL records, at least 0: without it the
    price of a market or stop fill was better (rule 4).
    """
    is_entry, side = fills["reason"] == OPEN, fills["side"].astype(np.float64)
    has_slippage = np.where(
        is_entry, plan.order_by != AT_LIMIT, ~np.isin(fills["reason"], _NO_SLIPPAGE)
    )
    before = fills["price"] / (1 + side * plan.slippage)
    worsened = side * (fills["price"] - before) * fills["quantity"]
    rupees: Floats = np.where(has_slippage, worsened, 0.0) * multipliers(fills, contracts)
    return rupees


def times_charges(schedule: Schedule, factor: float) -> Schedule:
    """Return the schedule with every charge multiplied by a factor."""
    if factor == 0:  # a cap times 0 means no cap
        return NO_CHARGES
    return tuple(
        row._replace(**{name: getattr(row, name) * factor for name in _MULTIPLIED})
        for row in schedule
    )


def times_slippage(strategy: Strategy, factor: float) -> Strategy:
    settings = strategy.executionSettings
    changed = settings.model_copy(update={"slippage": settings.slippage * factor})
    return strategy.model_copy(update={"executionSettings": changed})


def _net_at(evidence: EvidenceInput, factor: float) -> float:
    if factor == 1:
        return evidence.result.net
    schedule = times_charges(evidence.inputs.schedule, factor)
    simulations = tested_in_turn(
        evidence.parts,
        lambda part, held: part.simulate(
            times_slippage(part.inputs.strategy, factor), schedule, capital=held
        ),
        evidence.inputs.capital,
    )
    return sum(simulation.result_data.net for simulation in simulations)


def _of_trade(rupees: float, trades: Array) -> CostOfTrade:
    if not len(trades):
        return {"rupees": None, "basisPoints": None}
    return {
        "rupees": rounded(rupees / len(trades), Unit.RUPEES),
        "basisPoints": rounded(rupees / float(trades["value"].sum()) * 10_000, Unit.RATIO),
    }


def _check(nets: dict[float, float], trades: int) -> EvidenceCheck:
    if not trades:
        return EvidenceCheck(COSTS, CheckStatus.UNKNOWN, "No trades, so no costs.")
    if nets[1.0] <= 0:
        reason = "No profit is left after slippage and charges."
        return EvidenceCheck(COSTS, CheckStatus.FAIL, reason)
    if nets[2.0] <= 0:
        reason = "At twice the slippage and charges the profit is gone."
        return EvidenceCheck(COSTS, CheckStatus.DOUBT, reason)
    reason = "Still makes money at twice the slippage and charges."
    return EvidenceCheck(COSTS, CheckStatus.PASS, reason)


def _sentence(before: float, slippage: float, charges: float, reversals: int, trades: int) -> str:
    if not trades:
        return "No trades, so no costs."
    return (
        f"{rupees_text(before)} before costs; slippage takes {rupees_text(slippage)} and charges"
        f" {rupees_text(charges)}. Charges turned {reversals:,} of {trades:,} trades into losses."
    )
