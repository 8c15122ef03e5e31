"""The trading days and hours of real years, and days that differ."""

import csv
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from apps.core.times import INDIA, day_number, midnight
from apps.engine.candles import IST
from apps.engine.candles.sessions import Sessions
from apps.engine.kernel.codes import AFTER_SQUARE_OFF, LAST_OF_SESSION
from apps.engine.simulation.plan import Contract, square_off_flags
from apps.market.importers import read_candle_files
from apps.market.rulebook.files.rows import Exchange, Market
from apps.market.rulebook.files.rule_set import bundled_rule_set
from apps.market.rulebook.sessions import (
    MARKETS,
    SessionDay,
    day_of,
    is_open,
    market_sessions,
    sessions_of,
)
from tests.engine.strategies import strategy

BOOK = bundled_rule_set()
DAY = timedelta(days=1)


def rows_of(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / name).open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def said_of(exchange: Exchange, market: Market, day: str) -> SessionDay:
    return day_of(BOOK, exchange, market, date.fromisoformat(day))


def day_text(exchange: Exchange, market: Market, day: str) -> str:
    """Return the day as one line: kind, then each phase with its hours."""
    session_day = said_of(exchange, market, day)
    windows = [
        f"{phase} {opens:%H:%M}-{closes:%H:%M}" for phase, opens, closes in session_day.phases
    ]
    return ", ".join([session_day.kind, *windows])


def is_session(sessions: Sessions, day: date) -> bool:
    return bool(sessions.is_session(np.array([day_number(day)], np.int32))[0])


def test_every_day_of_seven_real_years_of_nse_is_right(market_data: Path) -> None:
    """1,710 sessions.

    The store they come from has gaps that are not faults of the rulebook: before 2019-10-01, and
    two days it names itself.
    """
    held = {
        date.fromisoformat(row["date"]) for row in rows_of(market_data, "nse_sessions_2019-26.csv")
    }
    gaps = {
        date.fromisoformat(row["date"])
        for row in rows_of(market_data, "nse_weekday_closures_2019-26.csv")
        if row["source_gap"] == "1"
    }
    assert len(held) == 1710
    first, last = date(2019, 10, 1), max(held)
    span = [first + timedelta(days=n) for n in range((last - first).days + 1)]
    sessions = sessions_of("NSE:RELIANCE")
    wrong = [d for d in span if is_session(sessions, d) != (d in held) and d not in gaps]
    assert wrong == []
    assert all(is_session(sessions, d) for d in held | gaps)


def test_the_kinds_of_the_real_sessions_agree(market_data: Path) -> None:
    expected = {"regular": "regular", "weekend_special": "special", "muhurat": "special"}
    interrupted = {"2021-02-24"}
    for row in rows_of(market_data, "nse_sessions_2019-26.csv"):
        if row["date"] not in interrupted:
            session_day = said_of("NSE", "other_shares", row["date"])
            assert session_day.kind == expected[row["kind"]], row


def test_the_holidays_of_2026_agree_with_the_circulars(market_data: Path) -> None:
    session = {("closed", "closed"): "holiday", ("special", "special"): "special"}
    for row in rows_of(market_data, "in_holidays_2026.csv"):
        exchange, commodity = row["exchange"].removesuffix("_COM"), row["segment"][:4] == "comm"
        market: tuple[Exchange, Market] = (
            ("MCX", "non_agri")
            if commodity
            else ("NSE" if exchange == "NSE" else "BSE", "derivatives")
        )
        halves = row["morning_0900_1700_or_day"], row["evening_1700_close"]
        assert said_of(*market, row["date"]).kind == session.get(halves, "partial"), row


SESSION_TIMES: dict[str, tuple[Exchange, Market, str]] = {
    "equity 2026-01-01..2026-08-02": ("NSE", "shares_with_derivatives", "2026-06-01"),
    "equity from 2026-08-03": ("BSE", "shares_with_derivatives", "2026-08-03"),
    "equity_derivatives to 2026-08-02": ("NSE", "derivatives", "2026-07-31"),
    "equity_derivatives from 2026-08-03": ("BSE", "derivatives", "2026-08-03"),
    "equity 2009 data": ("NSE", "other_shares", "2009-06-01"),
    "commodity_derivatives 2026": ("MCX", "non_agri", "2026-06-01"),
    "energy options 2025-06": ("MCX", "non_agri", "2025-06-03"),
    "equity muhurat 2024-11-01": ("NSE", "other_shares", "2024-11-01"),
    "equity muhurat 2025-10-21": ("NSE", "other_shares", "2025-10-21"),
    "equity special Saturday 2024-03-02 and 2024-05-18": ("NSE", "other_shares", "2024-05-18"),
}


