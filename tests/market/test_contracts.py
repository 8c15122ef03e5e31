"""Rules and masters for a strategy's symbols, in the engine's terms."""

from collections.abc import Callable
from dataclasses import replace
from datetime import date, datetime, timedelta
from decimal import Decimal
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from django.core.management import call_command

from apps.core.times import INDIA, day_number
from apps.engine.candles.symbols import Symbol
from apps.engine.simulation.plan import Contract
from apps.market.rulebook.calendars import calendars_of
from apps.market.rulebook.contracts import InstrumentFacts, MarketRules, bundled_market_rules
from apps.market.rulebook.expiries import expiry_of
from apps.market.rulebook.files.rule_set import bundled_rule_set
from apps.market.services import market_rules_of
from apps.symbols.models import Instrument, InstrumentTerms
from apps.symbols.services import seed_sample
from apps.symbols.terms import DatedTerms
from tests.engine.strategies import strategy
from tests.symbols.instruments import equity, future, master_of_derivatives

MARCH = date(2026, 3, 2)
AUGUST = date(2026, 8, 3)
DAY = timedelta(days=1)


@pytest.mark.parametrize(
    ("symbol", "has_bands"),
    [
        ("NSE:RELIANCE", True),
        ("BSE:RELIANCE", True),
        ("NSE:NIFTY", False),
        ("NSE:RELIANCE26MARFUT", False),
        ("NSE:NIFTY26MAR25000CE", False),
        ("MCX:CRUDEOIL", False),
        ("MCX:CRUDEOIL26MARFUT", False),
    ],
)
def test_only_shares_have_limits_of_the_day(symbol: str, has_bands: bool) -> None:
    facts = InstrumentFacts(on_index="NIFTY" in symbol)
    assert rules(symbol, facts).contract(symbol, lambda _: 100.0).has_bands is has_bands


def rules(
    symbol: str, facts: InstrumentFacts | None = None, *, day: date = MARCH, **settings: Any
) -> MarketRules:
    asked = strategy(basicInfo={"symbols": [symbol]}, executionSettings=settings)
    return MarketRules(bundled_rule_set(), asked, {symbol: facts or InstrumentFacts()}, day, day)


def at(price: float) -> Callable[[date], float]:
    return lambda day: price


def terms(lot: int, *, tick: str | None = None, multiplier: str | None = None) -> DatedTerms:
    tick_size, unit = (Decimal(text) if text else None for text in (tick, multiplier))
    return DatedTerms(MARCH, lot, tick_size, unit, freeze_quantity=None, source="a test")


def test_an_unknown_symbol_has_the_engines_terms() -> None:
    contract = rules("NSE:ABC").contract("NSE:ABC", at(100.0))
    assert (contract.lot, contract.multiplier, contract.margin, contract.tick) == (
        1,
        1,
        1,
        Contract().tick,
    )


@pytest.mark.parametrize(
    ("price", "tick"), [(249.0, 0.01), (250.0, 0.05), (4_999.0, 0.1), (9_999.0, 0.5), (30_000.0, 5)]
)
def test_a_share_without_a_known_tick_has_that_of_its_price_band(price: float, tick: float) -> None:
    assert rules("NSE:ABC", InstrumentFacts([terms(1)])).contract("NSE:ABC", at(price)).tick == tick


def test_before_the_bands_every_share_had_five_paise() -> None:
    held = rules("NSE:ABC", InstrumentFacts([terms(1)]), day=date(2024, 1, 2))
    assert held.contract("NSE:ABC", at(100.0)).tick == 0.05


