"""GET /api/symbols/<EXCHANGE:SYMBOL>"""

from datetime import date

import pytest

from apps.accounts.models import User
from apps.symbols import services
from tests.conftest import Api
from tests.error_responses import assert_error
from tests.symbols.instruments import future, option

PATH = "/api/symbols/"


def test_a_share(api: Api, alice: User) -> None:
    services.seed_sample()
    assert api(alice).get(PATH + "NSE:MM").json() == {
        "symbol": "NSE:MM",
        "exchange": "NSE",
        "exchangeName": "M&M",
        "name": "Mahindra & Mahindra Limited",
        "type": "equity",
        "isin": "INE101A01026",
        "underlying": None,
        "expiry": None,
        "strike": None,
        "optionType": None,
        "lotSize": 1,
        "tickSize": 0.1,
        "multiplier": None,
        "freezeQuantity": None,
        "tradable": True,
        "nextExpiries": [],
        "aliases": [],
    }


def test_a_contract_has_its_broker_names_and_the_next_expiries(api: Api, alice: User) -> None:
    for day in (date(2020, 1, 30), date(2099, 1, 29), date(2099, 2, 26)):
        contract = future(
            f"NSE:MM{day:%y%b}FUT".upper(),
            expiry=day,
            underlying="MM",
            lot_size=200,
            multiplier=200,
            freeze_quantity=7000,
            exchange_name=f"M&M{day:%y%b}FUT".upper(),
        )
    contract.aliases.create(source="upstox", name="M&M FUT 26 FEB 99", token="NSE_FO|1")
    contract.aliases.create(source="alice", name="M&M26FEB99F")
    body = api(alice).get(PATH + "NSE:MM99FEBFUT").json()
    assert (body["lotSize"], body["multiplier"], body["freezeQuantity"]) == (200, 200, 7000)
    assert body["nextExpiries"] == ["2099-01-29", "2099-02-26"]
    assert body["aliases"] == [
        {"source": "alice", "name": "M&M26FEB99F", "token": None},
        {"source": "upstox", "name": "M&M FUT 26 FEB 99", "token": "NSE_FO|1"},
    ]


def test_an_option_that_has_expired(api: Api, alice: User) -> None:
    option("NSE:NIFTY24JAN21500CE", expiry=date(2024, 1, 25), strike=21500, option_type="CE")
    body = api(alice).get(PATH + "NSE:NIFTY24JAN21500CE").json()
    assert (body["expiry"], body["strike"], body["optionType"]) == ("2024-01-25", 21500, "CE")
    assert (body["isin"], body["tickSize"], body["tradable"]) == (None, None, False)


@pytest.mark.parametrize("symbol", ["NSE:ZZZZZZ", "nse:MM", "NSE:M&M", "MM", "NSE:", "%00", "%ff"])
def test_an_unlisted_symbol_is_not_found(api: Api, alice: User, symbol: str) -> None:
    services.seed_sample()
    assert_error(api(alice).get(PATH + symbol), 404, "NOT_FOUND")


def test_an_anonymous_caller_is_refused(api: Api) -> None:
    assert_error(api().get(PATH + "NSE:MM"), 401, "UNAUTHORIZED")