def test_the_session_times_gathered_elsewhere_agree(market_data: Path) -> None:
    for row in rows_of(market_data, "in_session_times.csv"):
        market_day = SESSION_TIMES[f"{row['segment']} {row['valid']}"]
        windows = [w for w in said_of(*market_day).phases if w.phase == "continuous"]
        closes = row["close_ist"].partition("/")[0]
        hours = f"{windows[0].opens:%H:%M}", f"{windows[-1].closes:%H:%M}"
        assert hours == (row["open_ist"], closes), row


@pytest.mark.parametrize(
    ("exchange", "market", "day", "expected"),
    [
        (
            "NSE",
            "shares_with_derivatives",
            "2026-07-31",
            "regular, pre_open 09:00-09:08, continuous 09:15-15:30, post_close 15:40-16:00",
        ),
        (
            "NSE",
            "shares_with_derivatives",
            "2026-08-03",
            "regular, pre_open 09:00-09:08, continuous 09:15-15:15, closing_auction 15:15-15:35,"
            " post_close 15:50-16:00",
        ),
        (
            "BSE",
            "other_shares",
            "2026-09-07",
            "regular, pre_open 09:00-09:10, continuous 09:15-15:30, post_close 15:50-16:00",
        ),
        (
            "NSE",
            "derivatives",
            "2026-08-03",
            "regular, pre_open 09:00-09:08, continuous 09:15-15:40",
        ),
        ("NSE", "derivatives", "2025-12-05", "regular, continuous 09:15-15:30"),
        (
            "NSE",
            "shares_with_derivatives",
            "2026-12-07",
            "regular, pre_open 09:00-09:10, continuous 09:15-15:30, closing_auction 15:30-15:40,"
            " post_close 15:50-16:00",
        ),
        ("NSE", "other_shares", "2024-11-01", "special, continuous 18:00-19:00"),
        ("NSE", "derivatives", "2025-10-21", "special, continuous 13:45-14:45"),
        (
            "NSE",
            "other_shares",
            "2024-03-02",
            "special, continuous 09:15-10:00, continuous 11:30-12:30",
        ),
        (
            "NSE",
            "derivatives",
            "2026-02-01",
            "special, pre_open 09:00-09:08, continuous 09:15-15:30",
        ),
        ("NSE", "other_shares", "2026-01-26", "holiday"),
        ("NSE", "other_shares", "2026-01-24", "weekend"),
        ("NSE", "other_shares", "2026-11-08", "special"),
        ("NSE", "other_shares", "2027-01-05", "unknown"),
        ("MCX", "non_agri", "2026-11-02", "regular, continuous 09:00-23:55"),
        ("MCX", "non_agri", "2026-10-30", "regular, continuous 09:00-23:30"),
        ("MCX", "non_agri", "2024-03-11", "regular, continuous 09:00-23:30"),
        ("MCX", "non_agri", "2026-03-03", "partial, continuous 17:00-23:55"),
        ("MCX", "non_agri", "2026-05-01", "partial, continuous 17:00-23:30"),
        ("MCX", "agri_global", "2026-03-03", "partial, continuous 17:00-21:00"),
        ("MCX", "agri", "2026-03-03", "holiday"),
        ("MCX", "non_agri", "2026-01-01", "partial, continuous 09:00-17:00"),
        ("MCX", "non_agri", "2026-02-01", "partial, continuous 09:00-17:00"),
        ("NCDEX", "agri", "2026-01-26", "holiday"),
        ("MCX", "non_agri", "2019-06-03", "unknown"),
    ],
)
def test_a_day_in_its_phases(exchange: Exchange, market: Market, day: str, expected: str) -> None:
    assert day_text(exchange, market, day) == expected