def test_ticks_that_change_within_the_range_hold_from_their_day() -> None:
    asked = strategy(basicInfo={"symbols": ["NSE:ABC"]})
    first, bands = date(2024, 1, 2), date(2025, 4, 15)
    facts = {"NSE:ABC": InstrumentFacts([replace(terms(1), valid_from=first)])}
    held = MarketRules(bundled_rule_set(), asked, facts, first, date(2025, 12, 31))
    prices = {first: 240.0, date(2024, 6, 10): 245.0, bands: 1200.0}
    contract = held.contract("NSE:ABC", lambda day: prices[day])
    assert len(contract.later) == 2
    days = (first, date(2024, 6, 9), date(2024, 6, 10), bands)
    assert [contract.on(day_number(day)).tick for day in days] == [0.05, 0.05, 0.01, 0.1]


def test_the_masters_lot_and_value_beat_the_rulebooks() -> None:
    symbol = "MCX:GOLD26APRFUT"
    alone = rules(symbol).contract(symbol, at(1e5))
    assert (alone.lot, alone.multiplier) == (1, 100)
    contract = rules(symbol, InstrumentFacts([terms(2, multiplier="100")])).contract(
        symbol, at(1e5)
    )
    assert (contract.lot, contract.multiplier) == (2, 50)
    counted_as_one = rules("MCX:CRUDEOIL26APRFUT", InstrumentFacts([terms(1)]))
    assert counted_as_one.contract("MCX:CRUDEOIL26APRFUT", at(6e3)).lot == 100


def test_futures_lock_an_estimated_margin_and_say_so() -> None:
    index = rules("NSE:NIFTY26MARFUT", InstrumentFacts(on_index=True))
    share = rules("NSE:SBIN26MARFUT")
    assert index.contract("NSE:NIFTY26MARFUT", at(24e3)).margin == 0.12
    assert share.contract("NSE:SBIN26MARFUT", at(800.0)).margin == 0.2
    note = index.notes("NSE:NIFTY26MARFUT")[-1]
    assert note.code == "estimated_margin"
    assert "12 % is locked, a flat share of the contract's value" in note.message


def test_the_product_decides_the_rates() -> None:
    keys = {
        product: rules("NSE:ABC", productType=product).contract("NSE:ABC", at(1.0)).segment
        for product in ("intraday", "delivery", "carryforward")
    }
    assert keys["delivery"] == keys["carryforward"] == "NSE equity ABC delivery discount share"
    assert keys["intraday"] == "NSE equity ABC intraday discount share"
    held = rules("NSE:ABC", productType="intraday")
    assert {row.segment for row in held.schedule} == {keys["intraday"]}


def test_a_broker_is_found_in_any_case_and_an_unknown_broker_is_reported() -> None:
    known = rules("NSE:ABC", broker="None ").contract("NSE:ABC", at(1.0))
    assert known.segment.endswith(" none share")
    unknown = rules("NSE:ABC", broker="Some House")
    assert [note.code for note in unknown.notes("NSE:ABC")] == ["unknown_broker"]
    assert rules("NSE:ABC", broker="Some House", charges="none").notes("NSE:ABC") == ()


def test_charges_without_a_rate_on_the_first_day_are_reported() -> None:
    (note,) = rules("NSE:ABC", day=date(2018, 1, 1)).notes("NSE:ABC")
    assert note.message == (
        "On 2018-01-01 the rulebook has no rate for SEBI fee, stamp duty of NSE:ABC."
    )


def test_an_index_has_no_charges_and_the_result_suggests_a_tradable_symbol() -> None:
    index = rules("NSE:NIFTY", InstrumentFacts(on_index=True, future="NSE:NIFTY26MARFUT"))
    (note,) = index.notes("NSE:NIFTY")
    assert (note.code, note.message) == (
        "index_traded",
        "NSE:NIFTY is an index, which cannot be traded: the result follows its level, as if one"
        " unit were a share, and no charges are taken. Trade a future on it, such as"
        " NSE:NIFTY26MARFUT, or an option (NSE:NIFTY<YY><MMM><STRIKE>CE) instead.",
    )
    assert index.schedule == ()
    (unknown,) = rules("NSE:NIFTY", InstrumentFacts(on_index=True)).notes("NSE:NIFTY")
    assert "such as NSE:NIFTY<YY><MMM>FUT" in unknown.message
    (without,) = rules("NSE:NIFTYIT", InstrumentFacts(on_index=True, has_derivatives=False)).notes(
        "NSE:NIFTYIT"
    )
    assert without.message.endswith("No future or option on it is listed.")


