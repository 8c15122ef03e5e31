"""The end of contracts: settlement prices, their charges, and delivery."""

from datetime import UTC, date, datetime
from typing import Any

import numpy as np
import pytest

from apps.core.times import midnight
from apps.engine.candles import Candles
from apps.engine.candles.symbols import Symbol
from apps.market import services as market
from apps.market.rulebook.contracts import MarketRules, bundled_market_rules
from apps.market.rulebook.files.rule_set import bundled_rule_set
from apps.market.rulebook.settlements import is_delivered
from apps.market.rulebook.tradable import expired_among
from apps.market.services import market_rules_of
from tests import make
from tests.engine.strategies import strategy

JANUARY = date(2026, 1, 27)  # Tuesday, NIFTY's monthly expiry
CALL, PUT = "NSE:NIFTY26JAN24950CE", "NSE:NIFTY26JAN25100PE"
FUTURE, OF_SHARE = "NSE:NIFTY26JANFUT", "NSE:SBIN26JANFUT"


def rules_of(symbol: str, *, last: date = JANUARY, **settings: Any) -> MarketRules:
    asked = strategy(basicInfo={"symbols": [symbol]}, executionSettings=settings)
    return market_rules_of(asked, first=date(2026, 1, 5), last=last)


def hold(symbol: str, timeframe: str, start: int, closes: list[float], length: int) -> None:
    price = np.array(closes)
    bars = Candles.build(
        start + length * np.arange(len(closes)),
        open=price,
        high=price,
        low=price,
        close=price,
        volume=np.zeros(len(closes)),
    )
    market.append(symbol=symbol, timeframe=timeframe, candles=bars, now=make.NOW)


def settled(symbol: str, **settings: Any) -> tuple[float, float, list[str]]:
    """Return price and tax of the settlement, and the codes of its notes."""
    rules = rules_of(symbol, **settings)
    contract = rules.contract(symbol, lambda day: 100.0)
    notes = [note.code for note in rules.expiry_notes(symbol)]
    return contract.settlement.price, contract.settlement.tax, notes


@pytest.mark.django_db
def test_contracts_on_an_index_settle_at_its_official_close() -> None:
    hold("NSE:NIFTY", "1m", midnight(JANUARY) + 15 * 3600, [1.0] * 30, 60)
    hold("NSE:NIFTY", "1d", midnight(JANUARY), [25_031.40], 86_400)
    assert settled(FUTURE) == (25_031.40, 0.0, [])
    assert settled(CALL) == (81.40, 0.00125, [])
    assert settled(PUT) == (68.60, 0.00125, [])
    assert settled("NSE:NIFTY26JAN25100CE") == (0.0, 0.00125, [])
    assert settled(CALL, charges="none") == (81.40, 0.0, [])


@pytest.mark.django_db
def test_without_an_official_close_the_mean_of_the_last_minutes_settles_with_a_note() -> None:
    hold(
        "NSE:NIFTY",
        "1m",
        midnight(JANUARY) + 14 * 3600 + 59 * 60,
        [1.0, *[25_000.0] * 15, *[25_010.0] * 15],
        60,
    )
    price, _, notes = settled(FUTURE)
    assert (price, notes) == (25_005.0, ["approximate_settlement"])


@pytest.mark.django_db
def test_otherwise_the_last_close_of_the_index_or_contract_settles() -> None:
    price, _, notes = settled(FUTURE)
    assert np.isnan(price)
    assert notes == ["approximate_settlement"]
    hold("NSE:NIFTY", "15m", midnight(JANUARY) + 15 * 3600, [25_000.0, 25_020.0], 900)
    assert settled(FUTURE) == (25_020.0, 0.0, ["approximate_settlement"])


@pytest.mark.django_db
def test_an_unfinished_session_decides_no_settlement() -> None:
    hold("NSE:NIFTY", "1d", midnight(JANUARY), [25_031.40], 86_400)
    asked = strategy(basicInfo={"symbols": [FUTURE]})
    closes = midnight(JANUARY) + 15 * 3600 + 30 * 60
    for until, price in ((closes - 1, np.nan), (closes, 25_031.40)):
        rules = market_rules_of(asked, first=JANUARY, last=JANUARY, until=until)
        contract = rules.contract(FUTURE, lambda day: 25_000.0)
        assert contract.settlement.price == pytest.approx(price, nan_ok=True)


@pytest.mark.parametrize(
    ("day", "percent"), [("2019-08-29", 0.125 * 110), ("2019-09-26", 0.125), ("2026-04-28", 0.15)]
)
@pytest.mark.django_db
def test_who_exercises_pays_the_tax_of_the_date(day: str, percent: float) -> None:
    """The settlement of 11,000 is about 11,100, so that the total is 110 times the gain."""
    expiry = date.fromisoformat(day)
    symbol = f"NSE:NIFTY{expiry:%y%b}10900CE".upper()
    hold("NSE:NIFTY", "1d", midnight(expiry), [11_000.0], 86_400)
    asked = strategy(basicInfo={"symbols": [symbol]})
    rules = market_rules_of(asked, first=expiry, last=expiry)
    settlement = rules.contract(symbol, lambda day: 100.0).settlement
    assert settlement.price == 100.0
    assert settlement.tax * 100 == pytest.approx(percent)


@pytest.mark.django_db
def test_contracts_on_shares_are_left_before_they_are_delivered() -> None:
    rules = rules_of(OF_SHARE)
    contract = rules.contract(OF_SHARE, lambda day: 800.0)
    assert contract.delivered
    assert contract.ends == midnight(JANUARY) + 15 * 3600 + 30 * 60
    (note,) = rules.expiry_notes(OF_SHARE)
    assert note.code == "physical_settlement_avoided"
    assert not rules_of(FUTURE).contract(FUTURE, lambda day: 25_000.0).delivered


def test_contracts_on_shares_settled_in_cash_before_july_2018() -> None:
    assert not is_delivered("stock_future", date(2018, 6, 28))
    assert is_delivered("stock_future", date(2018, 7, 26))
    assert is_delivered("goods_future", date(2018, 6, 28))
    assert not is_delivered("index_option", date(2026, 1, 27))


@pytest.mark.parametrize(
    ("symbol", "expiry"),
    [
        ("NSE:NIFTY18MARFUT", "2018-03-28"),
        ("NSE:NIFTY14FEBFUT", "2014-02-26"),
        ("NSE:NIFTY14APRFUT", "2014-04-23"),
        ("NSE:NIFTY26MARFUT", "2026-03-30"),
    ],
)
def test_a_month_that_ends_with_a_holiday_ends_a_contract_before_it(
    symbol: str, expiry: str
) -> None:
    day = date.fromisoformat(expiry)
    asked = strategy(basicInfo={"symbols": [symbol]})
    rules = bundled_market_rules(asked, first=day, last=day)
    contract = rules.contract(symbol, lambda day: 100.0)
    assert contract.ends == midnight(day) + 15 * 3600 + 30 * 60


@pytest.mark.django_db
def test_a_contract_has_expired_when_its_last_session_is_over() -> None:
    close = datetime(2026, 1, 27, 10, 0, tzinfo=UTC)  # 15:30 in Asia/Kolkata
    symbols, rules = [FUTURE, "NSE:SBIN", CALL], bundled_rule_set()
    before = close.replace(hour=9, minute=59)
    assert expired_among(symbols, rule_set=rules, now=before) == []
    assert expired_among(symbols, rule_set=rules, now=close) == [FUTURE, CALL]
    assert Symbol.parse(FUTURE).day is None
