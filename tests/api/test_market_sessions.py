"""GET /api/market/sessions"""

from datetime import date
from typing import Any

import pytest
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.market import services
from apps.market.rulebook.files.rule_set import bundled_files
from tests import make
from tests.conftest import Api
from tests.error_responses import assert_error

PATH = "/api/market/sessions"


@pytest.fixture
def client(api: Api, alice: User) -> APIClient:
    return api(alice)


def segments(client: APIClient, exchange: str, day: str) -> dict[str, Any]:
    answer = client.get(PATH, {"exchange": exchange, "date": day})
    assert answer.status_code == 200
    return {segment["segment"]: segment for segment in answer.json()["segments"]}


def test_the_phases_of_each_segment_have_their_sources(client: APIClient) -> None:
    sessions = segments(client, "NSE", "2026-08-03")
    assert list(sessions) == ["shares_with_derivatives", "other_shares", "derivatives"]
    shares = sessions["shares_with_derivatives"]
    assert shares["session"] == "regular"
    assert {"phase": "closing_auction", "opens": "15:15", "closes": "15:35"} in shares["phases"]
    assert any("SEBI circular of 2026-01-16" in row["source"] for row in shares["sources"])


def test_a_special_day_gives_its_reason_and_its_missing_sources(client: APIClient) -> None:
    holiday = segments(client, "BSE", "2026-11-10")["derivatives"]
    assert (holiday["session"], holiday["name"], holiday["phases"]) == (
        "holiday",
        "Diwali-Balipratipada",
        [],
    )
    muhurat = segments(client, "NSE", "2026-11-08")["derivatives"]
    assert (muhurat["session"], muhurat["phases"]) == ("special", [])
    assert muhurat["sources"][0]["unsourced"] == "the hours, which were to be notified"
    morning = segments(client, "MCX", "2026-01-01")["non_agri"]
    assert morning["phases"] == [{"phase": "continuous", "opens": "09:00", "closes": "17:00"}]
    unknown = segments(client, "NSE", "2027-01-04")["derivatives"]
    assert (unknown["session"], unknown["phases"]) == ("unknown", [])
    assert unknown["name"] == "No calendar of NSE for 2027 is loaded."


def test_the_newest_edition_answers(client: APIClient) -> None:
    days = bundled_files()["days.csv"] + "NSE,,2027-01-26,holiday,Republic Day,,,a circular,\n"
    made = services.load_rule_set(files={"days.csv": days}, source="a test", now=make.NOW)
    assert made is not None
    derivatives = segments(client, "NSE", "2027-01-26")["derivatives"]
    assert (derivatives["session"], derivatives["name"]) == ("holiday", "Republic Day")
    answer = client.get(PATH, {"exchange": "NSE", "date": "2027-01-26"}).json()
    assert answer["edition"] == made.sha256


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"date": "2026-08-03"}, "exchange"),
        ({"exchange": "NYSE", "date": "2026-08-03"}, "exchange"),
        ({"exchange": "NSE"}, "date"),
        ({"exchange": "NSE", "date": "2026-02-30"}, "date"),
        ({"exchange": "NSE", "date": "2026-08-03T00:00:00Z"}, "date"),
        ({"exchange": "NSE", "date": "today"}, "date"),
    ],
)
def test_bad_parameters_are_named(client: APIClient, query: dict[str, str], field: str) -> None:
    details = assert_error(client.get(PATH, query), 400, "VALIDATION_ERROR")["details"]
    assert details["field"] == field
    assert ("allowedValues" in details) == (field == "exchange")
    assert details.get("value") == query.get(field)


def test_the_first_and_the_last_dates_there_are_have_an_answer(client: APIClient) -> None:
    for day in (date.min, date.max):
        sessions = segments(client, "MCX", day.isoformat())
        assert {segment["session"] for segment in sessions.values()} <= {"unknown", "weekend"}
