"""GET /api/symbols/search"""

from datetime import date
from typing import Any

import pytest

from apps.accounts.models import User
from apps.symbols import search, services
from apps.symbols.models import Instrument
from tests.conftest import Api
from tests.envelope import assert_error
from tests.symbols.instruments import equity, future, option

PATH = "/api/symbols/search"


@pytest.fixture
def found(api: Api, alice: User) -> Any:
    services.seed_sample()
    future("NSE:RELIANCE99JANFUT", expiry=date(2099, 1, 28), name="Reliance January 2099")
    option("NSE:NIFTY99JAN21500CE", expiry=date(2099, 1, 28), strike=21500, option_type="CE")
    client = api(alice)

    def get(query: str, **parameters: object) -> list[str]:
        response = client.get(PATH, {"query": query, **parameters})
        assert response.status_code == 200
        return [row["symbol"] for row in response.json()["results"]]

    return get


def test_a_result_has_what_a_list_shows(api: Api, alice: User) -> None:
    equity("NSE:TCS", name="Tata Consultancy Services Limited")
    future("NSE:TCS99JANFUT", expiry=date(2099, 1, 28), name="TCS January 2099")
    response = api(alice).get(PATH, {"query": "tcs"})
    assert response.json() == {
        "results": [
            {"symbol": "NSE:TCS", "name": "Tata Consultancy Services Limited", "type": "equity",
             "exchange": "NSE"},
            {"symbol": "NSE:TCS99JANFUT", "name": "TCS January 2099", "type": "futures",
             "exchange": "NSE", "expiry": "2099-01-28"},
        ]
    }  # fmt: skip


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("RELIANCE", ["BSE:RELIANCE", "NSE:RELIANCE", "NSE:RELIANCE99JANFUT"]),
        ("NSE:RELIANCE", ["NSE:RELIANCE", "NSE:RELIANCE99JANFUT"]),
        ("reli", ["BSE:RELIANCE", "NSE:RELIANCE", "NSE:RELIANCE99JANFUT"]),
        ("  infosys  ", ["BSE:INFY", "NSE:INFY"]),
        ("M&M", ["NSE:MM"]),
        ("bajaj-auto", ["NSE:BAJAJAUTO"]),
        ("NSE:BAJAJ-AUTO", ["NSE:BAJAJAUTO"]),
        ("Nifty 50", ["NSE:NIFTY"]),
        ("INE467B01029", ["BSE:TCS", "NSE:TCS"]),
        ("BEL", ["NSE:BEL"]),
        ("nifty99", ["NSE:NIFTY99JAN21500CE"]),
        ("aviation", ["NSE:INDIGO"]),
        ("STEEL", ["NSE:JSWSTEEL", "BSE:TATASTEEL", "NSE:TATASTEEL"]),
    ],
)
def test_the_best_matches_come_first(found: Any, query: str, first: list[str]) -> None:
    assert found(query)[: len(first)] == first


def test_a_code_that_is_equal_comes_before_names_that_begin_so(found: Any) -> None:
    equity("NSE:AAA", name="Tcs Holdings")
    assert found("TCS") == ["BSE:TCS", "NSE:TCS", "NSE:AAA"]


def test_shares_and_indices_come_before_contracts(found: Any) -> None:
    assert found("NIFTY") == ["NSE:NIFTY", "NSE:NIFTYNXT50", "NSE:BANKNIFTY", "NSE:FINNIFTY",
                              "NSE:MIDCPNIFTY", "NSE:NIFTY99JAN21500CE"]  # fmt: skip


def test_contracts_come_by_their_underlying_the_next_to_expire_first(found: Any) -> None:
    for symbol, day in {"QZX99APRFUT": 4, "QZX99JANFUT": 1, "QZX20JANFUT": 0}.items():
        expiry = date(2099, day, 20) if day else date(2020, 1, 30)
        future(f"NSE:{symbol}", expiry=expiry, underlying="QZX")
    assert found("qzx") == ["NSE:QZX99JANFUT", "NSE:QZX99APRFUT", "NSE:QZX20JANFUT"]


def test_what_a_broker_calls_so_is_found(found: Any) -> None:
    held = Instrument.objects.get(symbol="NSE:NIFTY99JAN21500CE")
    held.aliases.create(source="kite", name="NIFTY9912821500CE")
    assert found("nifty9912821500ce") == ["NSE:NIFTY99JAN21500CE"]


@pytest.mark.parametrize("trigrams", [True, False])
@pytest.mark.parametrize(
    ("slip", "meant"),
    [("RELAINCE", "RELIANCE"), ("NSE:RELIANCEE", "RELIANCE"), ("HDFCBNK", "HDFCBANK"),
     ("infi", "INFY"), ("BAJAJ-AUTA", "BAJAJAUTO")],
)  # fmt: skip
def test_a_slip_still_finds_it(
    found: Any, monkeypatch: pytest.MonkeyPatch, slip: str, meant: str, trigrams: bool
) -> None:
    monkeypatch.setattr(search, "_has_trigrams", lambda: trigrams)
    assert found(slip)[0].partition(":")[2] == meant


def test_two_letters_do_not_match_inside(found: Any) -> None:
    assert "NSE:TATASTEEL" not in found("EL")


@pytest.mark.parametrize("query", ["%", "_", "R_LIANCE", "RELI%", "%LIANCE", "\\", "'", "🚀", "&"])
def test_every_character_means_itself(found: Any, query: str) -> None:
    assert all(query in str(row.name) for row in Instrument.objects.filter(symbol__in=found(query)))


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"exchange": "BSE"}, ["BSE:RELIANCE"]),
        ({"type": "futures"}, ["NSE:RELIANCE99JANFUT"]),
        ({"limit": 1}, ["BSE:RELIANCE"]),
        ({"exchange": "MCX"}, []),
    ],
)
def test_filters(found: Any, parameters: dict[str, object], expected: list[str]) -> None:
    assert found("RELIANCE", **parameters) == expected


def test_nothing_is_found_twice_and_no_more_than_asked_for(found: Any) -> None:
    every = found("I", limit=100)
    assert len(every) == len(set(every))
    assert found("I", limit=5) == every[:5]


def test_what_is_switched_off_is_not_found(found: Any) -> None:
    Instrument.objects.filter(symbol="NSE:RELIANCE").update(enabled=False)
    assert "NSE:RELIANCE" not in found("RELIANCE")


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("", "query"), ("query=", "query"), ("query=%20", "query"), ("query=%00", "query"),
        ("query=" + "A" * 101, "query"), ("query=a&query=b", "query"),
        ("query=a&exchange=nse", "exchange"), ("query=a&exchange=NYSE", "exchange"),
        ("query=a&type=stock", "type"), ("query=a&limit=0", "limit"),
        ("query=a&limit=101", "limit"), ("query=a&limit=x", "limit"),
    ],
)  # fmt: skip
def test_a_query_outside_its_set_is_refused(api: Api, alice: User, query: str, field: str) -> None:
    response = api(alice).get(f"{PATH}?{query}")
    assert_error(response, 400, "VALIDATION_ERROR", field=field)


def test_an_anonymous_caller_is_refused(api: Api) -> None:
    assert_error(api().get(PATH, {"query": "TCS"}), 401, "UNAUTHORIZED")
