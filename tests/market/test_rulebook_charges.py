"""Charges by date: others' contract notes to the last digit, and the kernel's charges as the
ledger's.
"""

from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from apps.core.times import day_number
from apps.engine.simulation.plan import rate_rows
from apps.market.rulebook.charges import (
    ChargeBasis,
    FillCharges,
    charge_basis_of,
    charges_of,
    schedule_of,
    unknown_items,
)
from apps.market.rulebook.files.rows import OrderSide, Product
from apps.market.rulebook.files.rule_set import bundled_rule_set
from tests.engine.compiled_charges import charges_on

BOOK = bundled_rule_set()


def note(
    symbol: str,
    side: OrderSide,
    value: str,
    day: str,
    *,
    product: Product = "carryforward",
    broker: str = "none",
) -> FillCharges:
    basis = charge_basis_of(BOOK, symbol, product=product, broker=broker)
    return charges_of(BOOK, basis, side=side, value=Decimal(value), day=date.fromisoformat(day))


def amounts(charges: FillCharges) -> dict[str, Decimal]:
    return {charge.item: charge.amount for charge in charges.charges}


def exchange_fee(symbol: str, day: str, expiry: str | None = None) -> Decimal:
    """Return the fee for a purchase worth a crore."""
    expires = None if expiry is None else date.fromisoformat(expiry)
    basis = charge_basis_of(BOOK, symbol, product="delivery", broker="none", expiry=expires)
    bought = charges_of(BOOK, basis, side="buy", value=Decimal(10**7), day=date.fromisoformat(day))
    return amounts(bought)["exchange_fee"]


def exchange_and_fund(charges: FillCharges) -> Decimal:
    """Return the fee and the contribution to the fund as one figure, as in Kite's notes."""
    items = amounts(charges)
    return items["exchange_fee"] + items.get("ipft", Decimal(0))


def without_stamp(charges: FillCharges) -> Decimal:
    """The mocks of 2023 omit stamp duty from their totals."""
    items = amounts(charges)
    return sum(items.values(), Decimal(0)) - items.get("stamp_duty", Decimal(0))


def test_kite_sells_one_petal_of_gold() -> None:
    charges = note("MCX:GOLDPETAL23JUNFUT", "sell", "5862", "2023-05-15", broker="discount")
    assert amounts(charges) == {
        "brokerage": Decimal("1.7586"),
        "transaction_tax": Decimal("0.5862"),
        "exchange_fee": Decimal("0.152412"),
        "sebi_fee": Decimal("0.005862"),
        "gst": Decimal("0.34503732"),
    }
    assert without_stamp(charges) == Decimal("2.84811132")


def test_kite_buys_a_share_to_keep() -> None:
    charges = note("NSE:SBIN", "buy", "560", "2023-05-15", product="delivery", broker="discount")
    items = amounts(charges)
    assert items["transaction_tax"] == Decimal("0.56")
    assert exchange_and_fund(charges) == Decimal("0.01876")
    assert items["sebi_fee"] == Decimal("0.00056")
    assert items["gst"] == Decimal("0.0033768")
    assert without_stamp(charges) == Decimal("0.5826968")


def test_kite_buys_a_hundred_puts() -> None:
    charges = note("NSE:NIFTY23MAY1118000PE", "buy", "150", "2023-05-10", broker="discount")
    items = amounts(charges)
    assert exchange_and_fund(charges) == Decimal("0.07575")
    assert items["sebi_fee"] == Decimal("0.00015")
    assert items["brokerage"] == 20
    assert items["gst"] == Decimal("3.613527")
    assert without_stamp(charges) == Decimal("23.689427")


def test_kite_buys_shares_at_the_rates_of_2022() -> None:
    """Its note has a paisa of brokerage in the base of the tax."""
    charges = note("NSE:INFY", "buy", "1498", "2022-06-01", product="delivery")
    items = amounts(charges)
    assert items["exchange_fee"] == Decimal("0.051681")
    assert items["stamp_duty"].quantize(Decimal("0.01")) == Decimal("0.22")
    with_a_paisa = items["exchange_fee"] + items["sebi_fee"] + Decimal("0.01")
    assert with_a_paisa * Decimal("0.18") == Decimal("0.01137222")