def test_the_future_to_trade_is_the_first_that_expires_after_the_range(db: None) -> None:
    seed_sample()
    for symbol, expiry in (
        ("NSE:BANKNIFTY26AUGFUT", date(2026, 8, 25)),
        ("NSE:BANKNIFTY26SEPFUT", date(2026, 9, 29)),
        ("NSE:BANKNIFTY26OCTFUT", date(2026, 10, 27)),
        ("NSE:NIFTY26SEPFUT", date(2026, 9, 29)),
    ):
        future(symbol, expiry=expiry, underlying=symbol[4:-8])
    asked = strategy(basicInfo={"symbols": ["NSE:BANKNIFTY", "NSE:SBIN"]})
    facts = market_rules_of(asked, first=AUGUST, last=date(2026, 8, 31)).facts
    assert facts["NSE:BANKNIFTY"].future == "NSE:BANKNIFTY26SEPFUT"
    assert facts["NSE:SBIN"].future == ""


def test_options_that_may_be_sold_say_how_little_is_locked() -> None:
    symbol = "NSE:NIFTY26MAR24000CE"
    asked = strategy(basicInfo={"symbols": [symbol]}, entryConditions={"positionType": "short"})
    held = MarketRules(
        bundled_rule_set(), asked, {symbol: InstrumentFacts(on_index=True)}, MARCH, MARCH
    )
    assert [note.code for note in held.notes(symbol)] == ["assumed_contract", "estimated_margin"]
    contract = held.contract(symbol, at(120.0))
    assert (contract.margin, contract.short_margin, contract.strike) == (1.0, 0.12, 24_000.0)
    assert held.margin_underlying(symbol) == "NSE:NIFTY"
    of_share = rules("NSE:SBIN26MAR800PE")
    assert of_share.contract("NSE:SBIN26MAR800PE", at(20.0)).short_margin == 0.2
    assert of_share.margin_underlying("NSE:SBIN26MAR800PE") is None  # nothing is sold


def test_masters_decide_lots_by_date_and_shares_with_derivatives(db: None) -> None:
    symbols = ["NSE:SBIN", "NSE:SMALL", "NSE:SBIN26SEPFUT"]
    for symbol in symbols[:2]:
        equity(symbol)
    row = future(symbols[2], expiry=date(2026, 9, 29), underlying="SBIN", lot_size=700)
    for day, lot in ((date(2026, 1, 1), 750), (date(2026, 8, 10), 700)):
        InstrumentTerms.objects.create(instrument=row, valid_from=day, lot_size=lot, source="test")
    master_of_derivatives()
    asked = strategy(basicInfo={"symbols": symbols})
    held = market_rules_of(asked, first=AUGUST, last=date(2026, 8, 31))
    contract = held.contract(symbols[2], at(800.0))
    tenth = date(2026, 8, 10)
    lots = [contract.on(day_number(day)).lot for day in (AUGUST, tenth - DAY, tenth)]
    assert lots == [750, 750, 700]
    assert [held.facts[symbol].has_derivatives for symbol in symbols] == [True, False, True]
    last_close = datetime(2026, 9, 29, 15, 40, tzinfo=INDIA).timestamp()
    ends = [held.contract(symbol, at(800.0)).ends for symbol in symbols]
    assert ends == [None, None, last_close]
    assert not any(held.facts[symbol].on_index for symbol in symbols)


