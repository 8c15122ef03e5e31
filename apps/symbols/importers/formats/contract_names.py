"""The underlying in a contract's name as NSE and Kite write it.

    NIFTY26SEPFUT, NIFTY26SEP24350CE     the last one of a month: year, month
    NIFTY2681824350CE, EURINR26213FUT    another one: year, month as 1 to 9, O, N or D, day

Where an underlying ends and a date begins cannot be told from such a name (SENSEX5026OCT...), so
the rest is built from the other columns and must be what the name ends in.
"""

from datetime import date
from decimal import Decimal
from functools import lru_cache

from apps.engine.candles import Symbol
from apps.symbols.importers.rows import RejectedRow, RejectReason

_MONTH_CODES = "123456789OND"


def underlying(
    name: str, *, expiry: date, strike: Decimal | None, option_type: str
) -> tuple[str, bool]:
    """Return the underlying's name, and whether the contract is weekly. Raises RejectedRow."""
    monthly, weekly = _dated(expiry)
    ending = f"{_written(strike)}{option_type}" if strike is not None else "FUT"
    for dated in (monthly, weekly):
        root = name.removesuffix(dated + ending)
        if root and root != name:
            return root, dated is weekly
    raise RejectedRow(
        RejectReason.UNREADABLE, f"{name} does not end in {monthly}{ending} or {weekly}{ending}"
    )


@lru_cache(maxsize=2_000)
def _dated(expiry: date) -> tuple[str, str]:
    """Return an expiry as monthly contracts write it (26JUN), and as weekly ones do (26616)."""
    month = expiry.month - 1
    return f"{expiry:%y}{Symbol.MONTHS[month]}", f"{expiry:%y}{_MONTH_CODES[month]}{expiry:%d}"


@lru_cache(maxsize=20_000)
def _written(strike: Decimal) -> str:
    return f"{strike.normalize():f}"
