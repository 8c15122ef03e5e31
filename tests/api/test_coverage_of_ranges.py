"""The stored share of a range: in results, reports and `validate`, and the refusal of too
little.
"""

from datetime import UTC, datetime
from typing import Any

import pytest
from django.conf import LazySettings

from apps.accounts.models import User
from apps.algorithms.models import Algorithm
from apps.backtests.models import Backtest
from tests import make
from tests.backtests.workers import run_queued
from tests.conftest import Api
from tests.error_responses import assert_error
from tests.market.bars import at, flat_candles, store_candles

pytestmark = pytest.mark.django_db

PATH = "/api/backtests"
MARUTI = "NSE:MARUTI"
WHOLE = {"startDate": "2008-01-01", "endDate": "2026-10-30"}
SESSIONS_OF_2024 = 249
"""Of NSE, Muhurat trading and three Saturdays among them."""


def days(first: str, count: int) -> list[int]:
    """Return midnights of weekdays."""
    dates = (at(f"{first} 00:00") + 86_400 * n for n in range(3 * count))
    return [date for date in dates if (date + 19_800) // 86_400 % 7 not in (2, 3)][:count]


def history(first: str, count: int, symbol: str = MARUTI) -> None:
    store_candles(
        symbol, "1d", flat_candles(days(first, count), [100.0 + n % 5 for n in range(count)])
    )


def daily(owner: User, *symbols: str) -> Algorithm:
    """Return an algorithm that buys above 102 and holds three days."""
    basic = {"strategyType": "swing", "timeframe": "1d", "symbols": [*symbols]}
    above = {
        "type": "indicator_value",
        "indicator": {"type": "PRICE"},
        "operator": "above",
        "value": 102,
    }
    settings = make.steps()["executionSettings"] | {"productType": "delivery"}
    return make.algorithm(
        owner,
        **make.steps(
            basicInfo=basic,
            positionSizing={"method": "fixed_quantity", "quantity": 1},
            entryConditions={"positionType": "long", "conditions": [above]},
            exitConditions={"maxHoldingCandles": 3},
            executionSettings=settings,
        ),
    )


def completed(api: Api, owner: User, body: dict[str, Any]) -> dict[str, Any]:
    answer = api(owner).post(PATH, body)
    assert answer.status_code == 201, answer.content
    run_queued()
    done: dict[str, Any] = api(owner).get(f"{PATH}/{answer.json()['id']}").json()
    assert done["status"] == "completed", done["error"]
    return done


def test_22_bars_of_18_years_are_refused_at_once(api: Api, alice: User) -> None:
    history("2009-03-02", 22)
    answer = api(alice).post(PATH, {"algorithmId": daily(alice, MARUTI).pk, **WHOLE})
    error = assert_error(answer, 422, "INSUFFICIENT_DATA", symbol=MARUTI, heldSessions=20)
    details = error["details"]
    assert details["firstBar"] == "2009-03-01T18:30:00.000Z"
    assert details["lastBar"] == "2009-03-30T18:30:00.000Z"
    assert details["since"] == "2009-03-02"
    assert details["sessionsSince"] > 4000
    assert details["minimumPercentage"] == 5
    assert not Backtest.objects.exists()


def test_a_symbol_without_a_bar_is_refused_with_an_empty_range(api: Api, alice: User) -> None:
    history("2024-01-01", 300)
    algorithm = daily(alice, MARUTI, "NSE:TCS")
    answer = api(alice).post(PATH, {"algorithmId": algorithm.pk, **WHOLE})
    error = assert_error(answer, 422, "INSUFFICIENT_DATA", symbol="NSE:TCS")
    assert (error["details"]["firstBar"], error["details"]["lastBar"]) == (None, None)


def test_the_least_is_a_setting(api: Api, alice: User, settings: LazySettings) -> None:
    history("2024-01-01", 100)
    body = {
        "algorithmId": daily(alice, MARUTI).pk,
        "startDate": "2024-01-01",
        "endDate": "2024-12-31",
    }
    settings.BACKTEST_MIN_COVERAGE = 50
    error = assert_error(api(alice).post(PATH, body), 422, "INSUFFICIENT_DATA")
    assert error["details"]["minimumPercentage"] == 50
    settings.BACKTEST_MIN_COVERAGE = 0
    assert api(alice).post(PATH, body).status_code == 201


def test_little_history_is_warned_of_and_annual_metrics_use_the_stored_days(
    api: Api, alice: User
) -> None:
    """22 bars at the end of 18 years: the complete history since its first day, and 19 sessions."""
    history("2026-10-01", 22)
    done = completed(api, alice, {"algorithmId": daily(alice, MARUTI).pk, **WHOLE})
    (coverage,) = done["receipt"]["coverage"]
    assert coverage["percentage"] < 1
    assert coverage["heldSessions"] == coverage["sessionsSince"] < 22
    assert coverage["sessions"] > 4000
    assert coverage["since"] == "2026-10-01"
    assert coverage["bars"] == 22
    note = done["receipt"]["notes"][0]
    assert note["code"] == "low_coverage"
    assert f"{MARUTI} has bars on {coverage['heldSessions']} of" in note["message"]
    assert "from 2026-10-01 to 2026-10-" in note["message"]
    report = api(alice).get(f"{PATH}/{done['id']}/report").content.decode()
    assert "<td>2026-10-01</td>" in report
    notice = '<p class="notice warning">'
    assert report.index(f"{notice}Low coverage of the range") == report.index(notice)
    assert report.index(notice) < report.index("Verdict:")


def test_a_stored_range_needs_no_warning(api: Api, alice: User) -> None:
    history("2024-01-01", 262)
    span = {"startDate": "2024-01-01", "endDate": "2024-12-31"}
    done = completed(api, alice, {"algorithmId": daily(alice, MARUTI).pk, **span})
    (coverage,) = done["receipt"]["coverage"]
    assert SESSIONS_OF_2024 - 4 <= coverage["heldSessions"] <= coverage["sessions"]
    assert coverage["sessions"] == pytest.approx(SESSIONS_OF_2024, abs=2)
    assert "low_coverage" not in [note["code"] for note in done["receipt"]["notes"]]
    report = api(alice).get(f"{PATH}/{done['id']}/report").content.decode()
    assert (
        f'<td class="lesser">{coverage["heldSessions"]}</td>'
        f'<td class="lesser">{coverage["sessions"]}</td>'
    ) in report


def test_minutes_make_the_sessions_of_longer_candles(api: Api, alice: User) -> None:
    minutes = [date + 33_300 + 60 * n for date in days("2024-01-01", 60) for n in range(30)]
    store_candles(MARUTI, "1m", flat_candles(minutes, [100.0 + n % 7 for n in range(len(minutes))]))
    span = {"startDate": "2024-01-01", "endDate": "2024-03-15"}
    done = completed(api, alice, {"algorithmId": daily(alice, MARUTI).pk, **span})
    (coverage,) = done["receipt"]["coverage"]
    assert coverage["percentage"] > 95


def test_validate_reports_the_stored_history(api: Api, alice: User) -> None:
    history("2024-01-01", 100)
    algorithm = daily(alice, MARUTI, "NSE:TCS")
    path = f"/api/trading/algorithms/{algorithm.pk}/validate"
    held, none = api(alice).post(path).json()["coverage"]
    assert held["symbol"] == MARUTI
    assert held["bars"] == 100
    assert held["firstBar"] == "2023-12-31T18:30:00.000Z"
    assert 0 < held["heldSessions"] < held["sessions"] == held["sessionsSince"]
    assert datetime.fromisoformat(held["lastBar"]) < datetime(2024, 5, 18, tzinfo=UTC)
    assert (none["bars"], none["firstBar"], none["sessions"]) == (0, None, 0)
    draft = make.algorithm(alice)
    path = f"/api/trading/algorithms/{draft.pk}/validate"
    assert api(alice).post(path).json()["coverage"] == []
