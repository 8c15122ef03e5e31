"""Data: coverage, symbols and their facts, sessions and charges of a date."""

import re
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client

from apps.accounts.models import User
from apps.market.candles import reading
from apps.symbols.models import MasterLoad
from apps.symbols.services import seed_sample
from tests.console.conftest import Browse
from tests.console.forms import HOSTILE_TEXTS
from tests.market.bars import at, flat_candles, rising_minutes, store_candles
from tests.symbols import master_files

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def data(kept: None) -> None:
    seed_sample()
    store_candles("NSE:SBIN", "1d", flat_candles([at(f"2024-01-{day} 00:00") for day in (18, 23)]))
    store_candles("NSE:RELIANCE", "1m", rising_minutes("2024-01-31 09:15", 375))


@pytest.fixture
def client(browse: Browse, alice: User, data: None) -> Client:
    return browse(alice)


def test_coverage_is_filtered_and_leads_to_the_symbol(client: Client) -> None:
    page = client.get("/app/data").content.decode()
    assert "/app/data/symbols/NSE%3ASBIN" in page
    assert "/app/data/symbols/NSE%3ARELIANCE" in page
    rows = client.get("/app/data?query=sbi&exchange=&timeframe=1d").context["series"].rows
    assert [(row["symbol"], row["missingSessions"]) for row in rows] == [("NSE:SBIN", 2)]
    assert b"No candles match" in client.get("/app/data?query=nothing").content
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
    store_candles("NSE:NOWHERE", "1d", flat_candles([at("2024-01-18 00:00")]))
    assert b"Not in an instrument list" in client.get("/app/data/symbols/NSE:NOWHERE").content
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
def test_errors_are_shown_beside_their_fields(client: Client, query: str, field: str) -> None:
    page = client.get(f"/app/data/rules?{query}")
    assert page.status_code == 400
    assert f'id="{field}-problem"' in page.content.decode()


DAYS = b"date,open,high,low,close,volume\n2024-02-01,100,102,99,101,1000\n"


def upload(client: Client, content: bytes, **form: str) -> Any:
    file = SimpleUploadedFile("days.csv", content)
    fields = {"kind": "candles", "symbol": "NSE:SBIN", "timeframe": "1d", "checked": "", **form}
    return client.post("/app/data/upload", {**fields, "file": file}, headers={"HX-Request": "true"})


@pytest.fixture
def operator(client: Client, alice: User) -> Client:
    User.objects.filter(pk=alice.pk).update(is_staff=True)
    return client


def test_a_file_is_checked_and_then_stored(operator: Client) -> None:
    assert b"Check file" in operator.get("/app/data/upload").content
    report = upload(operator, DAYS).content.decode()
    assert "Nothing stored yet" in report
    assert "<html" not in report
    [row] = reading.stored_timeframes("NSE:SBIN")
    assert row["bars"] == 2
    fingerprint = re.search(r'name="checked" value="(\w{64})"', report)
    assert fingerprint is not None
    other = upload(operator, DAYS + b"\n", checked=fingerprint[1])
    assert (other.status_code, b"have changed" in other.content) == (409, True)
    assert upload(operator, DAYS, checked=fingerprint[1])["HX-Redirect"] == "/app/data/upload"
    assert b"Stored: 1 added" in operator.get("/app/data/upload").content
    [row] = reading.stored_timeframes("NSE:SBIN")
    assert row["bars"] == 3


def test_a_tick_lets_a_file_replace_generated_candles(operator: Client) -> None:
    store_candles("NSE:TCS", "1d", flat_candles([at("2024-02-01 00:00")]), synthetic=True)
    assert b'name="replaceSample"' in operator.get("/app/data/upload").content
    refused = upload(operator, DAYS, symbol="NSE:TCS")
    assert refused.status_code == 409
    assert b"NSE:TCS 1d (until 1 February 2024, 00:00 IST)" in refused.content
    report = upload(operator, DAYS, symbol="NSE:TCS", replaceSample="on").content.decode()
    assert "<dt>Removed</dt><dd>1</dd>" in report
    assert b"sample<span" in operator.get("/app/data/symbols/NSE:TCS").content


def test_a_bad_file_is_reported_with_its_line(operator: Client) -> None:
    refused = upload(operator, DAYS + b"2024-02-02,x,1,1,1,1\n")
    assert refused.status_code == 400
    assert b"line 3" in refused.content
    assert b"Nothing was stored" in refused.content
    assert b"is missing or empty" in upload(operator, b"").content
    whole = operator.post("/app/data/upload", {"kind": "master"})
    assert (whole.status_code, b"<html" in whole.content) == (400, True)


def test_a_master_is_checked_and_then_imported(operator: Client) -> None:
    report = upload(operator, master_files.KITE.encode(), kind="master").content.decode()
    assert "Kite (Zerodha)" in report
    fingerprint = re.search(r'name="checked" value="(\w{64})"', report)
    assert fingerprint is not None
    assert not MasterLoad.objects.exists()
    upload(operator, master_files.KITE.encode(), kind="master", checked=fingerprint[1])
    assert MasterLoad.objects.exists()


def test_files_are_for_operators(client: Client) -> None:
    assert client.get("/app/data/upload").status_code == 403
    assert upload(client, DAYS).status_code == 403
    assert b"/app/data/upload" not in client.get("/app/data").content


@pytest.mark.parametrize("page", ["/app/data", "/app/data/symbols", "/app/data/rules"])
def test_user_input_stays_text(client: Client, page: str) -> None:
    for text in HOSTILE_TEXTS:
        names = ("query", "exchange", "date", "request", "serializer")
        for name in names:
            body = client.get(page, {name: text}).content.decode()
            assert text not in body or text.startswith("{{")
