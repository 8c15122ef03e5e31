"""The charges of a result's trades by the rules of another date."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from apps.engine.evidence.figures import ChargesAsOfFigures, ChargesWithTotal
from apps.engine.evidence.sections import EvidenceSection, charges_by_kind
from apps.engine.evidence.traded_fills import NO_RATES, charges_by, rates_on
from apps.engine.kernel.records import Array
from apps.engine.simulation.charges import Schedule
from apps.engine.units import Unit, rounded, rupees_text

CHARGES_AS_OF: Final = "chargesAsOf"
_NOT_LOOKED_AT: Final = (
    "Other trades: quantities and prices stay the same.",
    "Lots, ticks and hours of that date: only the charges change.",
)


def charges_as_of_section(
    traded: Array,
    schedule: Schedule,
    symbols: Sequence[str],
    segments: Sequence[str],
    *,
    day: int,
    gross: float,
) -> EvidenceSection[ChargesAsOfFigures]:
    """Return the charges of TRADED_FILL records by the rates of a day (days since 1970 in
    Asia/Kolkata), by kind, beside the charges paid; `gross` is the profit before charges.

    `segments`, the keys of the rates in the schedule, are in the order of the symbols.
    """
    rates = rates_on(schedule, segments, day)
    uncharged = [symbol for symbol, row in zip(symbols, rates, strict=True) if row is NO_RATES]
    paid, then = traded["paid"].sum(axis=0), charges_by(traded, rates).sum(axis=0)
    total_paid, total_then = float(paid.sum()), float(then.sum())
    date = str(np.datetime64(day, "D"))
    return EvidenceSection(
        CHARGES_AS_OF,
        ChargesAsOfFigures(
            date=date,
            fills=len(traded),
            paid=ChargesWithTotal(**charges_by_kind(paid), total=rounded(total_paid, Unit.RUPEES)),
            asOf=ChargesWithTotal(**charges_by_kind(then), total=rounded(total_then, Unit.RUPEES)),
            difference=rounded(total_then - total_paid, Unit.RUPEES),
            netProfit=rounded(gross - total_paid, Unit.RUPEES),
            netProfitAsOf=rounded(gross - total_then, Unit.RUPEES),
            withoutRates=uncharged,
        ),
        _sentence(date, total_paid, total_then, gross),
        (
            *_NOT_LOOKED_AT,
            *(f"Charges of {symbol}: no rates for that date." for symbol in uncharged),
        ),
    )


def _sentence(date: str, paid: float, then: float, gross: float) -> str:
    if round(paid, 2) == round(then, 2):
        return f"With the rates of {date}, charges are the same: {rupees_text(paid)}."
    return (
        f"With the rates of {date}, charges are {rupees_text(then)} instead of {rupees_text(paid)}."
        f" The net profit of {rupees_text(gross - paid)} becomes {rupees_text(gross - then)}."
    )