def test_both_sides_of_fifty_lakhs_of_shares_at_the_rates_of_october_2024() -> None:
    """Other sources have 11,124.06, because they tax the contribution to the fund too."""
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
    charges = note(symbol, "sell", "100", day, product=product)
    assert amounts(charges)["transaction_tax"] == Decimal(percent)


def test_a_row_that_names_the_underlying_wins_over_the_general_row() -> None:
    named = note("BSE:SENSEX25JAN80000CE", "buy", "10000", "2025-01-01")
    other = note("BSE:SENSEX5025JAN26000CE", "buy", "10000", "2025-01-01")
    assert (amounts(named)["exchange_fee"], amounts(other)["exchange_fee"]) == (
        Decimal("3.25"),
        Decimal("0.5"),
    )


@pytest.mark.parametrize(
    ("symbol", "kind", "tax_buy", "tax_sell", "tax_intraday"),
    [
        ("NSE:SBIN", "share", "100", "100", "25"),
        ("NSE:NIFTYBEES", "equity_etf", "0", "1", "25"),
        ("BSE:SENSEXBEES", "equity_etf", "0", "1", "25"),
        ("NSE:GOLDBEES", "gold_etf", "0", "0", "0"),
        ("NSE:SILVERBEES", "silver_etf", "0", "0", "0"),
        ("BSE:EBBETF0430", "debt_etf", "0", "0", "0"),
        ("NSE:LIQUIDBEES", "liquid_etf", "0", "0", "0"),
        ("NSE:MON100", "overseas_etf", "0", "0", "0"),
    ],
)
def test_units_of_funds_are_taxed_by_the_kind_of_their_assets(
    symbol: str, kind: str, tax_buy: str, tax_sell: str, tax_intraday: str
) -> None:
    """The value is a lakh. Other charges are as on shares."""
    basis = charge_basis_of(BOOK, symbol, product="delivery", broker="none")
    assert (basis.instrument, basis.segment) == (kind, "equity")
    bought, sold = (
        amounts(note(symbol, side, "100000", "2025-06-02", product="delivery"))
        for side in ("buy", "sell")
    )
    intraday = amounts(note(symbol, "sell", "100000", "2025-06-02", product="intraday"))
    assert [items["transaction_tax"] for items in (bought, sold, intraday)] == [
        Decimal(tax_buy),
        Decimal(tax_sell),
        Decimal(tax_intraday),
    ]
    share = f"{basis.exchange}:SBIN"
    shares = amounts(note(share, "buy", "100000", "2025-06-02", product="delivery"))
    assert {**shares, "transaction_tax": Decimal(0)} == {**bought, "transaction_tax": Decimal(0)}


def test_funds_were_taxed_as_shares_before_june_2013() -> None:
    for side in ("buy", "sell"):
        before = note("NSE:NIFTYBEES", side, "100000", "2013-05-31", product="delivery")
        assert amounts(before)["transaction_tax"] == 100


def test_every_listed_fund_is_of_a_kind_that_has_rates_of_its_own() -> None:
    assert {row.kind for row in BOOK.etfs} == {
        "equity",
        "gold",
        "silver",
        "debt",
        "liquid",
        "overseas",
    }
    taxed = {
        row.root
        for row in BOOK.etfs
        if amounts(
            note(
                f"{row.exchanges[0]}:{row.root}", "sell", "100000", "2025-06-02", product="delivery"
            )
        )["transaction_tax"]
    }
    assert taxed == {row.root for row in BOOK.etfs if row.kind == "equity"}
    assert len(BOOK.etfs) > 350