def test_without_a_database_the_bundled_edition_and_the_sample_decide() -> None:
    asked = strategy(basicInfo={"symbols": ["NSE:NIFTY26MARFUT"]})
    held = bundled_market_rules(asked, first=MARCH, last=MARCH)
    assert held.facts["NSE:NIFTY26MARFUT"].on_index
    assert held.contract("NSE:NIFTY26MARFUT", at(24e3)).margin == 0.12


@pytest.mark.django_db
@pytest.mark.parametrize("symbol", ["NSE:INFY", "NSE:NIFTY", "NSE:UNLISTED"])
def test_a_database_with_only_the_sample_has_the_terms_of_an_empty_one(symbol: str) -> None:
    seed_sample()
    asked = strategy(basicInfo={"symbols": [symbol]})
    held = market_rules_of(asked, first=MARCH, last=MARCH)
    alone = bundled_market_rules(asked, first=MARCH, last=MARCH)
    assert alone.contract(symbol, at(1500.0)) == held.contract(symbol, at(1500.0))


@pytest.mark.parametrize(
    ("symbol", "last"),
    [
        ("NSE:NIFTY24JAN11FUT", "2024-01-11"),
        ("NSE:NIFTY24JAN0421500CE", "2024-01-04"),
        ("NSE:NIFTY24JANFUT", "2024-01-25"),
        ("NSE:RELIANCE23MARFUT", "2023-03-29"),  # Thursday the 30th was Ram Navami
        ("NSE:BANKNIFTY24FEB46000PE", "2024-02-29"),
        ("NSE:BANKNIFTY24MARFUT", "2024-03-27"),
        ("NSE:FINNIFTY24MAYFUT", "2024-05-28"),
        ("NSE:MIDCPNIFTY24MAYFUT", "2024-05-27"),
        ("NSE:NIFTYNXT5024MAYFUT", "2024-05-31"),
        ("NSE:BANKNIFTY25JANFUT", "2025-01-30"),
        ("NSE:NIFTY25AUGFUT", "2025-08-28"),
        ("NSE:NIFTY25SEPFUT", "2025-09-30"),
        ("BSE:SENSEX24JUNFUT", "2024-06-28"),
        ("BSE:BANKEX24JUN60000CE", "2024-06-24"),
        ("BSE:SENSEX25JANFUT", "2025-01-28"),
        ("BSE:SENSEX25SEPFUT", "2025-09-25"),
        ("MCX:CRUDEOIL25JUNFUT", "2025-06-30"),  # at the latest
    ],
)
def test_a_contract_missing_in_all_masters_expires_by_its_name(symbol: str, last: str) -> None:
    day = date.fromisoformat(last)
    held = rules(symbol, InstrumentFacts(), day=day - 20 * DAY)
    contract = held.contract(symbol, at(100.0))
    closes = held.sessions(symbol).hours(np.array([day_number(day)], np.int32))[1]
    assert contract.ends == closes[0]
    (note,) = (note for note in held.notes(symbol) if note.code == "assumed_contract")
    assert f"No instrument master lists {symbol}: a lot of " in note.message
    assert f"and {last} as its expiry, as its name tells." in note.message


@pytest.mark.slow
@pytest.mark.django_db
def test_expiries_from_names_agree_with_the_masters(market_data: Path) -> None:
    """They are compared with brokers' lists of 2024 to 2026, for each index and some shares."""
    wrong = {}
    for file in ("kite_nfo_nse_bse_2024-04.csv.gz", "kite_nfo_bfo_2026-08.csv.gz"):
        call_command("seed_symbols", market_data / file, "--force", stdout=StringIO())
    contracts = Instrument.objects.filter(type="futures", exchange__in=["NSE", "BSE"])
    calendars = calendars_of(list(contracts.values_list("symbol", flat=True)))
    for symbol, expiry in contracts.values_list("symbol", "expiry"):
        if (computed := expiry_of(Symbol.parse(symbol), calendars[symbol])) != expiry:
            wrong[symbol] = (expiry, computed)
    assert wrong == {}
    assert contracts.count() > 500
