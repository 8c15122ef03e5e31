"""GET /api/market/charges"""

from typing import Any

import pytest
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.symbols.models import Instrument
from tests.conftest import Api
from tests.envelope import assert_error

PATH = "/api/market/charges"
PUTS = {
    "symbol": "NSE:NIFTY23MAY1118000PE", "side": "buy", "quantity": "100", "price": "1.5",
    "date": "2023-05-10", "broker": "discount",
}  # fmt: skip


@pytest.fixture
def client(api: Api, alice: User) -> APIClient:
    return api(alice)


def note(client: APIClient, **changes: str) -> dict[str, Any]:
    answer = client.get(PATH, PUTS | changes)
    assert answer.status_code == 200
    found: dict[str, Any] = answer.json()
    return found


def test_each_item_as_it_is_and_as_it_is_paid_with_its_source(client: APIClient) -> None:
    found = note(client)
    items = {charge["item"]: charge for charge in found["charges"]}
    assert (found["value"], found["segment"], found["broker"]) == (150, "options", "discount")
    assert {item: (one["amount"], one["rounded"]) for item, one in items.items()} == {
        "brokerage": (20, 20),
        "exchange_fee": (0.075, 0.08),
        "ipft": (0.00075, 0),
        "sebi_fee": (0.00015, 0),
        "stamp_duty": (0.0045, 0),
        "gst": (3.613527, 3.61),
    }
    assert found["total"] == 23.69
    assert items["ipft"]["source"] == "The Hindu 2023-03-24: Rs 50 a crore of premium"
    assert items["ipft"]["since"] == "2023-04-01"
    assert items["brokerage"]["unsourced"].startswith("the beginning")


def test_items_without_a_rate_are_named(client: APIClient) -> None:
    found = note(client, symbol="NSE:SBIN", date="2015-01-01", price="270")
    assert found["unknown"] == ["sebi_fee", "stamp_duty"]


def test_a_unit_is_worth_what_the_master_says(client: APIClient) -> None:
    Instrument.objects.create(
        symbol="MCX:GOLD26DECFUT", exchange="MCX", code="GOLD26DECFUT", segment="commodity",
        type="futures", expiry="2026-12-04", lot_size=1, multiplier=100, source="a test",
    )  # fmt: skip
    found = note(client, symbol="MCX:GOLD26DECFUT", price="120000", quantity="1", date="2026-11-20")
    assert (found["multiplier"], found["value"]) == (100, 12_000_000)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("symbol", "SBIN"), ("symbol", None), ("side", "long"), ("side", None), ("quantity", "0"),
        ("quantity", "1.5"), ("quantity", None), ("price", "0"), ("price", "-1"), ("price", "1e3"),
        ("price", "1.00001"), ("price", None), ("date", "10-05-2023"), ("date", None),
        ("product", "cnc"), ("broker", "nobody"),
    ],
)  # fmt: skip
def test_bad_parameters_are_named(client: APIClient, field: str, value: str | None) -> None:
    query = {name: text for name, text in {**PUTS, field: value}.items() if text is not None}
    details = assert_error(client.get(PATH, query), 400, "VALIDATION_ERROR")["details"]
    assert details["field"] == field
    assert details.get("value") == value
    assert ("allowedValues" in details) == (field in ("side", "product", "broker"))
