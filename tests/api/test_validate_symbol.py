"""POST /api/symbols/validate"""

from datetime import date
from typing import Any

import pytest

from apps.accounts.models import User
from apps.symbols import services
from apps.symbols.models import Instrument
from tests.conftest import Api
from tests.error_responses import assert_error
from tests.symbols.instruments import equity, option

PATH = "/api/symbols/validate"


@pytest.fixture
def verdict(api: Api, alice: User) -> Any:
    client = api(alice)

    def post(symbol: str) -> dict[str, Any]:
        response = client.post(PATH, {"symbol": symbol})
        assert response.status_code == 200
        body: dict[str, Any] = response.json()
        assert body["symbol"] == symbol
        assert ("reason" in body) is not body["tradable"]
        return body

    return post


@pytest.mark.parametrize(
    ("symbol", "exchange", "kind"),
    [
        ("NSE:RELIANCE", "NSE", "equity"),
        ("BSE:BAJFINANCE", "BSE", "equity"),
        ("NSE:NIFTY99JANFUT", "NSE", "futures"),
        ("MCX:GOLDM99DECFUT", "MCX", "futures"),
        ("NSE:NIFTY99JAN21500CE", "NSE", "options"),
        ("NCDEX:GUARSEED1099AUGFUT", "NCDEX", "futures"),
    ],
)
def test_without_a_master_a_well_formed_symbol_counts_as_tradable(
    verdict: Any, symbol: str, exchange: str, kind: str
) -> None:
    assert verdict(symbol) == {
        "valid": True,
        "exchange": exchange,
        "symbol": symbol,
        "type": kind,
        "tradable": True,
    }


@pytest.mark.parametrize(
    ("symbol", "exchange"),
    [
        ("nse:TCS", None),
        ("Nse:TCS", None),
        ("NSE:tcs", "NSE"),
        ("NSE:Tcs", "NSE"),
        ("TCS", None),
        (":TCS", None),
        ("NSE:", "NSE"),
        ("NSE", "NSE"),
        (":", None),
        ("", None),
        ("NSE::TCS", "NSE"),
        ("NSE:TCS:EQ", "NSE"),
        ("NSE-TCS", None),
        ("NSE/TCS", None),
        ("NSE.TCS", None),
        ("NYSE:TCS", None),
        ("NFO:NIFTY24JANFUT", None),
        (" NSE:TCS", None),
        ("NSE:TCS ", "NSE"),
        ("NSE: TCS", "NSE"),
        ("NSE:TCS\n", "NSE"),
        ("NSE:ТCS", "NSE"),
        ("NSE：TCS", None),
        ("NSE:TCS١", "NSE"),
        ("NSE:M&M", "NSE"),
        ("NSE:BAJAJ-AUTO", "NSE"),
        ("NSE:NIFTY2024JANFUT", "NSE"),
        ("NSE:NIFTY24JANUARYFUT", "NSE"),
        ("NSE:NIFTY24JanFUT", "NSE"),
        ("MCX:GOLD24XXXFUT", "MCX"),
        ("NSE:NIFTY24JAN21500.5CE", "NSE"),
        ("NSE:NIFTY24JAN21500C", "NSE"),
        ("NSE:NIFTY24JAN21500CALL", "NSE"),
        ("NSE:NIFTY24JAN21500ce", "NSE"),
        ("NSE:" + "A" * 1000, "NSE"),
        ("NSE:NIFTY24FEB30FUT", "NSE"),
    ],
)
def test_a_malformed_symbol_is_invalid_with_a_reason(
    verdict: Any, symbol: str, exchange: str | None
) -> None:
    body = verdict(symbol)
    assert (body["valid"], body["tradable"]) == (False, False)
    assert (body["exchange"], body["type"]) == (exchange, None)


@pytest.mark.parametrize(
    "symbol", ["NSE:NIFTY24JANFUT", "NSE:NIFTY24JAN11FUT", "NSE:NIFTY20FEB12000PE"]
)
def test_an_expired_contract_is_valid_and_not_tradable(verdict: Any, symbol: str) -> None:
    body = verdict(symbol)
    assert (body["valid"], body["tradable"]) == (True, False)
    assert "expired" in body["reason"]


def test_the_sample_knows_types_that_the_form_does_not_say(verdict: Any) -> None:
    assert verdict("NSE:NIFTY")["type"] == "equity"
    services.seed_sample()
    body = verdict("NSE:NIFTY")
    assert (body["type"], body["tradable"]) == ("index", True)


def test_the_sample_does_not_count_as_a_master(verdict: Any) -> None:
    services.seed_sample()
    assert verdict("NSE:ZZZZZZ")["tradable"] is True


