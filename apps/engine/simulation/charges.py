"""Dated rates of charges, supplied by the caller (rule 10)."""

from __future__ import annotations

from typing import NamedTuple


class ChargeRow(NamedTuple):
    """Rates of one segment from `first_day` (days since 1970 in Asia/Kolkata) on (rule 10).

    Fractions of a fill's value, except `brokerage_cap` (rupees an order, infinite for none),
    `brokerage_flat` (rupees an order, beside the fraction), `depository` (rupees for a sale that
    delivers shares bought on an earlier day) and `gst` (a fraction of brokerage, exchange fee,
    regulator's fee and depository charge).
    """

    segment: str
    first_day: int
    brokerage: float = 0.0
    brokerage_cap: float = float("inf")
    tax_buy: float = 0.0
    tax_sell: float = 0.0
    exchange: float = 0.0
    ipft: float = 0.0
    regulator: float = 0.0
    stamp_buy: float = 0.0
    gst: float = 0.0
    brokerage_flat: float = 0.0
    depository: float = 0.0


Schedule = tuple[ChargeRow, ...]
NO_CHARGES: Schedule = ()


def has_rates(schedule: Schedule, segment: str, day: int) -> bool:
    """Return whether fills of the segment have charges from `day` on."""
    return any(row.segment == segment and row.first_day <= day for row in schedule)
