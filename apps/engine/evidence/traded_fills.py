"""The fills of a simulation as the basis of charges, so that other rates can charge them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles.candles import ist_day
from apps.engine.kernel.codes import BY_EXPIRY, BY_STEP, OPEN
from apps.engine.kernel.reasons import CHARGE_KINDS
from apps.engine.kernel.records import Array
from apps.engine.simulation.charges import ChargeRow, Schedule
from apps.engine.simulation.plan import Contract

Floats = NDArray[np.float64]

# A sale of shares bought on an earlier day; a settlement, without an exchange.
FROM_DEMAT, EXPIRED = 1, 2
TRADED_FILL: Final = np.dtype(
    # `symbol` is an index into the symbols of the result, `day` a date in Asia/Kolkata.
    [
        ("symbol", "i4"),
        ("day", "i4"),
        ("bought", "?"),
        ("special", "u1"),  # FROM_DEMAT, EXPIRED or 0
        ("value", "f8"),
        ("paid", "f8", (len(CHARGE_KINDS),)),  # rupees, by kind
    ]
)
NO_RATES: Final = ChargeRow("", 0)


def traded_fills_of(fills: Array, contracts: Sequence[Contract]) -> Array:
    """Return FILL records, in order of time, as TRADED_FILL records; the contracts are in the order
    of the symbols.
    """
    traded = np.empty(len(fills), TRADED_FILL)
    traded["symbol"], traded["bought"] = fills["symbol"], fills["side"] > 0
    traded["day"], traded["paid"] = ist_day(fills["time"]), fills["paid"] / 100
    from_demat = _first_deliveries(fills, traded)
    traded["special"] = np.where(fills["reason"] == BY_EXPIRY, EXPIRED, from_demat)
    traded["value"] = fills["quantity"] * fills["price"] * multipliers(fills, contracts)
    return traded


def multipliers(fills: Array, contracts: Sequence[Contract]) -> Floats:
    """Return the rupees that a unit gained for each rupee of price, by the terms of each day."""
    values, days = np.empty(len(fills)), ist_day(fills["time"])
    for symbol, contract in enumerate(contracts):
        own = fills["symbol"] == symbol
        values[own] = contract.multiplier
        for first, terms in contract.later:
            values[own & (days >= first)] = terms.multiplier
    return values


def _first_deliveries(fills: Array, traded: Array) -> NDArray[np.bool_]:
    """Return a mask of the sales of shares bought on an earlier day, but of parts that leave on one
    day only the first (rule 10).
    """
    order = np.argsort(fills["symbol"], kind="stable")
    position = positions_of(fills[order])
    firsts, days = np.searchsorted(position, position), traded["day"][order]
    from_demat = ~traded["bought"][order] & (days[firsts] < days)
    of_days = np.stack([position, days], axis=1)[from_demat]
    _, first_of_day = np.unique(of_days, axis=0, return_index=True)
    mask = np.zeros(len(fills), np.bool_)
    mask[order[np.flatnonzero(from_demat)[first_of_day]]] = True
    return mask


def positions_of(fills: Array) -> NDArray[np.int64]:
    """Return the number of each fill's position; `fills` are sorted by symbol, then by time.

    A position ends with its last exit; steps are exits of parts.
    """
    is_last: NDArray[np.bool_] = ~np.isin(fills["reason"], (OPEN, BY_STEP))
    numbers: NDArray[np.int64] = np.cumsum(is_last) - is_last
    return numbers


def rates_on(schedule: Schedule, segments: Sequence[str], day: int) -> list[ChargeRow]:
    """Return the rates of each segment in force on a day, or NO_RATES."""
    rows = sorted((row for row in schedule if row.first_day <= day), key=lambda row: row.first_day)
    in_force = {row.segment: row for row in rows}
    return [in_force.get(segment, NO_RATES) for segment in segments]


def charges_of_days(traded: Array, schedule: Schedule, contracts: Sequence[Contract]) -> Floats:
    """Return the charges of TRADED_FILL records as `charges_by`, each by the rates of its day."""
    charges = np.zeros((len(traded), len(CHARGE_KINDS)))
    for day in np.unique(traded["day"]).tolist():
        own = traded["day"] == day
        segments = [contract.on(day).segment for contract in contracts]
        charges[own] = charges_by(traded[own], rates_on(schedule, segments, day))
    return charges


def charges_by(traded: Array, rates: Sequence[ChargeRow]) -> Floats:
    """Return the charges of TRADED_FILL records in rupees, f8[fills, kinds], each rounded half up
    to the paisa (rule 10), as the kernel does; `rates` are in the order of the symbols. The tax on
    an expiry is not among them and stays as paid.
    """
    table = np.array([row[2:] for row in rates], np.float64).reshape(len(rates), -1)
    rate = dict(zip(ChargeRow._fields[2:], table[traded["symbol"]].T, strict=True))
    value, bought, expired = traded["value"], traded["bought"], traded["special"] == EXPIRED
    brokerage = rate["brokerage_flat"] + np.minimum(
        rate["brokerage"] * value, rate["brokerage_cap"]
    )
    brokerage = np.where(expired & (value <= 0), 0.0, brokerage)
    tax = np.where(bought, rate["tax_buy"], rate["tax_sell"]) * value
    tax = np.where(expired, traded["paid"][:, CHARGE_KINDS.index("transactionTax")], tax)
    turnover = np.where(expired, 0.0, value)
    exchange, regulator = rate["exchange"] * turnover, rate["regulator"] * turnover
    stamp = np.where(bought, rate["stamp_buy"] * turnover, 0.0)
    depository = np.where(traded["special"] == FROM_DEMAT, rate["depository"], 0.0)
    gst = rate["gst"] * (brokerage + exchange + regulator + depository)
    items = (brokerage, tax, exchange, rate["ipft"] * turnover, regulator, stamp, gst, depository)
    rounded: Floats = np.floor(np.stack(items, axis=1) * 100 + 0.5 + 1e-9) / 100
    return rounded
