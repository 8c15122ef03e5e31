"""The calendar of a segment: the hours of each date, and its trading days."""

from datetime import date

import numpy as np
import pytest

from apps.engine.candles.sessions import InvalidSessions, Override, Regime, Sessions, in_session

NINE_FIFTEEN, HALF_PAST_THREE = 9 * 3600 + 900, 15 * 3600 + 1800


def day(text: str) -> int:
    return (date.fromisoformat(text) - date(1970, 1, 1)).days


def days(*texts: str) -> np.ndarray:
    return np.array([day(text) for text in texts], dtype=np.int32)


def in_kolkata(text: str, seconds: int) -> int:
    return day(text) * 86400 - 19800 + seconds


CASH = Sessions.build(
    [
        Regime(day("2026-08-03"), day("2030-12-31"), NINE_FIFTEEN, 15 * 3600 + 900),
        Regime(day("2010-10-18"), day("2026-08-02"), NINE_FIFTEEN, HALF_PAST_THREE),
    ],
    [
        Override(day("2024-01-22")),
        Override(day("2024-11-01"), 18 * 3600, 19 * 3600),
        Override(day("2024-03-02"), NINE_FIFTEEN, 12 * 3600 + 1800),
    ],
)


def test_the_hours_of_a_date_come_from_its_regime() -> None:
    opens, closes = CASH.hours(days("2010-10-18", "2026-07-31", "2026-08-03"))
    assert opens.tolist() == [
        in_kolkata(text, NINE_FIFTEEN) for text in ("2010-10-18", "2026-07-31", "2026-08-03")
    ]
    assert closes.tolist() == [
        in_kolkata("2010-10-18", HALF_PAST_THREE),
        in_kolkata("2026-07-31", HALF_PAST_THREE),
        in_kolkata("2026-08-03", 15 * 3600 + 900),
    ]


def test_a_date_that_no_regime_covers_has_no_hours() -> None:
    for column in CASH.hours(days("2010-10-17", "2031-01-01")):
        assert column.tolist() == [-1, -1]
    assert CASH.is_session(days("2010-10-15", "2031-01-01")).tolist() == [False, False]


def test_a_weekend_has_hours_but_no_session() -> None:
    saturday = days("2024-01-20")
    assert CASH.hours(saturday)[0].tolist() == [in_kolkata("2024-01-20", NINE_FIFTEEN)]
    assert not CASH.is_session(saturday)[0]


def test_weekdays_are_sessions_unless_an_override_closes_them() -> None:
    week = days("2024-01-15", "2024-01-19", "2024-01-20", "2024-01-21", "2024-01-22")
    assert CASH.is_session(week).tolist() == [True, True, False, False, False]


def test_a_holiday_keeps_the_hours_of_its_regime() -> None:
    assert CASH.hours(days("2024-01-22"))[1].tolist() == [in_kolkata("2024-01-22", HALF_PAST_THREE)]


def test_a_special_session_has_its_own_hours_on_any_weekday() -> None:
    special = days("2024-11-01", "2024-03-02")
    opens, closes = CASH.hours(special)
    assert opens.tolist() == [
        in_kolkata("2024-11-01", 18 * 3600),
        in_kolkata("2024-03-02", NINE_FIFTEEN),
    ]
    assert closes[1] == in_kolkata("2024-03-02", 12 * 3600 + 1800)
    assert CASH.is_session(special).all()


def test_a_regime_lists_its_trading_weekdays() -> None:
    every_day = Sessions.build([Regime(0, 30_000, 0, 86400, 0b1111111)])
    assert every_day.is_session(np.arange(7, dtype=np.int32)).all()


def test_a_calendar_may_be_empty() -> None:
    empty = Sessions.build([])
    assert empty.hours(days("2024-01-01"))[0].tolist() == [-1]
    assert not empty.is_session(days("2024-01-01"))[0]


def test_two_regimes_on_one_day_are_refused() -> None:
    with pytest.raises(InvalidSessions, match="day 10"):
        Sessions.build([Regime(0, 10, 0, 100), Regime(10, 20, 0, 100)])


@pytest.mark.parametrize(("opens", "closes"), [(100, 100), (200, 100), (-1, 100), (0, 86401)])
def test_invalid_hours_are_refused(opens: int, closes: int) -> None:
    with pytest.raises(InvalidSessions):
        Sessions.build([Regime(0, 10, opens, closes)])
    with pytest.raises(InvalidSessions):
        Sessions.build([], [Override(5, opens, closes)])


def test_a_close_is_certain_in_listed_years_and_on_days_with_known_hours() -> None:
    """The days of 1970 to 1971 are a regular one, a holiday, a session at unknown hours, and next
    year's.
    """
    overrides = [Override(5), Override(6, known=False), Override(8, 36000, 39600)]
    sessions = Sessions.build([Regime(0, 900, 33300, 55800)], overrides, years=[1970])
    day = np.array([4, 5, 6, 8, 365], np.int32)
    assert (sessions.certain_closes(day) >= 0).tolist() == [True, True, False, True, False]
    assert sessions.is_session(day[:4]).tolist() == [True, False, True, True]


MUHURAT_OF_UNKNOWN_HOURS = Override(day("2023-11-12"), known=False)


@pytest.mark.parametrize(
    ("timeframe", "bars"),
    [
        (
            "1m",
            {
                "2024-01-01 09:14": False,
                "2024-01-01 09:15": True,
                "2024-01-01 15:29": True,
                "2024-01-01 15:30": False,
            },
        ),
        (
            "1h",
            {
                "2024-01-01 08:15": False,
                "2024-01-01 09:00": True,
                "2024-01-01 15:15": True,
                "2024-01-01 15:30": False,
            },
        ),
        ("5m", {"2024-01-22 11:00": False, "2024-01-23 11:00": True}),  # a listed holiday
        ("5m", {"2024-11-01 09:15": False, "2024-11-01 18:00": True, "2024-11-01 19:00": False}),
        ("5m", {"2024-01-20 09:10": False, "2024-01-20 09:15": True}),  # an unlisted Saturday
        ("5m", {"2023-11-12 11:00": True, "2023-11-12 18:00": True}),  # nobody knows the hours
        ("5m", {"2009-06-01 03:00": True}),  # no regime covers the date
        ("1d", {"2024-01-20 00:00": True, "2024-01-22 00:00": True}),
        ("1w", {"2024-01-22 00:00": True}),
    ],
)
def test_rule_9_a_bar_is_in_session_if_any_moment_of_it_is(
    timeframe: str, bars: dict[str, bool]
) -> None:
    listed = [
        Override(int(n), int(opens), int(closes)) if opens >= 0 else Override(int(n))
        for n, opens, closes in zip(
            CASH.override_day, CASH.override_opens, CASH.override_closes, strict=True
        )
    ]
    hours = [Regime(day("2010-10-18"), day("2026-08-02"), NINE_FIFTEEN, HALF_PAST_THREE)]
    calendar = Sessions.build(hours, [*listed, MUHURAT_OF_UNKNOWN_HOURS])
    time = np.array(
        [in_kolkata(text[:10], int(text[11:13]) * 3600 + int(text[14:]) * 60) for text in bars]
    )
    assert in_session(time, timeframe, calendar).tolist() == list(bars.values())
    assert in_session(time, timeframe, None).all()
    assert not len(in_session(time[:0], timeframe, calendar))
