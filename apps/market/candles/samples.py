"""Generated candles beside the market's: their end, and the notice on results with them.

Bars of a feed may follow the last generated bar of a series. Earlier bars stay generated.
"""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime
from typing import Final, NamedTuple

from django.db.models import F, Max
from django.db.models.functions import Coalesce

from apps.core.times import indian_time, moment
from apps.market.models import CandleChunk

# The notice over every result on generated bars.
SAMPLE_NOTICE: Final = (
    "Sample data. These prices are made up; the result says nothing about a real market."
)
# Start of the last generated bar of a chunk that has any.
LAST_GENERATED: Final = Coalesce(F("generated_until"), F("last_time"))


class GeneratedBars(NamedTuple):
    """A symbol has generated bars up to the start `until` of the last one.

    `is_last` means that no bar comes after it.
    """

    symbol: str
    until: datetime
    is_last: bool


def sample_ends(symbols: Collection[str], timeframe: str) -> Mapping[str, int]:
    """Return the start of the last generated bar of each symbol that has any in a timeframe."""
    chunks = CandleChunk.objects.filter(
        symbol__in=list(symbols), timeframe=timeframe, synthetic=True
    )
    ends = chunks.order_by("symbol").values_list("symbol").annotate(end=Max(LAST_GENERATED))
    return {symbol: int(end.timestamp()) for symbol, end in ends}


def describe_samples(ends: Mapping[str, int], timeframe: str) -> list[str]:
    """Return a description of each series, such as NSE:INFY 1d (until 30 June 2026, 00:00 IST)."""
    return [
        f"{symbol} {timeframe} (until {indian_time(moment(end))})" for symbol, end in ends.items()
    ]


def sample_notice(generated: Iterable[GeneratedBars]) -> str:
    """Return the notice over a result on these bars, empty if none is generated."""
    series = sorted(generated)
    if not series or any(bars.is_last for bars in series):
        return SAMPLE_NOTICE if series else ""
    ends = "; ".join(f"{bars.symbol} until {indian_time(bars.until)}" for bars in series)
    return (
        f"Sample data in part. Prices are generated: {ends}. What a result owes to them says"
        " nothing about a real market."
    )