@pytest.mark.parametrize(
    ("symbol", "day", "crore"),
    [
        ("NSE:SBIN", "2020-12-31", "325"),
        ("NSE:SBIN", "2024-06-03", "322"),
        ("NSE:SBIN", "2026-02-27", "297"),
        ("NSE:SBIN", "2026-03-02", "306.99"),
        ("NSE:NIFTY24MARFUT", "2024-03-28", "190"),
        ("NSE:NIFTY24APRFUT", "2024-04-01", "188"),
        ("NSE:NIFTY24SEPFUT", "2024-09-30", "188"),
        ("NSE:NIFTY24OCTFUT", "2024-10-01", "173"),
        ("NSE:NIFTY26MARFUT", "2026-03-02", "182.99"),
        ("NSE:NIFTY24MAR22000CE", "2024-03-28", "5000"),
        ("NSE:NIFTY24APR22000CE", "2024-04-01", "4950"),
        ("NSE:NIFTY24SEP25000CE", "2024-09-30", "4950"),
        ("NSE:NIFTY24OCT25000CE", "2024-10-01", "3503"),
        ("NSE:NIFTY26MAR25000CE", "2026-03-02", "3552.99"),
        ("BSE:SBIN", "2016-01-04", "275"),
        ("BSE:SBIN", "2020-01-01", "300"),
        ("BSE:SBIN", "2021-03-01", "345"),
        ("BSE:SBIN", "2022-11-30", "345"),
        ("BSE:SBIN", "2022-12-01", "375"),
        ("BSE:SENSEX22APR58000CE", "2022-04-29", "0"),
        ("BSE:SENSEX22MAY58000CE", "2022-05-02", "500"),
        ("BSE:BANKEX24MAY54000CE", "2024-05-10", "500"),
        ("BSE:BANKEX24MAY54000CE", "2024-05-13", "4950"),
        ("BSE:SENSEX24MAY73000CE", "2024-05-13", "4950"),
        ("BSE:SENSEX24OCT85000CE", "2024-10-01", "3250"),
        ("BSE:SENSEX5024OCT27000CE", "2024-10-01", "500"),
        ("BSE:SENSEX24OCTFUT", "2024-10-01", "0"),
    ],
)
def test_the_exchange_fee_of_a_crore_matches_the_circular_of_the_day(
    symbol: str, day: str, crore: str
) -> None:
    assert exchange_fee(symbol, day) == Decimal(crore)


def test_the_contribution_to_the_fund_is_one_paisa_a_crore_again_from_march_2026() -> None:
    funds = [
        amounts(note("NSE:SBIN", "buy", "10000000", day))["ipft"]
        for day in ("2023-03-31", "2023-04-03", "2026-02-27", "2026-03-02")
    ]
    assert funds == [Decimal("0.01"), 10, 10, Decimal("0.01")]


def test_options_on_sensex_cost_more_in_the_week_of_their_expiry() -> None:
    """BSE's own example: on 2023-11-01 the nearest expiry is 11-03, on 11-06 it is 11-10.

    On 2024-01-20, a Saturday with a session, it is Thursday 01-25, because Friday was a holiday.
    """
    first, second = "BSE:SENSEX23NOV0364000CE", "BSE:SENSEX23NOV1064000CE"
    assert exchange_fee(first, "2023-10-31", "2023-11-03") == 500
    assert exchange_fee(first, "2023-11-01", "2023-11-03") == 3750
    assert exchange_fee(first, "2023-11-03", "2023-11-03") == 3750
    assert exchange_fee(second, "2023-11-03", "2023-11-10") == 500
    assert exchange_fee(second, "2023-11-06", "2023-11-10") == 3750
    january = "BSE:SENSEX24JAN71000CE"
    assert exchange_fee(january, "2024-01-19", "2024-01-25") == 500
    assert exchange_fee(january, "2024-01-20", "2024-01-25") == 3750
    assert exchange_fee(january, "2024-01-20") == 500, "its expiry is not known"
    assert exchange_fee("BSE:BANKEX23NOV49000CE", "2023-11-30", "2023-11-30") == 500


@pytest.mark.parametrize(
    ("broker", "day", "charge"),
    [
        ("zerodha", "2024-05-31", "15.93"),
        ("zerodha", "2024-06-03", "15.34"),
        ("discount", "2025-06-02", "15.34"),
        (None, "2025-06-02", "15.34"),
        ("none", "2025-06-02", "0"),
    ],
)
def test_a_sale_from_the_demat_account_pays_the_brokers_charge_with_gst(
    broker: str | None, day: str, charge: str
) -> None:
    basis = charge_basis_of(BOOK, "NSE:SBIN", product="delivery", broker=broker)
    sold_on = date.fromisoformat(day)
    overnight, bought_today = (
        charges_of(
            BOOK, basis, side="sell", value=Decimal(100_000), day=sold_on, from_demat=from_demat
        )
        for from_demat in (True, False)
    )
    assert overnight.total - bought_today.total == Decimal(charge)
    assert "depository_charge" not in amounts(bought_today)


