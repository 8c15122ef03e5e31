"""Fields of symbols: a search, the stored candles of each symbol, and fixes of mistakes."""

import re
from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.console.editing.symbols import replace_symbol
from apps.symbols.services import seed_sample
from tests import make
from tests.console.conftest import Browse
from tests.console.forms import HOSTILE_TEXTS
from tests.console.test_schema_forms import sent_by
from tests.market.bars import at, flat_candles, rising_minutes, store_candles

pytestmark = pytest.mark.django_db
FIELD = "basicInfo.symbols"
OPERAND = "entryConditions.conditions[0].indicator1"


@pytest.fixture(scope="module")
def data(kept: None) -> None:
    seed_sample()
    store_candles("NSE:SBIN", "1d", flat_candles([at(f"2024-01-{day} 00:00") for day in (18, 23)]))
    store_candles("NSE:RELIANCE", "1m", rising_minutes("2024-01-31 09:15", 375))
    store_candles("NSE:RELIANCE", "1d", flat_candles([at("2024-01-31 00:00")]))


@pytest.fixture
def client(browse: Browse, alice: User, data: None) -> Client:
    return browse(alice)


def choices(client: Client, text: str) -> list[tuple[str, str]]:
    """Return the value of each button for a typed text, with the candles beside it."""
    page = client.get("/app/symbols", {"field": FIELD, FIELD: text}).content.decode()
    rows = re.findall(r'value="symbol:([^"]*)".*?muted">([^<]*)<', page, re.DOTALL)
    return [(change.replace("&gt;", ">"), stored) for change, stored in rows]


def test_an_empty_field_offers_symbols_with_candles(client: Client) -> None:
    assert choices(client, "") == [
        (
            f"{FIELD}=>NSE:RELIANCE",
            "1m, 31 Jan 2024 to 31 Jan 2024, 375 candles · "
            "1d, 31 Jan 2024 to 31 Jan 2024, 1 candles",
        ),
        (f"{FIELD}=>NSE:SBIN", "1d, 18 Jan 2024 to 23 Jan 2024, 2 candles"),
    ]


def test_names_are_searched_and_those_with_candles_come_first(client: Client) -> None:
    rows = choices(client, "NSE:RELIANCE, state bank")
    assert [change for change, _ in rows[:2]] == [
        f"{FIELD}=NSE:RELIANCE>",
        f"{FIELD}=STATE BANK>NSE:SBIN",
    ]
    assert "2 candles" in rows[1][1]
    assert (f"{FIELD}=STATE BANK>BSE:SBIN", "no candles stored") in rows
    assert choices(client, "qqqqqq") == []


def test_a_mistyped_symbol_has_its_replacement_beside_it(client: Client) -> None:
    assert [change for change, _ in choices(client, "NSE:RELIANSE")][:2] == [
        f"{FIELD}=NSE:RELIANSE>",
        f"{FIELD}=NSE:RELIANSE>NSE:RELIANCE",
    ]


@pytest.mark.parametrize(
    ("typed", "pair", "text"),
    [
        ("", ">NSE:SBIN", "NSE:SBIN"),
        ("NSE:TCS, state bank", "STATE BANK>NSE:SBIN", "NSE:TCS, NSE:SBIN"),
        ("NSE:TCX, NSE:INFY", "NSE:TCX>NSE:TCS", "NSE:TCS, NSE:INFY"),
        ("NSE:TCS, NSE:INFY", "NSE:TCS>", "NSE:INFY"),
        ("nse:tcs", "A>B>NSE:SBIN", "NSE:TCS, NSE:SBIN"),
    ],
)
def test_a_button_replaces_adds_or_removes_a_symbol(typed: str, pair: str, text: str) -> None:
    assert replace_symbol({FIELD: typed}, f"symbol:{FIELD}={pair}") == {FIELD: text}


def test_the_buttons_work_in_the_form(client: Client, alice: User) -> None:
    algorithm = make.algorithm(alice, **make.steps())
    address, form = f"/app/algorithms/{algorithm.pk}/steps", sent_by(algorithm.configuration)

    def value_after(change: str, path: str) -> Any:
        page = client.post(address, {**form, "change": f"symbol:{change}"}).content.decode()
        field = re.search(rf'name="{re.escape(path)}" value="([^"]*)"', page)
        return field and field[1]

    assert value_after(f"{FIELD}=NSE:NIFTY>NSE:SBIN", FIELD) == "NSE:SBIN"
    assert value_after(f"{OPERAND}.on=>NSE:SBIN", f"{OPERAND}.on") == "NSE:SBIN"


def test_any_text_is_searched(client: Client) -> None:
    for text in (*HOSTILE_TEXTS, "A>B=C", "x" * 5_000, "a, " * 500):
        page = client.get("/app/symbols", {"field": FIELD, FIELD: text})
        assert page.status_code == 200
        assert text not in page.content.decode()
