"""GET /api/symbols/search"""

from datetime import UTC, date, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.accounts.models import User
from apps.symbols import services
from apps.symbols.models import Instrument
from apps.symbols.search import tiers
from apps.symbols.search.contract_query import read_contract
from tests import make
from tests.conftest import Api, client_of
from tests.error_responses import assert_error
from tests.symbols.instruments import equity, future, option

pytestmark = pytest.mark.django_db

PATH = "/api/symbols/search"


@pytest.fixture(scope="module")
def alice(kept: None) -> User:
    return make.user("alice")


@pytest.fixture(scope="module")
def find(alice: User) -> Any:
    services.seed_sample()
    future("NSE:RELIANCE99JANFUT", expiry=date(2099, 1, 28), name="Reliance January 2099")
    option("NSE:NIFTY99JAN21500CE", expiry=date(2099, 1, 28), strike=21500, option_type="CE")
    client = client_of(alice)

    def get(query: str, **parameters: Any) -> list[str]:
        response = client.get(PATH, {"query": query, **parameters})
        assert response.status_code == 200
        return [row["symbol"] for row in response.json()["results"]]

    return get


def test_a_result_has_the_fields_of_the_list(api: Api, alice: User) -> None:
    equity("NSE:QZX", name="Tata Consultancy Services Limited")
    future("NSE:QZX99JANFUT", expiry=date(2099, 1, 28), name="QZX January 2099")
    response = api(alice).get(PATH, {"query": "qzx"})
    assert response.json() == {
        "results": [
            {
                "symbol": "NSE:QZX",
                "name": "Tata Consultancy Services Limited",
                "type": "equity",
                "exchange": "NSE",
            },
            {
                "symbol": "NSE:QZX99JANFUT",
                "name": "QZX January 2099",
                "type": "futures",
                "exchange": "NSE",
                "expiry": "2099-01-28",
            },
        ]
    }


@pytest.mark.parametrize(
    ("query", "first"),
    [
        ("RELIANCE", ["NSE:RELIANCE", "BSE:RELIANCE", "NSE:RELIANCE99JANFUT"]),
        ("NSE:RELIANCE", ["NSE:RELIANCE", "NSE:RELIANCE99JANFUT"]),
        ("reli", ["NSE:RELIANCE", "BSE:RELIANCE", "NSE:RELIANCE99JANFUT"]),
        ("  infosys  ", ["NSE:INFY", "BSE:INFY"]),
        ("M&M", ["NSE:MM"]),
        ("bajaj-auto", ["NSE:BAJAJAUTO"]),
        ("NSE:BAJAJ-AUTO", ["NSE:BAJAJAUTO"]),
        ("Nifty 50", ["NSE:NIFTY"]),
        ("INE467B01029", ["NSE:TCS", "BSE:TCS"]),
        ("BEL", ["NSE:BEL"]),
        ("nifty99", ["NSE:NIFTY99JAN21500CE"]),
        ("aviation", ["NSE:INDIGO"]),
        ("STEEL", ["NSE:JSWSTEEL", "NSE:TATASTEEL", "BSE:TATASTEEL"]),
    ],
)
def test_the_best_matches_come_first(find: Any, query: str, first: list[str]) -> None:
    assert find(query)[: len(first)] == first


def test_an_equal_code_comes_before_names_with_that_beginning(find: Any) -> None:
    equity("NSE:AAA", name="Tcs Holdings")
    assert find("TCS") == ["NSE:TCS", "BSE:TCS", "NSE:AAA"]


def test_shares_and_indices_come_before_contracts(find: Any) -> None:
    assert find("NIFTY") == [
        "NSE:NIFTY",
        "NSE:NIFTYNXT50",
        "NSE:BANKNIFTY",
        "NSE:FINNIFTY",
        "NSE:MIDCPNIFTY",
        "NSE:NIFTY99JAN21500CE",
    ]


def test_contracts_come_by_their_underlying_the_next_to_expire_first(find: Any) -> None:
    for symbol, day in {"QZX99APRFUT": 4, "QZX99JANFUT": 1, "QZX20JANFUT": 0}.items():
        expiry = date(2099, day, 20) if day else date(2020, 1, 30)
        future(f"NSE:{symbol}", expiry=expiry, underlying="QZX")
    assert find("qzx") == ["NSE:QZX99JANFUT", "NSE:QZX99APRFUT", "NSE:QZX20JANFUT"]


def test_a_broker_name_is_found(find: Any) -> None:
    held = Instrument.objects.get(symbol="NSE:NIFTY99JAN21500CE")
    held.aliases.create(source="kite", name="NIFTY9912821500CE")
    assert find("nifty9912821500ce") == ["NSE:NIFTY99JAN21500CE"]


