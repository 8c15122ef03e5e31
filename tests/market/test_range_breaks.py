"""Published tables of range breaks on NIFTY's minutes of 2024, recomputed from stored bars.

For each day and each start T from 09:30 to 15:00: the highest and lowest price of the bars up to
and including T; whether and when a later bar first breaks them; after a break the highest high and
the lowest low; and the close of the 374th of the day's 375 bars.
"""

from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command

from apps.engine.candles import IST, Candles, ist_day
from apps.market.candles import reading
from tests.engine.market_files import epoch_of_day, rows_of

Row = tuple[str, ...]
COLUMNS = (
    "DayHigh",
    "DayLow",
    "IsDayHighBreak",
    "DayHighBreakTime",
    "IsDayLowBreak",
    "DayLowBreakTime",
    "TargetHigh",
    "TargetLow",
    "Closing",
)


def clock(time: int) -> str:
    minutes = (time + IST) % 86400 // 60
    return f"{minutes // 60:02}:{minutes % 60:02}"


def days_of(bars: Candles) -> Iterator[Candles]:
    for first in range(0, len(bars), 375):
        day = bars.slice(first, first + 375)
        assert len(set(ist_day(day.time).tolist())) == 1
        yield day


def breaks(day: Candles, start: int) -> Row:
    """Return the nine columns of a day for the start at bar `start`."""
    high, low = day.high[: start + 1].max(), day.low[: start + 1].min()
    later = day.slice(start + 1, len(day))
    above, below = later.time[later.high > high], later.time[later.low < low]
    return (
        f"{high:.2f}",
        f"{low:.2f}",
        str(bool(len(above))),
        clock(int(above[0])) if len(above) else "N/A",
        str(bool(len(below))),
        clock(int(below[0])) if len(below) else "N/A",
        f"{later.high.max() if len(above) else 0:.2f}",
        f"{later.low.min() if len(below) else 0:.2f}",
        f"{day.close[373]:.2f}",
    )


@pytest.mark.slow
@pytest.mark.django_db
def test_every_published_day_is_found_again(market_data: Path) -> None:
    source = market_data / "oracle_orb_nifty_1m_2024_cleaned.csv.gz"
    call_command("load_candles", str(source), stdout=StringIO())
    bars = reading.read_bars("NSE:NIFTY", "1m", start=0, end=2**33)
    days = {int(day.time[0]): day for day in days_of(bars)}
    published = rows_of(market_data / "oracle_orb_nifty_2024_days.csv.gz")
    for row in published:
        text, opening = row["Date"], 9 * 60 + 15
        hours, minutes = row["Time"].split(":")
        midnight = epoch_of_day(f"{text[:4]}-{text[4:6]}-{text[6:]}")
        day = days[midnight + opening * 60]
        computed = breaks(day, int(hours) * 60 + int(minutes) - opening)
        assert computed == tuple(row[name] for name in COLUMNS), (row["Date"], row["Time"])
    assert (len(published), len(days)) == (3588, 156)
