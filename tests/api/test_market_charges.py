"""GET /api/market/charges"""

from datetime import date
from typing import Any

import pytest
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.symbols.models import Instrument
from apps.symbols.services import seed_sample
from tests.conftest import Api
from tests.error_responses import assert_error
from tests.symbols.instruments import option

PATH = "/api/market/charges"
PUTS = {
    "symbol": "NSE:NIFTY23MAY1118000PE",
    "side": "buy",
    "quantity": "100",
    "price": "1.5",
    "date": "2023-05-10",
    "broker": "discount",
}


@pytest.fixture
def client(api: Api, alice: User) -> APIClient:
    return api(alice)


def note(client: APIClient, **changes: str) -> dict[str, Any]:
    answer = client.get(PATH, PUTS | changes)
    assert answer.status_code == 200
    body: dict[str, Any] = answer.json()
    return body


def test_each_item_has_its_exact_and_its_rounded_amount_and_its_source(client: APIClient) -> None:
    charge_note = note(client)
    items = {charge["item"]: charge for charge in charge_note["charges"]}
    assert (charge_note["value"], charge_note["segment"], charge_note["broker"]) == (
        150,
        "options",
        "discount",
    )
    assert {item: (charge["amount"], charge["rounded"]) for item, charge in items.items()} == {
        "brokerage": (20, 20),
        "exchange_fee": (0.075, 0.08),
        "ipft": (0.00075, 0),
        "sebi_fee": (0.00015, 0),
        "stamp_duty": (0.0045, 0),
        "gst": (3.613527, 3.61),
    }
    assert charge_note["total"] == 23.69
    assert items["ipft"]["source"] == "The Hindu 2023-03-24: Rs 50 a crore of premium"
    assert items["ipft"]["since"] == "2023-04-01"
    assert items["brokerage"]["unsourced"].startswith("the beginning")


def test_funds_are_taxed_by_the_kind_of_their_assets(client: APIClient) -> None:
    sale = {"side": "sell", "price": "100", "quantity": "1000", "date": "2025-06-02"}
    notes = {
        symbol: note(client, symbol=f"NSE:{symbol}", broker="none", **sale)
        for symbol in ("SBIN", "NIFTYBEES", "GOLDBEES", "LIQUIDCASE")
    }
    assert {symbol: result["instrument"] for symbol, result in notes.items()} == {
        "SBIN": "share",
        "NIFTYBEES": "equity_etf",
        "GOLDBEES": "gold_etf",
        "LIQUIDCASE": "liquid_etf",
    }
    assert {result["segment"] for result in notes.values()} == {"equity"}
    taxes = {
        symbol: next(row for row in result["charges"] if row["item"] == "transaction_tax")
        for symbol, result in notes.items()
    }
    assert [tax["rounded"] for tax in taxes.values()] == [100, 1, 0, 0]
    assert "contract note of 2024-11-13" in taxes["LIQUIDCASE"]["source"]


def test_a_sale_in_delivery_includes_the_depository_charge(client: APIClient) -> None:
    sale = {"symbol": "NSE:SBIN", "side": "sell", "price": "800", "date": "2025-06-02"}
    result = note(client, broker="zerodha", **sale)
    charge = next(row for row in result["charges"] if row["item"] == "depository_charge")
    assert (charge["amount"], charge["percent"], charge["since"]) == (13, 0, "2024-06-01")
    assert charge["row"].startswith("depository.csv:")
    without = note(client, broker="none", **sale)
    assert result["total"] == pytest.approx(without["total"] + 15.34, abs=0.005)


def test_an_index_has_no_charges(client: APIClient) -> None:
    seed_sample()
    result = note(client, symbol="NSE:BANKNIFTY", price="50000", date="2025-06-02")
    assert (result["instrument"], result["charges"], result["unknown"], result["total"]) == (
        "index",
        [],
        [],
        0,
    )


def test_the_expiry_of_an_option_is_the_masters_or_else_that_of_its_name(client: APIClient) -> None:
    """The last Friday of January 2024 was a holiday, so the name means the 25th."""
    symbol = "BSE:SENSEX24JAN71000CE"

    def fee(day: str) -> float:
        charges = note(client, symbol=symbol, price="100", date=day, broker="none")["charges"]
        percents: dict[str, float] = {row["item"]: row["percent"] for row in charges}
        return percents["exchange_fee"]

    assert [fee("2024-01-19"), fee("2024-01-23")] == [0.005, 0.0375]
    option(symbol, expiry=date(2024, 2, 2), strike=71000, option_type="CE")
    assert [fee("2024-01-23"), fee("2024-01-29")] == [0.005, 0.0375]


def test_items_without_a_rate_are_named(client: APIClient) -> None:
    charge_note = note(client, symbol="NSE:SBIN", date="2015-01-01", price="270")
    assert charge_note["unknown"] == ["sebi_fee", "stamp_duty"]


def test_the_value_of_a_unit_comes_from_the_master(client: APIClient) -> None:
    Instrument.objects.create(
        symbol="MCX:GOLD26DECFUT",
        exchange="MCX",
        code="GOLD26DECFUT",
        segment="commodity",
        type="futures",
        expiry="2026-12-04",
        lot_size=1,
        multiplier=100,
        source="a test",
    )
    charge_note = note(
        client, symbol="MCX:GOLD26DECFUT", price="120000", quantity="1", date="2026-11-20"
    )
    assert (charge_note["multiplier"], charge_note["value"]) == (100, 12_000_000)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("symbol", "SBIN"),
        ("symbol", None),
        ("side", "long"),
        ("side", None),
        ("quantity", "0"),
        ("quantity", "1.5"),
        ("quantity", None),
        ("price", "0"),
        ("price", "-1"),
        ("price", "1e3"),
        ("price", "1.00001"),
        ("price", None),
        ("date", "10-05-2023"),
        ("date", None),
        ("product", "cnc"),
        ("broker", "nobody"),
    ],
)
def test_bad_parameters_are_named(client: APIClient, field: str, value: str | None) -> None:
    query = {name: text for name, text in {**PUTS, field: value}.items() if text is not None}
    details = assert_error(client.get(PATH, query), 400, "VALIDATION_ERROR")["details"]
    assert details["field"] == field
    assert details.get("value") == value
    assert ("allowedValues" in details) == (field in ("side", "product", "broker"))
