"""GET /api/market/charge-rates"""

from typing import Any

import pytest
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.market.rulebook.charges import SEGMENTS
from tests.conftest import Api
from tests.error_responses import assert_error

PATH = "/api/market/charge-rates"
SHARES = {"exchange": "NSE", "segment": "equity", "date": "2026-11-20", "broker": "none"}


@pytest.fixture
def client(api: Api, alice: User) -> APIClient:
    return api(alice)


def rates(client: APIClient, **changes: str) -> list[dict[str, Any]]:
    answer = client.get(PATH, SHARES | changes)
    assert answer.status_code == 200, answer.content
    rows: list[dict[str, Any]] = answer.json()["rates"]
    return rows


def test_each_item_has_its_purpose_and_its_source(client: APIClient) -> None:
    rows = rates(client)
    taxes = [row for row in rows if row["item"] == "transaction_tax"]
    [delivery] = [r for r in taxes if r["scopes"] == ["equity"] and "delivery" in r["products"]]
    assert (delivery["percent"], delivery["sides"]) == (0.1, ["buy", "sell"])
    assert (delivery["since"], delivery["row"]) == ("2012-07-01", "charges.csv:3")
    assert delivery["source"].startswith("Finance Act 2012")
    [fund] = [row for row in taxes if row["scopes"] == ["equity_etf"] and row["percent"]]
    assert fund["sides"] == ["sell"]
    [fee] = [row for row in rows if row["item"] == "exchange_fee"]
    assert (fee["percent"], fee["since"]) == (0.0030699, "2026-03-01")


def test_the_prices_of_a_broker(client: APIClient) -> None:
    rows = rates(client, broker="discount")
    [intraday] = [r for r in rows if r["item"] == "brokerage" and r["products"] == ["intraday"]]
    assert (intraday["flat"], intraday["percent"], intraday["cap"]) == (0, 0.03, 20)
    [depository] = [row for row in rows if row["item"] == "depository_charge"]
    assert (depository["amount"], depository["sides"]) == (13, ["sell"])
    assert "percent" not in depository


def test_rates_of_single_underlyings_and_of_the_nearest_expiry(client: APIClient) -> None:
    def fees(day: str) -> list[tuple[float, list[str], list[str]]]:
        rows = rates(client, exchange="BSE", segment="options", date=day)
        return [
            (row["percent"], row["scopes"], row["underlyings"])
            for row in rows
            if row["item"] == "exchange_fee"
        ]

    for_all: tuple[float, list[str], list[str]] = (0.005, ["options"], [])
    assert fees("2023-12-01") == [for_all, (0.0375, ["nearest_options"], ["SENSEX"])]
    both = (0.0495, ["nearest_options", "options"], ["BANKEX", "SENSEX"])
    assert fees("2024-06-03") == [for_all, both]


def test_notes_name_only_listed_rates(client: APIClient) -> None:
    """The charges of a fill are rates of its segment."""
    fill = {"symbol": "NSE:SBIN", "side": "sell", "quantity": "10", "price": "500"}
    for product in ("intraday", "delivery"):
        query = fill | {"product": product, "date": "2024-11-05", "broker": "discount"}
        note = client.get("/api/market/charges", query).json()
        listed = {row["row"] for row in rates(client, date="2024-11-05", broker="discount")}
        assert {charge["row"] for charge in note["charges"]} <= listed


def test_every_segment_of_every_exchange_has_rates(client: APIClient) -> None:
    for exchange, segments in SEGMENTS.items():
        for segment in segments:
            items = {row["item"] for row in rates(client, exchange=exchange, segment=segment)}
            assert {"brokerage", "sebi_fee", "gst"} <= items, (exchange, segment)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"exchange": "NYSE"}, "exchange"),
        ({"segment": "agri_futures"}, "segment"),
        ({"date": "yesterday"}, "date"),
        ({"broker": "nobody"}, "broker"),
    ],
)
def test_a_wrong_query_is_refused(client: APIClient, changes: dict[str, str], field: str) -> None:
    error = assert_error(client.get(PATH, SHARES | changes), 400, "VALIDATION_ERROR")
    assert error["details"]["field"] == field
