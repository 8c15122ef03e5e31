"""Contracts with missing rules are refused, not simulated wrongly."""

from datetime import date

import pytest

from apps.engine.candles.symbols import Symbol
from apps.market.rulebook.files.rule_set import bundled_rule_set
from apps.market.rulebook.instruments import lot_at_expiry
from apps.market.rulebook.tradable import untradable_symbols
from tests.engine.strategies import strategy
from tests.symbols.instruments import future

DAY = date(2026, 6, 1)
RULES = bundled_rule_set()


def refused(*symbols: str, day: date = DAY, charges: str = "standard") -> dict[str, str]:
    asked = strategy(basicInfo={"symbols": list(symbols)}, executionSettings={"charges": charges})
    return dict(untradable_symbols(asked, rule_set=RULES, day=day))


@pytest.mark.django_db
def test_a_known_symbol_is_not_refused() -> None:
    assert (
        refused(
            "NSE:SBIN",
            "NSE:NIFTY",
            "NSE:NIFTY26JUNFUT",
            "NSE:SBIN26JUN800CE",
            "BSE:SENSEX26JUN80000PE",
            "MCX:GOLD",
            "MCX:CRUDEOIL26JUNFUT",
            "NCDEX:DHANIYA26JUNFUT",
        )
        == {}
    )


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("symbol", "reason"),
    [
        ("NSE:USDINR26JUNFUT", "no hours, charges and margins of currency contracts of NSE"),
        ("BSE:EURINR26JUNFUT", "no hours, charges and margins of currency contracts of BSE"),
        ("NSE:GOLDM26JUNFUT", "no hours, charges and margins of commodity contracts of NSE"),
        ("NSE:CRUDEOIL26JUN6000CE", "of commodity contracts of NSE"),
        ("MCX:CRUDEOIL26JUN6000CE", "Options on MCX end as futures"),
        ("BSE:SENSEX5026JUNFUT", "Its lot is not known"),
    ],
)
def test_a_symbol_outside_the_rulebook_is_refused(symbol: str, reason: str) -> None:
    assert reason in refused(symbol)[symbol]
    ends_as_a_future = symbol.startswith("MCX")
    assert (symbol in refused(symbol, charges="none")) == ends_as_a_future


@pytest.mark.django_db
def test_the_lot_that_a_master_lists_is_enough() -> None:
    symbol = "BSE:SENSEX5026JUNFUT"
    future(symbol, expiry=date(2026, 6, 25), underlying="SENSEX50")
    assert refused(symbol) == {}


@pytest.mark.parametrize(
    ("symbol", "expiry", "lot"),
    [
        ("NSE:NIFTY15DECFUT", "2015-12-31", None),
        ("NSE:NIFTY18MARFUT", "2018-03-28", 75),
        ("NSE:NIFTY21JUNFUT", "2021-06-24", 75),
        ("NSE:NIFTY21JULFUT", "2021-07-29", 50),
        ("NSE:NIFTY24MAY0222500CE", "2024-05-02", 25),
        ("NSE:NIFTY24APR22500CE", "2024-04-25", 50),
        ("NSE:NIFTY24DEC1924000CE", "2024-12-19", 25),
        ("NSE:NIFTY25JAN0224000CE", "2025-01-02", 75),
        ("NSE:NIFTY25JANFUT", "2025-01-30", 25),
        ("NSE:NIFTY25DEC2326000CE", "2025-12-23", 75),
        ("NSE:NIFTY26JAN0626000CE", "2026-01-06", 65),
        ("NSE:BANKNIFTY18OCTFUT", "2018-10-25", 40),
        ("NSE:BANKNIFTY20JAN2331000CE", "2020-01-23", 20),
        ("NSE:BANKNIFTY20JUL2322000CE", "2020-07-23", 20),
        ("NSE:BANKNIFTY20JULFUT", "2020-07-30", 25),
        ("NSE:BANKNIFTY23JULFUT", "2023-07-27", 15),
        ("NSE:BANKNIFTY23JUL2046000CE", "2023-07-20", 25),
        ("NSE:BANKNIFTY25JANFUT", "2025-01-30", 15),
        ("NSE:BANKNIFTY25FEBFUT", "2025-02-27", 30),
        ("NSE:BANKNIFTY25JULFUT", "2025-07-31", 35),
        ("NSE:BANKNIFTY26JANFUT", "2026-01-27", 30),
        ("NSE:FINNIFTY24JUNFUT", "2024-06-25", 40),
        ("NSE:FINNIFTY24JULFUT", "2024-07-30", 25),
        ("NSE:FINNIFTY25FEBFUT", "2025-02-27", 65),
        ("NSE:FINNIFTY26JANFUT", "2026-01-27", 60),
        ("NSE:MIDCPNIFTY24JUNFUT", "2024-06-24", 75),
        ("NSE:MIDCPNIFTY24JULFUT", "2024-07-29", 50),
        ("NSE:MIDCPNIFTY25JUNFUT", "2025-06-26", 120),
        ("NSE:MIDCPNIFTY25JULFUT", "2025-07-31", 140),
        ("NSE:MIDCPNIFTY26JANFUT", "2026-01-27", 120),
        ("BSE:SENSEX23MAYFUT", "2023-05-26", 10),
        ("BSE:SENSEX25FEBFUT", "2025-02-25", 20),
        ("BSE:BANKEX24DECFUT", "2024-12-30", 15),
        ("BSE:BANKEX25FEBFUT", "2025-02-25", 30),
    ],
)
def test_lots_of_contracts_on_indices_by_expiry(symbol: str, expiry: str, lot: int | None) -> None:
    """The lots are from the circulars, bhavcopies and brokers' lists named in lots.csv."""
    assert lot_at_expiry(RULES, Symbol.parse(symbol), date.fromisoformat(expiry)) == lot


def test_without_a_database_no_master_lists_a_contract() -> None:
    asked = strategy(basicInfo={"symbols": ["BSE:SENSEX5026JUNFUT", "NSE:NIFTY26JUNFUT"]})
    refusals = dict(untradable_symbols(asked, rule_set=RULES, day=DAY, listed=()))
    assert list(refusals) == ["BSE:SENSEX5026JUNFUT"]
