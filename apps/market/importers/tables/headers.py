"""The header of a file: the names of its columns.

There are three forms: one line of names; the three lines of newer yfinance files (field and ticker,
in either order, and the name of the index); and no header, if the first line is itself a bar. Its
columns are then recognised by their content, in the usual order of such files.
"""

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import islice
from typing import Final

_DELIMITERS: Final = (",", ";", "\t", "|")
_DATE: Final = re.compile(
    r"(?:[0-9]{4}[-/.]?[0-9]{2}[-/.]?[0-9]{2}|[0-9]{1,2}[-/.][0-9]{1,2}[-/.][0-9]{4})"
    r"(?:[ T][0-9:.+]+)?|[0-9]{9,10}|[0-9]{12,13}"
)
_CLOCK: Final = re.compile(r"[0-9]{1,2}:[0-9]{2}(?::[0-9]{2})?")
_NUMBER: Final = re.compile(r"[0-9]*\.?[0-9]+")
_NUMBERS_IN_ORDER: Final = ("open", "high", "low", "close", "volume", "open interest")
_PRICES: Final = 4
# A day of minutes in Lean's folders: milliseconds since midnight, four prices, a volume.
LEAN_MINUTE: Final = re.compile(r"(?P<day>[0-9]{8})_(?P<code>[a-z0-9&-]+)_minute_trade\.csv", re.I)
_LONGEST_LINE: Final = 100_000  # bytes, of a header


@dataclass(frozen=True, slots=True)
class Header:
    """A header of `lines` lines; `tickers` are the instruments of its columns, if it names them."""

    delimiter: str
    names: tuple[str, ...]
    lines: int = 1
    tickers: tuple[str, ...] = ()


def header_of(text: bytes, file_name: str) -> Header:
    """Read the header of a text with at least one line. Raises csv.Error."""
    first, second, third = _first_lines(text)
    delimiter = max(_DELIMITERS, key=first.count)
    names, row, below = (_fields(line, delimiter) for line in (first, second, third))
    if {*names[:1], *row[:1]} == {"Price", "Ticker"} and below[:1] in (("Date",), ("Datetime",)):
        if len(names) != len(row):
            raise csv.Error("its first two lines have different numbers of columns")
        fields, tickers = (names, row) if names[0] == "Price" else (row, names)
        return Header(delimiter, (below[0], *fields[1:]), lines=3, tickers=tickers[1:])
    if LEAN_MINUTE.match(file_name) and len(names) == _PRICES + 2:
        return Header(delimiter, ("mssincemidnight", *_NUMBERS_IN_ORDER[:5]), lines=0)
    if (guessed := _names_of_a_bar(names)) is not None:
        return Header(delimiter, guessed, lines=0)
    if len(row) > len(names) and not any(row[len(names) :]):
        names += ("",) * (len(row) - len(names))  # a delimiter ends every row but not the header
    return Header(delimiter, names)


def _first_lines(text: bytes) -> tuple[str, str, str]:
    lines = iter(partial(io.BytesIO(text).readline, _LONGEST_LINE), b"")
    first = [*islice((line for line in lines if line.strip()), 3), b"", b""]
    if max(map(len, first)) >= _LONGEST_LINE:
        raise csv.Error(f"its first lines are longer than {_LONGEST_LINE:,} bytes")
    above, header, below = (line.decode().rstrip("\r\n") for line in first[:3])
    return above, header, below


def _fields(line: str, delimiter: str) -> tuple[str, ...]:
    fields = next(csv.reader([line], delimiter=delimiter), [])
    return tuple(field.strip() for field in fields)


def _names_of_a_bar(fields: Sequence[str]) -> tuple[str, ...] | None:
    """Return names for the fields of a bar (perhaps an instrument, a date, perhaps a clock,
    numbers), None if the fields are not a bar.
    """
    names: list[str] = []
    remaining = list(fields)
    if remaining and not _DATE.fullmatch(remaining[0]):
        names.append("symbol")
        remaining.pop(0)
    if not remaining or not _DATE.fullmatch(remaining[0]):
        return None
    names.append("date")
    remaining.pop(0)
    if remaining and _CLOCK.fullmatch(remaining[0]):
        names.append("time")
        remaining.pop(0)
    if not _PRICES <= len(remaining) <= len(_NUMBERS_IN_ORDER):
        return None
    return (
        (*names, *_NUMBERS_IN_ORDER[: len(remaining)])
        if all(map(_NUMBER.fullmatch, remaining))
        else None
    )
