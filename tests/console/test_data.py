"""Data: coverage, symbols and their facts, sessions and charges of a date."""

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.symbols.services import seed_sample
from tests.console.conftest import Browse
from tests.console.helpers import CORPUS
from tests.market.bars import at, flat, minutes, store_candles

pytestmark = pytest.mark.django_db


@pytest.fixture
def client(browse: Browse, alice: User) -> Client:
    seed_sample()
    store_candles("NSE:SBIN", "1d", flat([at(f"2024-01-{day} 00:00") for day in (18, 23)]))
    store_candles("NSE:RELIANCE", "1m", minutes("2024-01-31 09:15", 375))
    return browse(alice)


def test_coverage_is_filtered_and_leads_to_the_symbol(client: Client) -> None:
    page = client.get("/app/data").content.decode()
    assert "/app/data/symbols/NSE%3ASBIN" in page
    assert "/app/data/symbols/NSE%3ARELIANCE" in page
    rows = client.get("/app/data?query=sbi&exchange=&timeframe=1d").context["series"].rows
    assert [(row["symbol"], row["missingSessions"]) for row in rows] == [("NSE:SBIN", 2)]
    assert b"No candles are held" in client.get("/app/data?query=nothing").content
    assert client.get("/app/data?timeframe=3m").status_code == 400


def test_a_symbol_is_found_with_its_facts_and_gaps(client: Client) -> None:
    results = client.get("/app/data/symbols?query=state bank").context["results"]
    assert "NSE:SBIN" in [row["symbol"] for row in results]
    page = client.get("/app/data/symbols/NSE:SBIN").content.decode()
    for text in ("Lot size", "Tick size", "2024-01-19 to 2024-01-20, 2 sessions"):
        assert text in page
    assert "Candles without volume" not in page
    page = client.get("/app/data/symbols/NSE:SBIN?timeframe=1d").content.decode()
    assert "Candles without volume" in page


def test_candles_of_a_symbol_that_no_list_has_are_shown(client: Client) -> None:
    store_candles("NSE:NOWHERE", "1d", flat([at("2024-01-18 00:00")]))
    assert b"No list of instruments has it" in client.get("/app/data/symbols/NSE:NOWHERE").content
    assert client.get("/app/data/symbols/NSE:NOTHING").status_code == 404
    assert client.get("/app/data/symbols/nothing").status_code == 400


def test_sessions_and_charges_of_a_date(client: Client) -> None:
    page = client.get("/app/data/rules?exchange=BSE&segment=options&date=2024-06-03")
    text = page.content.decode()
    assert "Continuous 09:15 to 15:30" in text
    assert "0.0495%" in text
    assert "on BANKEX, SENSEX" in text
    assert client.get("/app/data/rules").status_code == 200
    holiday = client.get("/app/data/rules?date=2026-11-10").content.decode()
    assert "holiday" in holiday


@pytest.mark.parametrize(
    ("query", "field"),
    [("segment=agri_options", "segment"), ("date=never", "date"), ("broker=x", "broker")],
)
def test_what_is_wrong_stands_beside_its_field(client: Client, query: str, field: str) -> None:
    page = client.get(f"/app/data/rules?{query}")
    assert page.status_code == 400
    assert f'id="{field}-problem"' in page.content.decode()


@pytest.mark.parametrize("text", CORPUS)
def test_what_is_typed_stays_text(client: Client, text: str) -> None:
    for page in ("/app/data", "/app/data/symbols", "/app/data/rules"):
        names = ("query", "exchange", "date", "request", "serializer")
        for name in names:
            body = client.get(page, {name: text}).content.decode()
            assert text not in body or text.startswith("{{")
