"""Charges by date: the notes of others to the last digit, and the kernel's as the ledger's."""

from datetime import date
from decimal import Decimal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.engine.kernel import fills
from apps.engine.simulation.plan import rate_rows
from apps.market.rulebook.book import bundled
from apps.market.rulebook.charges import (
    Dealing,
    Note,
    dealing_of,
    note_of,
    schedule_of,
    unknown_items,
)
from apps.market.rulebook.dates import day_number
from apps.market.rulebook.rows import Product, Side

BOOK = bundled()


def note(
    symbol: str,
    side: Side,
    value: str,
    day: str,
    *,
    product: Product = "carryforward",
    broker: str = "none",
) -> Note:
    dealing = dealing_of(BOOK, symbol, product=product, broker=broker)
    return note_of(BOOK, dealing, side=side, value=Decimal(value), day=date.fromisoformat(day))


def amounts(found: Note) -> dict[str, Decimal]:
    return {charge.item: charge.amount for charge in found.charges}


def exchange_and_fund(found: Note) -> Decimal:
    """As Kite's notes tell it: the fee and the contribution to the fund are one figure."""
    items = amounts(found)
    return items["exchange_fee"] + items.get("ipft", Decimal(0))


def without_stamp(found: Note) -> Decimal:
    """The mocks of 2023 leave stamp duty out of their totals."""
    items = amounts(found)
    return sum(items.values(), Decimal(0)) - items.get("stamp_duty", Decimal(0))


def test_kite_sells_one_petal_of_gold() -> None:
    found = note("MCX:GOLDPETAL23JUNFUT", "sell", "5862", "2023-05-15", broker="discount")
    assert amounts(found) == {
        "brokerage": Decimal("1.7586"),
        "transaction_tax": Decimal("0.5862"),
        "exchange_fee": Decimal("0.152412"),
        "sebi_fee": Decimal("0.005862"),
        "gst": Decimal("0.34503732"),
    }
    assert without_stamp(found) == Decimal("2.84811132")


def test_kite_buys_a_share_to_keep() -> None:
    found = note("NSE:SBIN", "buy", "560", "2023-05-15", product="delivery", broker="discount")
    items = amounts(found)
    assert items["transaction_tax"] == Decimal("0.56")
    assert exchange_and_fund(found) == Decimal("0.01876")
    assert items["sebi_fee"] == Decimal("0.00056")
    assert items["gst"] == Decimal("0.0033768")
    assert without_stamp(found) == Decimal("0.5826968")


def test_kite_buys_a_hundred_puts() -> None:
    found = note("NSE:NIFTY23MAY1118000PE", "buy", "150", "2023-05-10", broker="discount")
    items = amounts(found)
    assert exchange_and_fund(found) == Decimal("0.07575")
    assert items["sebi_fee"] == Decimal("0.00015")
    assert items["brokerage"] == 20
    assert items["gst"] == Decimal("3.613527")
    assert without_stamp(found) == Decimal("23.689427")


def test_kite_buys_shares_at_the_rates_of_2022() -> None:
    """Its note has a paisa of brokerage in the base of the tax."""
    found = note("NSE:INFY", "buy", "1498", "2022-06-01", product="delivery")
    items = amounts(found)
    assert items["exchange_fee"] == Decimal("0.051681")
    assert items["stamp_duty"].quantize(Decimal("0.01")) == Decimal("0.22")
    with_a_paisa = items["exchange_fee"] + items["sebi_fee"] + Decimal("0.01")
    assert with_a_paisa * Decimal("0.18") == Decimal("0.01137222")


def test_both_sides_of_fifty_lakhs_of_shares_at_the_rates_of_october_2024() -> None:
    """11,124.06 is what others tell, who tax the contribution to the fund too."""
    bought = note("NSE:SBIN", "buy", "5000000", "2024-10-01", product="delivery")
    sold = note("NSE:SBIN", "sell", "5000000", "2024-10-01", product="delivery")
    assert bought.total + sold.total == Decimal("11122.26")
    fund = amounts(bought)["ipft"] + amounts(sold)["ipft"]
    assert bought.total + sold.total + fund * Decimal("0.18") == Decimal("11124.06")


