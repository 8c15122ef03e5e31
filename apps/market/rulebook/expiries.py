"""The expiry of contracts: from an instrument master, else from their name and the exchanges'
rules.

A weekly contract's name has its date. A monthly contract expires on the last of a weekday of its
month or, if that is a holiday, on the session before.
"""

from calendar import FRIDAY, MONDAY, THURSDAY, TUESDAY, WEDNESDAY, monthrange
from datetime import date
from typing import Final, NamedTuple

import numpy as np

from apps.core.times import day_number
from apps.engine.candles import Sessions, Symbol, day_start


class MonthlyRule(NamedTuple):
    """The weekday of monthly expiries of an exchange from a month on.

    `root` is an underlying, "" for all. With a weekday of None the day differs from contract to
    contract, and the last session of the month is the latest possible one.
    """

    exchange: str
    root: str
    first: tuple[int, int]
    weekday: int | None
    source: str


_NSE_2025: Final = "SEBI circular of 2025-05-26: one expiry weekday an exchange, NSE's Tuesday"
_BSE_2025: Final = "SEBI circular of 2025-05-26: one expiry weekday an exchange, BSE's Thursday"
_RELAUNCH: Final = "BSE, relaunch of 2023-05-15"
_BSE_JANUARY: Final = "BSE circular of 2024-11-28"

# In order of time for each exchange. MCX and NCDEX are not listed: each commodity has its own day.
MONTHLY: Final = (
    MonthlyRule("NSE", "", (2000, 6), THURSDAY, "NSE contract specifications"),
    MonthlyRule("NSE", "FINNIFTY", (2021, 10), TUESDAY, "NSE, from 2021-10-14 on"),
    MonthlyRule("NSE", "MIDCPNIFTY", (2022, 1), None, "NSE: Tuesday, later Wednesday"),
    MonthlyRule("NSE", "MIDCPNIFTY", (2023, 8), MONDAY, "NSE, from 2023-08-16 on"),
    MonthlyRule("NSE", "BANKNIFTY", (2024, 3), WEDNESDAY, "NSE, from 2024-03-01 on"),
    MonthlyRule("NSE", "NIFTYNXT50", (2024, 4), FRIDAY, "NSE, launch of 2024-04-24"),
    MonthlyRule("NSE", "", (2025, 1), THURSDAY, "NSE circular of 2024-11-29: all on one day"),
    MonthlyRule("NSE", "", (2025, 9), TUESDAY, _NSE_2025),
    MonthlyRule("BSE", "", (2000, 6), None, "BSE: not the same for all"),
    MonthlyRule("BSE", "SENSEX", (2023, 5), FRIDAY, _RELAUNCH),
    MonthlyRule("BSE", "BANKEX", (2023, 5), FRIDAY, _RELAUNCH),
    MonthlyRule("BSE", "BANKEX", (2023, 10), MONDAY, "BSE circular of 2023-08-30"),
    MonthlyRule("BSE", "SENSEX50", (2023, 5), THURSDAY, _BSE_JANUARY + ", of what was before"),
    MonthlyRule("BSE", "SENSEX", (2025, 1), TUESDAY, _BSE_JANUARY),
    MonthlyRule("BSE", "BANKEX", (2025, 1), TUESDAY, _BSE_JANUARY),
    MonthlyRule("BSE", "SENSEX50", (2025, 1), TUESDAY, _BSE_JANUARY),
    MonthlyRule("BSE", "", (2025, 9), THURSDAY, _BSE_2025),
)


def expiry_of(contract: Symbol, calendar: Sessions, *, listed: date | None = None) -> date | None:
    """Return the date of a contract's last session, None if it does not expire.

    A date listed by a master takes precedence over the name. A holiday that the calendar does not
    list yet counts as a session.
    """
    if listed is not None:
        return listed
    if contract.year is None or contract.month is None:
        return None
    if contract.day is not None:
        return date(contract.year, contract.month, contract.day)
    last = date(contract.year, contract.month, monthrange(contract.year, contract.month)[1])
    weekday = _weekday_of(contract)
    days = day_number(last) - np.arange(28, dtype=np.int32)
    if weekday is not None:
        days = days[(last.weekday() - weekday) % 7 :]
    sessions = days[calendar.is_session(days)]
    expiry = int(sessions[0]) if len(sessions) else int(days[0])
    return date.fromordinal(last.toordinal() + expiry - day_number(last))


def close_of(day: date, calendar: Sessions) -> int:
    """Return the close of a date's session in epoch seconds; without one, the end of the date."""
    number = np.array([day_number(day)], np.int32)
    close = int(calendar.hours(number)[1][0])
    return close if close >= 0 else int(day_start(number + 1)[0])


def monthly_expiries(
    underlying: Symbol, calendar: Sessions, *, first: date, last: date
) -> set[date]:
    """Return the dates of monthly expiries of an underlying, if the rules give them."""
    months = range(first.year * 12 + first.month - 1, last.year * 12 + last.month)
    contracts = (
        Symbol(underlying.exchange, "", underlying.root, "futures", month // 12, month % 12 + 1)
        for month in months
    )
    expiries = (expiry_of(form, calendar) for form in contracts if _weekday_of(form) is not None)
    return {expiry for expiry in expiries if expiry is not None and first <= expiry <= last}


def _weekday_of(contract: Symbol) -> int | None:
    assert contract.year is not None
    assert contract.month is not None
    month, weekday = (contract.year, contract.month), None
    for rule in MONTHLY:
        in_force = rule.exchange == contract.exchange and rule.first <= month
        if in_force and rule.root in ("", contract.root):
            weekday = rule.weekday
    return weekday