def test_a_master_decides_for_its_own_exchange(verdict: Any) -> None:
    services.seed_sample()
    equity("NSE:TCS2", sample=False)
    assert verdict("NSE:TCS2")["tradable"] is True
    for unlisted in ("NSE:ZZZZZZ", "NSE:RELIANCE"):
        body = verdict(unlisted)
        assert (body["valid"], body["tradable"]) == (True, False)
        assert "master" in body["reason"]
    assert verdict("BSE:ZZZZZZ")["tradable"] is True


@pytest.mark.parametrize(
    ("master", "tradable", "hidden"),
    [
        ({"type": "equity"}, "NSE:NIFTY", "NSE:RELIANCE"),
        ({"type": "index"}, "NSE:RELIANCE", "NSE:NIFTY"),
        ({"type": "commodity", "segment": "commodity"}, "NSE:NIFTY", "NSE:ZZZZZZ"),
    ],
)
def test_the_sample_yields_only_to_a_master_of_the_same_type(
    api: Api, alice: User, *, verdict: Any, master: dict[str, str], tradable: str, hidden: str
) -> None:
    services.seed_sample()
    equity("NSE:LISTED", sample=False, **master)
    assert verdict(tradable)["tradable"] is True
    assert api(alice).get(f"/api/symbols/{tradable}").status_code == 200
    assert verdict(hidden)["tradable"] is False
    assert api(alice).get(f"/api/symbols/{hidden}").status_code == 404


@pytest.mark.parametrize(
    "fields",
    [
        {"enabled": False},
        {"valid_to": date(2020, 1, 1)},
        {"valid_from": date(2199, 1, 1)},
    ],
)
def test_a_known_symbol_may_be_out_of_use(verdict: Any, fields: dict[str, Any]) -> None:
    equity("NSE:OLD", **fields)
    body = verdict("NSE:OLD")
    assert (body["valid"], body["tradable"]) == (True, False)


def test_the_exchange_s_own_name_leads_to_the_symbol(verdict: Any) -> None:
    services.seed_sample()
    assert "NSE:MM" in verdict("NSE:M&M")["reason"]
    assert verdict("NSE:MM")["valid"] is True


@pytest.mark.parametrize(
    ("symbol", "meant"),
    [
        ("NSE:RELAINCE", "NSE:RELIANCE"),
        ("NSE:M&M", "NSE:MM"),
        ("nse:tcs", "NSE:TCS"),
        ("INFY", "NSE:INFY"),
        ("NSE:BAJAJ-AUTO", "NSE:BAJAJAUTO"),
        ("BSE:SENSX", "BSE:SENSEX"),
        ("NFO:NIFTY99JAN21500CE", "NSE:NIFTY99JAN21500CE"),
        ("NSE:NIFTY99JAN21490CE", "NSE:NIFTY99JAN21500CE"),
    ],
)
def test_similar_symbols_are_suggested(verdict: Any, symbol: str, meant: str) -> None:
    services.seed_sample()
    Instrument.objects.update(sample=False)
    option("NSE:NIFTY99JAN21500CE", expiry=date(2099, 1, 28), strike=21500, option_type="CE")
    option("NSE:NIFTY99JAN22500CE", expiry=date(2099, 1, 28), strike=22500, option_type="CE")
    Instrument.objects.filter(type="options").update(underlying="NIFTY")
    assert meant in verdict(symbol)["suggestions"]


@pytest.mark.parametrize("symbol", ["NSE:RELIANCE", "NSE:" + "RELIANCE" * 9, "", ":", "NSE:QQQQQQ"])
def test_no_symbol_is_suggested_if_none_is_similar(verdict: Any, symbol: str) -> None:
    services.seed_sample()
    Instrument.objects.update(sample=False)
    assert "suggestions" not in verdict(symbol)


@pytest.mark.parametrize(
    "body", [{}, {"symbol": None}, {"symbol": 1}, {"symbol": True}, {"symbol": ["NSE:TCS"]}]
)
def test_a_request_without_a_symbol_is_refused(api: Api, alice: User, body: dict[str, Any]) -> None:
    assert_error(api(alice).post(PATH, body), 400, "VALIDATION_ERROR", field="symbol")


def test_unknown_keys_are_ignored(api: Api, alice: User) -> None:
    response = api(alice).post(PATH, {"symbol": "NSE:TCS", "extra": 1})
    assert response.status_code == 200


def test_an_anonymous_caller_is_refused(api: Api) -> None:
    assert_error(api().post(PATH, {"symbol": "NSE:TCS"}), 401, "UNAUTHORIZED")
    assert not Instrument.objects.exists()