@pytest.mark.parametrize(
    ("symbol", "product", "day", "percent"),
    [
        ("NSE:SBIN", "delivery", "2012-06-30", "0.125"),
        ("NSE:SBIN", "delivery", "2012-07-01", "0.1"),
        ("BSE:SBIN", "intraday", "2026-11-20", "0.025"),
        ("NSE:NIFTY26MARFUT", "carryforward", "2026-03-31", "0.02"),
        ("NSE:NIFTY26APRFUT", "intraday", "2026-04-01", "0.05"),
        ("NSE:NIFTY16JUN8000CE", "carryforward", "2016-05-31", "0.017"),
        ("NSE:NIFTY26APR24000CE", "carryforward", "2026-04-01", "0.15"),
        ("MCX:CRUDEOIL24MARFUT", "carryforward", "2024-03-01", "0.01"),
        ("MCX:CARDAMOM24MARFUT", "carryforward", "2024-03-01", "0"),
        ("NCDEX:GUARGUM524MARFUT", "carryforward", "2024-03-01", "0.01"),
    ],
)
def test_the_tax_on_a_sale_is_that_of_its_day(
    symbol: str, product: Product, day: str, percent: str
) -> None:
    found = note(symbol, "sell", "100", day, product=product)
    assert amounts(found)["transaction_tax"] == Decimal(percent)


def test_a_row_that_names_the_underlying_beats_the_row_of_all_others() -> None:
    named = note("BSE:SENSEX25JAN80000CE", "buy", "10000", "2025-01-01")
    other = note("BSE:SENSEX5025JAN26000CE", "buy", "10000", "2025-01-01")
    assert (amounts(named)["exchange_fee"], amounts(other)["exchange_fee"]) == (
        Decimal("3.25"),
        Decimal("0.5"),
    )


def test_the_product_decides_tax_and_stamp_duty_of_shares_and_of_nothing_else() -> None:
    kept, closed = (
        amounts(note("NSE:SBIN", "buy", "100000", "2025-01-01", product=product))
        for product in ("carryforward", "intraday")
    )
    assert (kept["transaction_tax"], kept["stamp_duty"]) == (100, 15)
    assert (closed.get("transaction_tax"), closed["stamp_duty"]) == (None, 3)
    futures = {
        note("NSE:NIFTY25JANFUT", "sell", "100000", "2025-01-01", product=product).total
        for product in ("carryforward", "intraday")
    }
    assert len(futures) == 1


def test_a_broker_nobody_has_prices_of_costs_as_a_discount_broker_does() -> None:
    known, unknown = (
        note("NSE:NIFTY25JANFUT", "sell", "1000000", "2025-01-01", broker=broker).total
        for broker in ("discount", "some house")
    )
    assert known == unknown


def test_items_without_a_rate_on_the_day_are_named() -> None:
    dealing = dealing_of(BOOK, "NSE:SBIN", product="delivery", broker="none")
    assert unknown_items(BOOK, dealing, date(2015, 1, 1)) == ["sebi_fee", "stamp_duty"]
    assert unknown_items(BOOK, dealing, date(2020, 7, 1)) == []


DEALINGS = [
    dealing_of(BOOK, symbol, product=product, broker=broker)
    for symbol in (
        "NSE:SBIN", "BSE:SBIN", "NSE:NIFTY25JANFUT", "NSE:NIFTY25JAN24000CE",
        "BSE:SENSEX25JAN80000CE", "MCX:CRUDEOIL25JANFUT", "NCDEX:GUARSEED1025JANFUT",
    )
    for product in ("intraday", "delivery")
    for broker in ("none", "discount")
]  # fmt: skip
PLACES = ("brokerage", "transaction_tax", "exchange_fee", "ipft", "sebi_fee", "stamp_duty", "gst")


@settings(max_examples=300, deadline=None)
@given(
    st.sampled_from(DEALINGS),
    st.sampled_from(["buy", "sell"]),
    st.dates(date(2009, 1, 1), date(2026, 12, 31)),
    st.integers(1, 10**11),
)
def test_the_kernel_charges_what_the_note_says(
    dealing: Dealing, side: Side, day: date, paise: int
) -> None:
    """Values in paise, as money is; the kernel counts in binary fractions and rounds the same."""
    value = Decimal(paise) / 100
    told = note_of(BOOK, dealing, side=side, value=value, day=day)
    rates = rate_rows(schedule_of(BOOK, [dealing]), {dealing.key: 0})
    plain = fills.charges_on.py_func
    charged = plain(float(value), side == "buy", 0, day_number(day), rates.view(np.recarray))
    kernel_paise = dict(zip(PLACES, charged, strict=True))
    assert {item: kernel_paise[item] for item in kernel_paise if kernel_paise[item]} == {
        charge.item: float(charge.rounded * 100) for charge in told.charges if charge.rounded
    }
    assert np.isclose(sum(kernel_paise.values()) / 100, float(told.total), rtol=0, atol=1e-9)