def test_only_sales_in_delivery_pay_a_depository() -> None:
    side: Any
    product: Any
    for symbol, side, product in (
        ("NSE:SBIN", "buy", "delivery"),
        ("NSE:SBIN", "sell", "intraday"),
        ("NSE:NIFTY25JANFUT", "sell", "carryforward"),
        ("MCX:GOLD25FEBFUT", "sell", "delivery"),
    ):
        fill = note(symbol, side, "100000", "2025-01-02", product=product, broker="zerodha")
        assert "depository_charge" not in amounts(fill)


def test_an_index_has_no_charges() -> None:
    basis = charge_basis_of(
        BOOK, "NSE:BANKNIFTY", product="delivery", broker="zerodha", is_index=True
    )
    sale = charges_of(BOOK, basis, side="sell", value=Decimal(10**6), day=date(2025, 1, 2))
    assert basis.instrument == "index"
    assert (sale.charges, sale.unknown, sale.total) == ((), (), Decimal(0))
    assert schedule_of(BOOK, [basis]) == ()
    future = charge_basis_of(
        BOOK, "NSE:BANKNIFTY25JANFUT", product="delivery", broker="zerodha", is_index=True
    )
    assert future.instrument == "future"


def test_the_product_decides_tax_and_stamp_duty_of_shares_and_of_nothing_else() -> None:
    kept, closed = (
        amounts(note("NSE:SBIN", "buy", "100000", "2025-01-01", product=product))
        for product in ("carryforward", "intraday")
    )
    assert (kept["transaction_tax"], kept["stamp_duty"]) == (Decimal(100), Decimal(15))
    assert (closed.get("transaction_tax"), closed["stamp_duty"]) == (None, Decimal(3))
    futures = {
        note("NSE:NIFTY25JANFUT", "sell", "100000", "2025-01-01", product=product).total
        for product in ("carryforward", "intraday")
    }
    assert len(futures) == 1


def test_a_broker_without_known_prices_costs_as_a_discount_broker() -> None:
    known, unknown = (
        note("NSE:NIFTY25JANFUT", "sell", "1000000", "2025-01-01", broker=broker).total
        for broker in ("discount", "some house")
    )
    assert known == unknown


def test_items_without_a_rate_on_the_day_are_named() -> None:
    basis = charge_basis_of(BOOK, "NSE:SBIN", product="delivery", broker="none")
    assert unknown_items(BOOK, basis, date(2015, 1, 1)) == ["sebi_fee", "stamp_duty"]
    assert unknown_items(BOOK, basis, date(2020, 7, 1)) == []


BASES = [
    charge_basis_of(BOOK, symbol, product=product, broker=broker)
    for symbol in tuple(
        """
        NSE:SBIN BSE:SBIN NSE:NIFTYBEES NSE:GOLDBEES NSE:NIFTY25JANFUT NSE:NIFTY25JAN24000CE
        BSE:SENSEX25JAN80000CE BSE:SENSEX23NOV0364000CE MCX:CRUDEOIL25JANFUT
        NCDEX:GUARSEED1025JANFUT
    """.split()
    )
    for product in ("intraday", "delivery")
    for broker in ("none", "discount")
]
PLACES = (
    "brokerage",
    "transaction_tax",
    "exchange_fee",
    "ipft",
    "sebi_fee",
    "stamp_duty",
    "gst",
    "depository_charge",
)


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(BASES),
    st.sampled_from(["buy", "sell"]),
    st.dates(date(2009, 1, 1), date(2026, 12, 31)),
    st.integers(1, 10**11),
    st.booleans(),
)
def test_the_kernel_charges_the_amounts_of_the_note(
    basis: ChargeBasis, side: OrderSide, day: date, paise: int, from_demat: bool
) -> None:
    """Values are in paise, as money is; the kernel's binary fractions round the same way."""
    value = Decimal(paise) / 100
    charges = charges_of(BOOK, basis, side=side, value=value, day=day, from_demat=from_demat)
    rates = rate_rows(schedule_of(BOOK, [basis]), {basis.key: 0})
    buying = side == "buy"
    delivers = from_demat and not buying
    charged = charges_on(float(value), buying, delivers, rates, day=day_number(day))
    kernel_paise = dict(zip(PLACES, charged, strict=True))
    assert {item: kernel_paise[item] for item in kernel_paise if kernel_paise[item]} == {
        charge.item: float(charge.rounded * 100) for charge in charges.charges if charge.rounded
    }
    assert np.isclose(sum(kernel_paise.values()) / 100, float(charges.total), rtol=0, atol=1e-9)