def test_the_engine_has_one_session_a_day_from_the_first_opening_to_the_last_close() -> None:
    day = date(2024, 3, 2)
    opens, closes = market_sessions(BOOK, "NSE", "other_shares").hours(
        np.array([day_number(day)], np.int32)
    )
    assert (closes - opens).tolist() == [(3 * 60 + 15) * 60]


@pytest.mark.parametrize(
    ("symbol", "day", "certain"),
    [
        ("NSE:SBIN", "2024-01-25", True),
        ("NSE:SBIN", "2024-01-26", True),
        ("NSE:SBIN", "2026-11-08", False),
        ("NSE:SBIN", "2027-01-05", False),
        ("NSE:SBIN", "2008-06-02", False),
        ("MCX:GOLD26FEBFUT", "2025-06-02", True),
        ("MCX:GOLD19FEBFUT", "2019-01-02", False),
    ],
)
def test_a_close_is_certain_only_in_a_year_with_listed_holidays(
    symbol: str, day: str, certain: bool
) -> None:
    number = np.array([day_number(date.fromisoformat(day))], np.int32)
    assert (sessions_of(symbol).certain_closes(number)[0] >= 0) == certain


def test_every_market_of_an_exchange_has_hours_today() -> None:
    for exchange, markets in MARKETS.items():
        for market in markets:
            assert said_of(exchange, market, "2026-11-20").kind == "regular", (exchange, market)


def test_a_share_without_derivatives_trades_on_while_the_others_are_in_their_auction() -> None:
    number = np.array([day_number(date(2026, 8, 3))], np.int32)
    sooner, later = (
        sessions_of("NSE:SBIN", has_derivatives=has).hours(number)[1][0] for has in (True, False)
    )
    assert later - sooner == 15 * 60


class Ending(NamedTuple):
    """A real day of a file: its first bar after the square-off, and the last of its session."""

    file: str
    symbol: str
    timeframe: str
    day: date
    late: str
    last: str


@pytest.mark.parametrize(
    "ending",
    [
        Ending("INFY_1m_2024-25.parquet", "NSE:INFY", "1m", date(2024, 11, 1), "18:45", "18:59"),
        Ending("BHEL_5m_2025-26.parquet", "NSE:BHEL", "5m", date(2025, 10, 21), "14:30", "14:40"),
        Ending("NIFTY_1m_2024.csv.gz", "NSE:NIFTY", "1m", date(2024, 3, 2), "12:15", "12:29"),
        Ending(
            "mcx_CRUDEOIL_opt_1m_2025-06.csv.gz",
            "MCX:CRUDEOIL25JUL6000PE",
            "1m",
            date(2025, 6, 17),
            "23:15",
            "23:29",
        ),
    ],
    ids=lambda ending: ending.symbol,
)
def test_positions_end_with_the_sessions_of_real_files(market_data: Path, ending: Ending) -> None:
    """The files have an hour of muhurat in the evening, one in the afternoon, a Saturday in two
    parts, an evening of commodities.
    """
    (loaded,) = read_candle_files(market_data / ending.file)
    bars = next(part.candles for part in loaded.instruments if part.symbol == ending.symbol)
    bars = bars.between(midnight(ending.day), midnight(ending.day + DAY))
    intraday = strategy(
        basicInfo={"symbols": [ending.symbol], "timeframe": ending.timeframe},
        executionSettings={"productType": "intraday"},
    )
    flags = square_off_flags(intraday, ending.symbol, bars, sessions_of(ending.symbol), Contract())
    clock = (bars.time + IST).astype("M8[s]").astype(str)
    closings = [
        str(clock[flags & bit > 0][0])[11:16] for bit in (AFTER_SQUARE_OFF, LAST_OF_SESSION)
    ]
    assert closings == [ending.late, ending.last]


@pytest.mark.parametrize(
    ("moment", "expected"),
    [
        ("2026-06-29 09:14:59", False),
        ("2026-06-29 09:15", True),
        ("2026-06-29 15:29:59", True),
        ("2026-06-29 15:30", False),
        ("2026-06-28 11:00", False),  # a Sunday
        ("2026-01-26 11:00", False),  # Republic Day
    ],
)
def test_a_market_is_open_while_it_trades_continuously(moment: str, expected: bool) -> None:
    at = datetime.fromisoformat(moment).replace(tzinfo=INDIA)
    assert is_open(BOOK, "NSE", "other_shares", at) is expected
