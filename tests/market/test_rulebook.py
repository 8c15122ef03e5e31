"""Hours by exchange, segment and date."""

from datetime import UTC, date, datetime, timedelta

import numpy as np
import pytest

from apps.engine.candles.symbols import InvalidSymbol
from apps.market.rulebook.sessions import sessions_of

EPOCH = date(1970, 1, 1)


def hours(symbol: str, day: str) -> str:
    number = np.array([(date.fromisoformat(day) - EPOCH).days], dtype=np.int32)
    opens, closes = sessions_of(symbol).hours(number)
    if opens[0] < 0:
        return "none"
    return "-".join(
        (datetime.fromtimestamp(int(t[0]), tz=UTC) + timedelta(seconds=19800)).strftime("%H:%M")
        for t in (opens, closes)
    )


@pytest.mark.parametrize(
    ("symbol", "day", "expected"),
    [
        ("NSE:NIFTY", "2009-12-31", "09:55-15:30"),
        ("NSE:NIFTY", "2010-01-04", "09:00-15:30"),
        ("NSE:NIFTY", "2010-10-15", "09:00-15:30"),
        ("NSE:NIFTY", "2010-10-18", "09:15-15:30"),
        ("BSE:SENSEX", "2024-01-01", "09:15-15:30"),
        ("NSE:RELIANCE", "2026-07-31", "09:15-15:30"),
        ("NSE:RELIANCE", "2026-08-03", "09:15-15:15"),
        ("NSE:NIFTY26AUGFUT", "2026-07-31", "09:15-15:30"),
        ("NSE:NIFTY26AUGFUT", "2026-08-03", "09:15-15:40"),
        ("BSE:SENSEX26AUG80000CE", "2026-08-03", "09:15-15:40"),
        ("NSE:RELIANCE", "2008-12-31", "none"),
    ],
)
def test_shares_indices_and_their_derivatives(symbol: str, day: str, expected: str) -> None:
    assert hours(symbol, day) == expected


@pytest.mark.parametrize(
    ("day", "expected"),
    [
        ("2018-12-28", "10:00-23:55"),
        ("2018-12-31", "09:00-23:55"),
        ("2023-11-03", "09:00-23:30"),
        ("2023-11-06", "09:00-23:55"),
        ("2024-03-07", "09:00-23:55"),
        ("2024-03-11", "09:00-23:30"),
        ("2024-11-01", "09:00-23:30"),
        ("2024-11-04", "09:00-23:55"),
    ],
)
def test_metals_and_energy_close_by_the_clocks_of_new_york(day: str, expected: str) -> None:
    assert hours("MCX:CRUDEOIL24MARFUT", day) == expected


@pytest.mark.parametrize(
    ("symbol", "expected"),
    [
        ("MCX:COTTON24MARFUT", "09:00-21:00"),
        ("MCX:MENTHAOIL24MARFUT", "09:00-17:00"),
        ("NCDEX:GUARSEED1024MARFUT", "09:00-17:00"),
        ("NCDEX:KAPAS24MARFUT", "09:00-21:00"),
    ],
)
def test_agricultural_commodities_close_earlier(symbol: str, expected: str) -> None:
    assert hours(symbol, "2024-02-01") == expected


def test_a_weekend_has_hours_and_no_session() -> None:
    saturday = np.array([(date(2024, 1, 13) - EPOCH).days], dtype=np.int32)
    assert hours("NSE:NIFTY", "2024-01-13") == "09:15-15:30"
    assert not sessions_of("NSE:NIFTY").is_session(saturday)[0]


def test_a_malformed_symbol_has_no_hours() -> None:
    with pytest.raises(InvalidSymbol):
        sessions_of("NSE:nifty")
