"""How far from the last price an order's own price may lie; further, it is refused (`price_band`).

Rows are dated and name their source. Without one the band is a fifth of the last price, the widest
that NSE and BSE set for a share without derivatives in a day; for others it is a bound of ours that
catches bad data before it becomes a result.
"""

from dataclasses import dataclass
from datetime import date
from typing import Final

from apps.engine.symbols import parse


@dataclass(frozen=True, slots=True)
class Band:
    """Percent of the last price, to either side, and never less than so many rupees."""

    types: frozenset[str]
    since: date
    percent: float
    least: float = 0.0
    source: str = ""


_BSE: Final = "BSE notice 20251010-20 on order price bands, in force from 2025-12-01"
BANDS: Final = (
    Band(frozenset({"options"}), date(2025, 12, 1), 40.0, 20.0, _BSE),
    Band(frozenset({"futures"}), date(2025, 12, 1), 2.0, 200.0, _BSE),
)
"""Of contracts on indices; which of NSE and BSE it is makes no difference."""
OWN: Final = Band(frozenset(), date.min, 20.0)
_INDICES: Final = frozenset({"NIFTY", "BANKNIFTY", "FINNIFTY", "MIDCPNIFTY", "SENSEX", "BANKEX"})


def band_of(symbol: str, day: date) -> Band:
    """The one in force on a day."""
    known = parse(symbol)
    if known.root not in _INDICES:
        return OWN
    bands = [band for band in BANDS if known.type in band.types and band.since <= day]
    return max(bands, key=lambda band: band.since, default=OWN)


def is_outside(symbol: str, price: float, *, last: float, day: date) -> bool:
    """Whether an order at `price` would be refused; at the edge of the band it is not."""
    band = band_of(symbol, day)
    return abs(price - last) > max(last * band.percent / 100, band.least)