def test_living_contracts_come_first(find: Any) -> None:
    equity("NSE:QZX", name="Qzx, delisted", valid_to=date(2020, 1, 1))
    equity("BSE:QZX", name="Qzx")
    equity("NSE:QZXA", name="Qzx Alpha")
    equity("NSE:QZXB", name="Qzx Beta, delisted", valid_to=date(2020, 1, 1))
    future("NSE:QZX20JANFUT", expiry=date(2020, 1, 30), underlying="QZX")
    future("NSE:QZX99JANFUT", expiry=date(2099, 1, 28), underlying="QZX")
    assert find("qzx") == [
        "BSE:QZX",
        "NSE:QZX",
        "NSE:QZXA",
        "NSE:QZX99JANFUT",
        "NSE:QZXB",
        "NSE:QZX20JANFUT",
    ]


@pytest.fixture
def contracts(find: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Store contracts of August and September 2026, as on 2026-08-10.

    QZX, with indices on two exchanges, belongs to no company.
    """
    of_index = {"underlying": "NIFTY"}
    day, week, month = date(2026, 8, 11), date(2026, 8, 18), date(2026, 8, 25)
    for code, expiry in {"11": day, "18": week, "": month}.items():
        for strike, side in ((24350, "CE"), (24350, "PE"), (24400, "CE")):
            symbol = f"NSE:NIFTY26AUG{code}{strike}{side}"
            option(symbol, expiry=expiry, strike=strike, option_type=side, **of_index)
    option(
        "NSE:NIFTY26AUG0424350CE",
        expiry=date(2026, 8, 4),
        strike=24350,
        option_type="CE",
        **of_index,
    )
    future("NSE:NIFTY26AUGFUT", expiry=month, **of_index)
    future("NSE:NIFTY26SEPFUT", expiry=date(2026, 9, 29), **of_index)
    future("NSE:RELIANCE26AUGFUT", expiry=month, underlying="RELIANCE")
    future("NSE:MM26AUGFUT", expiry=month, underlying="MM")
    option(
        "NSE:BANKNIFTY26AUG50000CE",
        expiry=month,
        strike=50000,
        option_type="CE",
        underlying="BANKNIFTY",
    )
    for exchange in ("BSE", "NSE"):
        option(
            f"{exchange}:QZX26AUG100CE",
            expiry=month,
            strike=100,
            option_type="CE",
            underlying="QZX",
        )

    def search_on_the_day(query: str) -> list[str]:
        rows = services.search(
            query=query,
            exchange=None,
            type=None,
            limit=20,
            now=datetime(2026, 8, 10, 6, tzinfo=UTC),
        )
        return [row.symbol.partition(":")[2] for row in rows]

    return search_on_the_day


CALLS = ["NIFTY26AUG1124350CE", "NIFTY26AUG1824350CE", "NIFTY26AUG24350CE"]
EXPIRED = "NIFTY26AUG0424350CE"


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("NIFTY 24350 CE", [*CALLS, EXPIRED]),
        ("nifty 24350ce", [*CALLS, EXPIRED]),
        ("nifty 24350 call", [*CALLS, EXPIRED]),
        ("nifty ce 24350", [*CALLS, EXPIRED]),
        ("nifty 24350 pe aug", [call.replace("CE", "PE") for call in CALLS]),
        ("nifty aug 24350 ce", [*CALLS, EXPIRED]),
        ("NSE:NIFTY 24350 CE", [*CALLS, EXPIRED]),
        ("nifty 18 aug 24350 ce", ["NIFTY26AUG1824350CE"]),
        ("nifty 18aug 24350 ce", ["NIFTY26AUG1824350CE"]),
        ("nifty 18 aug 2026 24350 ce", ["NIFTY26AUG1824350CE"]),
        ("nifty 18aug26 24350ce", ["NIFTY26AUG1824350CE"]),
        ("nifty 18-aug-2026 24350 ce", ["NIFTY26AUG1824350CE"]),
        ("nifty aug 18 24350 ce", ["NIFTY26AUG1824350CE"]),
        ("nifty 26 aug 24350 ce", [*CALLS, EXPIRED]),
        ("nifty 4 aug 24350 ce", [EXPIRED]),
        ("banknifty 25 aug 50000 ce", ["BANKNIFTY26AUG50000CE"]),
        ("bank nifty 25 august 50000 ce", ["BANKNIFTY26AUG50000CE"]),
        ("nifty bank 50000 ce", ["BANKNIFTY26AUG50000CE"]),
        ("nifty aug fut", ["NIFTY26AUGFUT"]),
        ("nifty fut", ["NIFTY26AUGFUT", "NIFTY26SEPFUT"]),
        ("nifty futures sep 2026", ["NIFTY26SEPFUT"]),
        ("reliance fut", ["RELIANCE26AUGFUT", "RELIANCE99JANFUT"]),
        ("M&M fut", ["MM26AUGFUT"]),
        ("nifty sep", ["NIFTY26SEPFUT"]),
        ("banknifty 50000", ["BANKNIFTY26AUG50000CE"]),
    ],
)
def test_a_contract_is_found_by_its_descriptive_words(
    contracts: Any, query: str, expected: list[str]
) -> None:
    Instrument.objects.filter(symbol="NSE:RELIANCE99JANFUT").update(underlying="RELIANCE")
    assert contracts(query) == expected


@pytest.mark.parametrize(
    "query",
    [
        "nifty 99999 ce",
        "nifty 31 sep fut",
        "nifty 1 2 3 4 ce",
        "nifty 24350 ce pe",
        "fut",
        "nifty aug sep fut",
        "nifty 24350 fut 5",
        "aug 24350 ce",
        "nfo:nifty 24350 ce",
    ],
)
def test_words_without_a_matching_contract_find_nothing(contracts: Any, query: str) -> None:
    assert not any(code.endswith(("CE", "PE", "FUT")) for code in contracts(query))


@given(
    st.lists(
        st.sampled_from(["NIFTY", "18", "AUG", "2026", "24350", "CE", "FUT", "0", "99", ":", "-"])
    ),
    st.sampled_from(["", " "]),
)
def test_any_words_can_be_read_as_a_contract_search(words: list[str], between: str) -> None:
    contract = read_contract(between.join(words), today=date(2026, 8, 10))
    if contract is not None:
        assert contract.root
        assert all(first <= last for days in contract.expiries for first, last in days)


@pytest.mark.timeout(5)
def test_a_long_word_is_read_in_no_time() -> None:
    assert read_contract("NIFTY " + "1" * 93 + "X", today=date(2026, 8, 10)) is None


def test_among_equal_contracts_nse_comes_first(contracts: Any) -> None:
    rows = services.search(
        query="qzx 100 ce",
        exchange=None,
        type=None,
        limit=20,
        now=datetime(2026, 8, 10, 6, tzinfo=UTC),
    )
    assert [row.exchange for row in rows] == ["NSE", "BSE"]


@pytest.mark.parametrize("trigrams", [True, False])
@pytest.mark.parametrize(
    ("slip", "meant"),
    [
        ("RELAINCE", "RELIANCE"),
        ("NSE:RELIANCEE", "RELIANCE"),
        ("HDFCBNK", "HDFCBANK"),
        ("infi", "INFY"),
        ("BAJAJ-AUTA", "BAJAJAUTO"),
    ],
)
def test_a_misspelled_name_is_found(
    find: Any, monkeypatch: pytest.MonkeyPatch, slip: str, meant: str, trigrams: bool
) -> None:
    monkeypatch.setattr(tiers, "_has_trigrams", lambda: trigrams)
    assert find(slip)[0].partition(":")[2] == meant


def test_two_letters_do_not_match_inside(find: Any) -> None:
    assert "NSE:TATASTEEL" not in find("EL")


@pytest.mark.parametrize(
    "query", ["%", "_", "R_LIANCE", "RELI%", "%LIANCE", "\\", "'", "🚀", "&", "&&&"]
)
def test_every_character_means_itself(find: Any, query: str) -> None:
    assert all(query in str(row.name) for row in Instrument.objects.filter(symbol__in=find(query)))


@pytest.mark.parametrize(
    ("parameters", "expected"),
    [
        ({"exchange": "BSE"}, ["BSE:RELIANCE"]),
        ({"type": "futures"}, ["NSE:RELIANCE99JANFUT"]),
        ({"limit": 1}, ["NSE:RELIANCE"]),
        ({"exchange": "MCX"}, []),
    ],
)
def test_filters(find: Any, parameters: dict[str, object], expected: list[str]) -> None:
    assert find("RELIANCE", **parameters) == expected


def test_the_list_has_no_duplicates_and_at_most_the_requested_number(find: Any) -> None:
    every = find("I", limit=100)
    assert len(every) == len(set(every))
    assert find("I", limit=5) == every[:5]


def test_disabled_instruments_are_not_found(find: Any) -> None:
    Instrument.objects.filter(symbol="NSE:RELIANCE").update(enabled=False)
    assert "NSE:RELIANCE" not in find("RELIANCE")


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("", "query"),
        ("query=", "query"),
        ("query=%20", "query"),
        ("query=%00", "query"),
        ("query=" + "A" * 101, "query"),
        ("query=a&query=b", "query"),
        ("query=a&exchange=nse", "exchange"),
        ("query=a&exchange=NYSE", "exchange"),
        ("query=a&type=stock", "type"),
        ("query=a&limit=0", "limit"),
        ("query=a&limit=101", "limit"),
        ("query=a&limit=x", "limit"),
    ],
)
def test_a_query_outside_its_set_is_refused(api: Api, alice: User, query: str, field: str) -> None:
    response = api(alice).get(f"{PATH}?{query}")
    assert_error(response, 400, "VALIDATION_ERROR", field=field)


def test_an_anonymous_caller_is_refused(api: Api) -> None:
    assert_error(api().get(PATH, {"query": "TCS"}), 401, "UNAUTHORIZED")
