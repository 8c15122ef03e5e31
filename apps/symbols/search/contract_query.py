"""Parse words that describe a contract: "NIFTY 24350 CE", "banknifty 25 aug fut". The name of the
underlying comes first. Then follow, in any order, a strike, CE, PE or FUT, and a month with a day
or a year beside it.
"""

import re
from calendar import monthrange
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from apps.engine.candles import Symbol

_MONTHS: Final = {name: number for number, name in enumerate(Symbol.MONTHS, start=1)} | {
    "JANUARY": 1,
    "FEBRUARY": 2,
    "MARCH": 3,
    "APRIL": 4,
    "JUNE": 6,
    "JULY": 7,
    "AUGUST": 8,
    "SEPTEMBER": 9,
    "OCTOBER": 10,
    "NOVEMBER": 11,
    "DECEMBER": 12,
}
_OPTION_TYPES: Final = {"CE": "CE", "CALL": "CE", "PE": "PE", "PUT": "PE"}
_FUTURES: Final = ("FUTURES", "FUTURE", "FUT")
_KNOWN: Final = sorted((*_MONTHS, *_OPTION_TYPES, *_FUTURES), key=len, reverse=True)
_TOKEN: Final = re.compile(rf"[0-9]+|{'|'.join(_KNOWN)}")
_BETWEEN_TOKENS: Final = "-/'.,"

_LARGEST_STRIKE: Final = 10**9
# The range of years around today for the expiry of a contract without a year.
_YEARS_BEFORE: Final = 1
_YEARS_AFTER: Final = 5

# A first and a last day, both included.
DaySpan = tuple[date, date]


@dataclass(frozen=True, slots=True)
class ContractQuery:
    """The description of a contract; None means any value.

    `root` is the underlying's name as typed, in capitals. `expiries` has the readings of the date,
    the likelier one first, each as the days on which the contract may expire; empty means any day.
    """

    exchange: str | None
    root: str
    is_future: bool
    option_type: str | None
    strike: int | None
    expiries: tuple[tuple[DaySpan, ...], ...]


def read_contract(text: str, *, today: date) -> ContractQuery | None:
    """Parse `text`, in capitals, as the description of a contract; None if it is not one."""
    exchange, _, description = text.rpartition(":")
    words = description.split()
    first = next((n for n, word in enumerate(words) if n and _is_of_tokens(word)), len(words))
    remaining = words[first:]
    if (
        not remaining
        or not all(map(_is_of_tokens, remaining))
        or exchange not in ("", *Symbol.EXCHANGES)
    ):
        return None
    tokens = [token for word in remaining for token in _TOKEN.findall(word)]
    option_types = [_OPTION_TYPES[token] for token in tokens if token in _OPTION_TYPES]
    futures = [token for token in tokens if token in _FUTURES]
    months = [n for n, token in enumerate(tokens) if token in _MONTHS]
    if len(option_types) + len(futures) > 1 or len(months) > 1:
        return None
    strike = None if futures else _strike_at(tokens, months)
    beside = {n for month in months for n in (month - 1, month + 1)} - {strike}
    numbers = {n for n, token in enumerate(tokens) if token.isdigit()} - {strike}
    expiries = tuple(_expiries(tokens, months[0], numbers, today)) if months else ()
    if not numbers <= beside or (months and not expiries):
        return None
    return ContractQuery(
        exchange=exchange or None,
        root=" ".join(words[:first]),
        is_future=bool(futures),
        option_type=option_types[0] if option_types else None,
        strike=None if strike is None else min(int(tokens[strike]), _LARGEST_STRIKE),
        expiries=expiries,
    )


def _is_of_tokens(word: str) -> bool:
    remainder = _TOKEN.sub("", word)
    return remainder != word and not remainder.strip(_BETWEEN_TOKENS)


def _strike_at(tokens: Sequence[str], months: Sequence[int]) -> int | None:
    """Return the index of the strike: the number before CE or PE, else the number after it, else
    the last number that cannot be part of a date.
    """
    for n, token in enumerate(tokens):
        if token in _OPTION_TYPES:
            neighbours = [at for at in (n - 1, n + 1) if 0 <= at < len(tokens)]
            strikes = [at for at in neighbours if tokens[at].isdigit()]
            if strikes:
                return strikes[0]
    numbers = [n for n, token in enumerate(tokens) if token.isdigit()]
    if months:
        numbers = [n for n in numbers if int(tokens[n]) > 31 and not _is_year(tokens[n])]
    return numbers[-1] if numbers else None


def _is_year(token: str) -> bool:
    return len(token) == 4 and token.startswith("20")


def _expiries(
    tokens: Sequence[str], month_at: int, numbers: set[int], today: date
) -> Iterator[tuple[DaySpan, ...]]:
    """Return each reading of the date: of two numbers the first is more likely the day."""
    month = _MONTHS[tokens[month_at]]
    around = [int(tokens[n]) for n in (month_at - 1, month_at + 1) if n in numbers]
    readings: list[tuple[int | None, int | None]]  # (day, year)
    match around:
        case []:
            readings = [(None, None)]
        case [number]:
            readings = [(None, number)] if number >= 2000 else [(number, None), (None, number)]
        case _:
            readings = [(around[0], around[1]), (around[1], around[0])]
    years: Sequence[int]
    soon = range(today.year - _YEARS_BEFORE, today.year + _YEARS_AFTER + 1)
    for day, written in readings:
        years = soon if written is None else [written]
        if written is not None and written < 2000:  # two digits that may be meant for a day
            years = [year for year in soon if year == 2000 + written]
        days = tuple(filter(None, (_days(year, month, day) for year in years)))
        if days:
            yield days


def _days(year: int, month: int, day: int | None) -> DaySpan | None:
    """Return the matching day of a month, or all its days; None if there is no such day."""
    if not 2000 <= year <= 2099:
        return None
    length = monthrange(year, month)[1]
    if day is None:
        return date(year, month, 1), date(year, month, length)
    return (date(year, month, day), date(year, month, day)) if 1 <= day <= length else None
