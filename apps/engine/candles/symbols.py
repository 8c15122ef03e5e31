"""The grammar of symbols: `EXCHANGE:CODE`, where the code is a name, a future or an option.

    NSE:RELIANCE                 equity (an index or a commodity looks the same: the instrument
                                 master tells them apart, the form cannot)
    NSE:NIFTY24JANFUT            future: name, two-digit year, month, FUT
    NSE:NIFTY24JAN11FUT          weekly future: a day after the month
    NSE:NIFTY24JAN21500CE        option: an integer strike, then CE (call) or PE (put)
    NSE:NIFTY24JAN0421500CE      weekly option: a day of two digits before the strike

A code that holds two digits and a month must be a whole contract from there on. Strikes have no
leading zero, so `...JAN0421500CE` has one reading; `...JAN1118000CE` has two (strike 1118000, or
day 11 and strike 18000) and `Symbol.readings` gives both, the monthly one first.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from typing import ClassVar, Literal

from apps.engine.errors import EngineError


class InvalidSymbol(EngineError):
    """A text that is not a symbol: the reason, and the readable parts (else None)."""

    def __init__(self, reason: str, exchange: str | None = None, code: str | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.exchange = exchange
        self.code = code


@dataclass(frozen=True, slots=True)
class Symbol:
    """A reading of a symbol.

    `root` is the underlying's name, for an equity the code itself. `year` has four digits, `month`
    is 1 to 12, `day` is None for a monthly contract, whose day of expiry only the instrument master
    knows. `strike` is in rupees.
    """

    EXCHANGES: ClassVar = ("NSE", "BSE", "MCX", "NCDEX")
    MONTHS: ClassVar = (
        *("JAN", "FEB", "MAR", "APR", "MAY", "JUN"),
        *("JUL", "AUG", "SEP", "OCT", "NOV", "DEC"),
    )
    # About twice the longest real contract, and short enough to repeat in errors.
    MAX_LENGTH: ClassVar = 50

    exchange: str
    code: str
    root: str
    type: Literal["equity", "futures", "options"]
    year: int | None = None
    month: int | None = None
    day: int | None = None
    strike: int | None = None
    option_type: Literal["CE", "PE"] | None = None

    def __str__(self) -> str:
        return f"{self.exchange}:{self.code}"

    @staticmethod
    @lru_cache(maxsize=4096)  # a review parses each of its symbols six times, in 10 us
    def parse(text: str) -> Symbol:
        """Return the first reading of `text`. Raises InvalidSymbol."""
        return Symbol.readings(text)[0]

    @staticmethod
    def readings(text: str) -> tuple[Symbol, ...]:
        """Return all readings of `text`, one or two, a monthly contract first. Raises
        InvalidSymbol.
        """
        exchange, code = _split(text)
        dated = _DATED.fullmatch(code)
        if dated is None:
            _refuse_broken_contract(exchange, code)
            return (Symbol(exchange, code, code, "equity"),)
        if _FOUR_DIGIT_YEAR.search(code):
            raise InvalidSymbol("The year of a contract has two digits.", exchange, code)
        if not dated["root"]:
            raise InvalidSymbol(
                "A contract starts with the name of its underlying.", exchange, code
            )
        contracts = _contracts(exchange, code, dated)
        if not contracts:
            raise InvalidSymbol(_why_no_contract(dated), exchange, code)
        return contracts


_MONTH = "|".join(Symbol.MONTHS)
_CODE = re.compile(r"[A-Z0-9]+")
_DATED = re.compile(rf"(?P<root>.*?)(?P<year>[0-9]{{2}})(?P<month>{_MONTH})(?P<tail>.*)")
_FOUR_DIGIT_YEAR = re.compile(rf"(?:19|20)[0-9]{{2}}(?:{_MONTH})")
_FUTURE = re.compile(r"([0-9]{2})?FUT")
_MONTHLY_OPTION = re.compile(r"([1-9][0-9]*)(CE|PE)")
_WEEKLY_OPTION = re.compile(r"([0-9]{2})([1-9][0-9]*)(CE|PE)")
_WRONG_MONTH = re.compile(r".*[0-9]{2}(?P<month>[A-Z]{3})(?:(?:[0-9]{2})?FUT|[0-9]+(?:CE|PE))")
_NO_DATE = re.compile(r".*[0-9](?:FUT|CE|PE)")


def _split(text: str) -> tuple[str, str]:
    exchange, colon, code = text.partition(":")
    known_exchange = exchange if exchange in Symbol.EXCHANGES else None
    known_code = code if len(text) <= Symbol.MAX_LENGTH and _CODE.fullmatch(code) else None
    reason = _why_no_pair(text, colon, exchange, code)
    if reason or known_exchange is None or known_code is None:
        raise InvalidSymbol(reason, known_exchange, known_code)
    return known_exchange, known_code


def _why_no_pair(text: str, colon: str, exchange: str, code: str) -> str:
    if len(text) > Symbol.MAX_LENGTH:
        return f"A symbol has at most {Symbol.MAX_LENGTH} characters."
    if not colon:
        return "A symbol has the form EXCHANGE:SYMBOL; the colon is missing."
    if exchange not in Symbol.EXCHANGES:
        return f"The exchange must be one of {', '.join(Symbol.EXCHANGES)}, in capitals."
    if not code:
        return "Nothing follows the exchange."
    if not _CODE.fullmatch(code):
        return "After the colon only the capitals A to Z and the digits 0 to 9 are allowed."
    return ""


def _refuse_broken_contract(exchange: str, code: str) -> None:
    wrong = _WRONG_MONTH.fullmatch(code)
    if wrong:
        raise InvalidSymbol(f"{wrong['month']} is not a month (JAN to DEC).", exchange, code)
    if _NO_DATE.fullmatch(code):
        raise InvalidSymbol("A contract needs a two-digit year and a month.", exchange, code)


def _contracts(exchange: str, code: str, dated: re.Match[str]) -> tuple[Symbol, ...]:
    year, month = 2000 + int(dated["year"]), Symbol.MONTHS.index(dated["month"]) + 1
    root, tail = dated["root"], dated["tail"]
    future = _FUTURE.fullmatch(tail)
    if future:
        day = _day(year, month, future[1])
        if future[1] and day is None:
            return ()
        return (Symbol(exchange, code, root, "futures", year, month, day),)
    return tuple(
        Symbol(exchange, code, root, "options", year, month, day, int(strike), option_type)
        for day, strike, option_type in _options(year, month, tail)
    )


def _options(year: int, month: int, tail: str) -> list[tuple[int | None, str, Literal["CE", "PE"]]]:
    """Return (day, strike, option type) of each reading of the text after the month."""
    readings: list[tuple[int | None, str, Literal["CE", "PE"]]] = []
    monthly = _MONTHLY_OPTION.fullmatch(tail)
    weekly = _WEEKLY_OPTION.fullmatch(tail)
    option_type: Literal["CE", "PE"] = "CE" if tail.endswith("CE") else "PE"
    if monthly:
        readings.append((None, monthly[1], option_type))
    if weekly and (day := _day(year, month, weekly[1])):
        readings.append((day, weekly[2], option_type))
    return readings


def _day(year: int, month: int, digits: str | None) -> int | None:
    """Return the day of the month, if the digits make a real date."""
    try:
        return date(year, month, int(digits or 0)).day
    except ValueError:
        return None


def _why_no_contract(dated: re.Match[str]) -> str:
    tail = dated["tail"]
    if re.fullmatch(r"[0-9]{2}FUT", tail):
        return f"{tail[:2]} {dated['month']} {dated['year']} is not a date."
    return (
        f"After {dated['year']}{dated['month']} comes FUT, or a strike without decimals and leading"
        " zeros and then CE or PE; before them may stand a day of two digits."
    )
