"""Real market files as candles: days are stamped 00:00 in Asia/Kolkata, as elsewhere."""

import csv
import gzip
from datetime import date
from pathlib import Path

from apps.engine.candles import DAY, IST, Candles


def goog_daily(folder: Path) -> Candles:
    return _daily(folder / "oracle_goog_daily.csv.gz", "", "Open", "High", "Low", "Close", "Volume")


def sbin_daily(folder: Path) -> Candles:
    names = ("date", "open", "high", "low", "close", "volume")
    return _daily(folder / "nse_raw_SBIN_2008-26.csv.gz", *names)


def backtraders_daily(folder: Path) -> Candles:
    """A European index of 2006."""
    names = ("Date", "Open", "High", "Low", "Close", "Volume")
    return _daily(folder / "oracle_backtrader_2006_day.csv", *names)


def rows_of(path: Path) -> list[dict[str, str]]:
    with gzip.open(path, "rt") if path.suffix == ".gz" else path.open() as file:
        return list(csv.DictReader(file))


def epoch_of_day(text: str) -> int:
    return (date.fromisoformat(text) - date(1970, 1, 1)).days * DAY - IST


def _daily(path: Path, day: str, *names: str) -> Candles:
    rows = rows_of(path)
    columns = [[float(row[name]) for row in rows] for name in names]
    fields = ("open", "high", "low", "close", "volume")
    return Candles.build(
        [epoch_of_day(row[day]) for row in rows], **dict(zip(fields, columns, strict=True))
    )
