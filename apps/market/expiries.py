"""When contracts end: as an instrument master tells, or where none lists them as their names do."""

from collections.abc import Mapping
from datetime import date

from apps.engine.sessions import Sessions
from apps.engine.symbols import parse
from apps.market.rulebook.expiries import expiry_of
from apps.symbols import services as symbols


def expiry_dates(calendars: Mapping[str, Sessions]) -> dict[str, date]:
    """Return the date of the last session of those symbols that expire, by one statement.

    `calendars` are the symbols with their calendars.
    """
    listed = symbols.expiries_of(calendars)
    by_name = {
        symbol: expiry_of(parse(symbol), calendar)
        for symbol, calendar in calendars.items()
        if symbol not in listed
    }
    return listed | {symbol: day for symbol, day in by_name.items() if day is not None}
