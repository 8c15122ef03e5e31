"""The engine's charges beside contract notes, brokers' calculators and exchanges' circulars."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date
from decimal import ROUND_HALF_UP, Decimal

import pytest

from apps.core.times import day_number
from apps.engine.simulation.plan import rate_rows
from apps.market.rulebook.charges import ChargeBasis, charge_basis_of, charges_of, schedule_of
from apps.market.rulebook.files.rows import OrderSide, Product
from apps.market.rulebook.files.rule_set import bundled_rule_set
from tests.engine.compiled_charges import charges_on

pytestmark = pytest.mark.proof

BOOK = bundled_rule_set()
# The kernel's order of items, and sums that sources give as one figure.
ITEMS = (
    "brokerage",
    "transaction_tax",
    "exchange_fee",
    "ipft",
    "sebi_fee",
    "stamp_duty",
    "gst",
    "depository_charge",
)
SUMS = {"exchange_and_fund": ("exchange_fee", "ipft"), "total": ITEMS}
NSE_2021, NSE_2023, NSE_2024 = "NSE/FA/46730", "NSE/FA/56129", "NSE/FA/61137"
NSE_OCTOBER, NSE_2026 = "NSE/FA/64232", "NSE/FA/73061"


@dataclass(frozen=True)
class Vector:
    """Fills of one day and a source's charges for them, to as many decimals as it gives.

    A fill is (side, quantity, price, whether it sells shares bought on an earlier day).
    """

    source: str
    day: str
    symbol: str
    fills: tuple[tuple[OrderSide, int, str, bool], ...]
    expected: dict[str, str]
    product: Product = "carryforward"
    broker: str = "none"
    expiry: date | None = None

    @property
    def basis(self) -> ChargeBasis:
        return charge_basis_of(
            BOOK, self.symbol, product=self.product, broker=self.broker, expiry=self.expiry
        )


def bought(quantity: int, price: str) -> tuple[OrderSide, int, str, bool]:
    return "buy", quantity, price, False


def sold(quantity: int, price: str, *, overnight: bool = False) -> tuple[OrderSide, int, str, bool]:
    return "sell", quantity, price, overnight


def of_a_crore(
    source: str, day: str, symbol: str, expiry: date | None = None, **expected: str
) -> Vector:
    """Return a circular's charges for a purchase worth a crore."""
    return Vector(source, day, symbol, (bought(10_000, "1000"),), expected, expiry=expiry)


def of_a_lakh(
    source: str, day: str, symbol: str, tax: str, product: Product = "delivery"
) -> Vector:
    """Return a law's tax on a sale worth a lakh."""
    fills = (sold(100, "1000"),)
    return Vector(source, day, symbol, fills, {"transaction_tax": tax}, product)


NOTES = [
    Vector(
        "contract note of Zerodha, scribd.com 794587952",
        "2024-11-13",
        "NSE:LIQUIDCASE",
        (bought(2, "105.34"),),
        {
            "brokerage": "0.00",
            "transaction_tax": "0.00",
            "exchange_and_fund": "0.01",
            "sebi_fee": "0.00",
            "gst": "0.00",
            "stamp_duty": "0",
        },
        "delivery",
        "zerodha",
    ),
    Vector(
        "contract note of Zerodha, scribd.com 888826704",
        "2025-06-18",
        "MCX:CRUDEOILM25JUL6300CE",
        (*2 * (bought(10, "491.45"),), *2 * (sold(10, "475.60"),)),
        {
            "brokerage": "80.00",
            "exchange_fee": "8.08",
            "gst": "15.86",
            "transaction_tax": "5",
            "sebi_fee": "0.02",
            "stamp_duty": "0.29",
        },
        broker="zerodha",
    ),
    Vector(
        "kiteconnect-mocks: order_margins.json, GOLDPETAL",
        "2023-05-15",
        "MCX:GOLDPETAL23JUNFUT",
        (sold(1, "5862"),),
        {
            "brokerage": "1.7586",
            "transaction_tax": "0.5862",
            "exchange_fee": "0.152412",
            "sebi_fee": "0.005862",
            "gst": "0.34503732",
            "total": "2.84811132",
        },
        broker="discount",
    ),
    Vector(
        "kiteconnect-mocks: virtual_contract_note.json, SBIN",
        "2023-05-15",
        "NSE:SBIN",
        (bought(1, "560"),),
        {
            "transaction_tax": "0.56",
            "exchange_and_fund": "0.01876",
            "sebi_fee": "0.00056",
            "gst": "0.0033768",
        },
        "delivery",
        "discount",
    ),
    Vector(
        "kiteconnect-mocks: virtual_contract_note.json, NIFTY puts",
        "2023-05-10",
        "NSE:NIFTY23MAY1118000PE",
        (bought(100, "1.5"),),
        {
            "brokerage": "20",
            "exchange_and_fund": "0.07575",
            "sebi_fee": "0.00015",
            "gst": "3.613527",
        },
        broker="discount",
    ),
    Vector(
        "kiteconnect-mocks: order_margins.json, INFY",
        "2022-06-01",
        "NSE:INFY",
        (bought(1, "1498"),),
        {"exchange_fee": "0.051681", "stamp_duty": "0.22"},
        "delivery",
    ),
    Vector(
        "answer of Kite's order margins of 2025-11-15, INFY",
        "2025-11-14",
        "NSE:INFY",
        (bought(1, "1500"),),
        {"transaction_tax": "1.5", "exchange_and_fund": "0.04605", "sebi_fee": "0.0015"},
        "delivery",
        "zerodha",
    ),
    Vector(
        "Groww's calculator: 50 shares from 1,000 to 1,500",
        "2025-06-02",
        "NSE:RELIANCE",
        (bought(50, "1000"), sold(50, "1500")),
        {
            "transaction_tax": "125.00",
            "exchange_fee": "3.71",
            "sebi_fee": "0.13",
            "stamp_duty": "7.50",
        },
        "delivery",
    ),
    Vector(
        "vivek32ta/nse-charges-api, README: 5 shares from 2,000 to 2,008",
        "2021-02-01",
        "NSE:RELIANCE",
        (bought(5, "2000"), sold(5, "2008")),
        {
            "brokerage": "6.01",
            "transaction_tax": "3",
            "exchange_fee": "0.69",
            "gst": "1.21",
            "sebi_fee": "0.01",
            "stamp_duty": "0.3",
        },
        "intraday",
        "discount",
    ),
    Vector(
        "Zerodha's calculator in March 2026: 500 shares at 1,000, intraday",
        "2026-03-16",
        "NSE:RELIANCE",
        (bought(500, "1000"), sold(500, "1000")),
        {"total": "224.61"},
        "intraday",
        "zerodha",
    ),
    Vector(
        "Zerodha's calculator in March 2026: 500 shares at 1,000, delivery",
        "2026-03-16",
        "NSE:RELIANCE",
        (bought(500, "1000"), sold(500, "1000")),
        {"total": "1112.41"},
        "delivery",
        "zerodha",
    ),
    Vector(
        "Zerodha's calculator in March 2026: futures worth 5 lakh",
        "2026-03-16",
        "NSE:NIFTY26MARFUT",
        (bought(500, "1000"), sold(500, "1000")),
        {"total": "179.97"},
        broker="zerodha",
    ),
    Vector(
        "Zerodha's calculator in March 2026: options worth 5 lakh",
        "2026-03-16",
        "NSE:NIFTY26MAR24000CE",
        (bought(500, "1000"), sold(500, "1000")),
        {"total": "982.63"},
        broker="zerodha",
    ),
    Vector(
        "r/UpdateINDIA 2025-05-28: a lot of RELIANCE 1400 CE from 25 to 35",
        "2025-05-28",
        "NSE:RELIANCE25JUN1400CE",
        (bought(500, "25"), sold(500, "35")),
        {
            "exchange_fee": "10.51",
            "sebi_fee": "0.03",
            "ipft": "0.15",
            "stamp_duty": "0.38",
            "transaction_tax": "17.50",
        },
    ),
    Vector(
        "r/UpdateINDIA 2025-05-28: a lot of RELIANCE futures from 1,420 to 1,450",
        "2025-05-28",
        "NSE:RELIANCE25JUNFUT",
        (bought(500, "1420"), sold(500, "1450")),
        {
            "exchange_fee": "24.83",
            "sebi_fee": "1.44",
            "ipft": "1.44",
            "stamp_duty": "14.20",
            "transaction_tax": "145.00",
        },
    ),
    Vector(
        "marketcalls/openalgo, portfolio costs: 11,124.06 with GST on the fund's Rs 10 too",
        "2024-10-01",
        "NSE:SBIN",
        (bought(5000, "1000"), sold(5000, "1000")),
        {"total": "11122.26"},
        "delivery",
    ),
    Vector(
        "support.zerodha.com on BTST: Rs 13 and 18 % GST a stock and day",
        "2025-06-02",
        "NSE:SBIN",
        (sold(1, "1", overnight=True),),
        {"depository_charge": "13", "gst": "2.34"},
        "delivery",
        "zerodha",
    ),
    Vector(
        "v2.webnotes.in and niftyfriend.com on Zerodha: Rs 13.50 and GST, 15.93 together",
        "2023-06-01",
        "NSE:SBIN",
        (sold(1, "1", overnight=True),),
        {"depository_charge": "13.5", "gst": "2.43"},
        "delivery",
        "zerodha",
    ),
]

CIRCULARS = [
    of_a_crore(NSE_2021, "2021-01-04", "NSE:SBIN", exchange_fee="345.00", ipft="0.01"),
    of_a_crore(NSE_2021, "2021-01-04", "NSE:NIFTY21JANFUT", exchange_fee="200.00"),
    of_a_crore(NSE_2021, "2021-01-04", "NSE:NIFTY21JAN14000CE", exchange_fee="5300.00"),
    of_a_crore(NSE_2023, "2023-04-03", "NSE:SBIN", exchange_fee="325.00", ipft="10.00"),
    of_a_crore(NSE_2023, "2023-04-03", "NSE:NIFTY23APR17000CE", exchange_fee="5000", ipft="50.00"),
    of_a_crore(NSE_2024, "2024-04-01", "NSE:SBIN", exchange_fee="322.00", ipft="10.00"),
    of_a_crore(NSE_2024, "2024-04-01", "NSE:NIFTY24APRFUT", exchange_fee="188.00", ipft="10.00"),
    of_a_crore(NSE_2024, "2024-09-30", "NSE:NIFTY24OCT25000CE", exchange_fee="4950.00"),
    of_a_crore(NSE_OCTOBER, "2024-10-01", "NSE:GOLDBEES", exchange_fee="297.00", ipft="10.00"),
    of_a_crore(NSE_OCTOBER, "2024-10-01", "NSE:NIFTY24OCTFUT", exchange_fee="173.00"),
    of_a_crore(NSE_OCTOBER, "2026-02-27", "NSE:NIFTY26MAR25000CE", exchange_fee="3503.00"),
    of_a_crore(NSE_2026, "2026-03-02", "NSE:SBIN", exchange_fee="306.99", ipft="0.01"),
    of_a_crore(NSE_2026, "2026-03-02", "NSE:NIFTY26MARFUT", exchange_fee="182.99", ipft="0.01"),
    of_a_crore(NSE_2026, "2026-03-02", "NSE:NIFTY26MAR25000CE", exchange_and_fund="3553.00"),
    of_a_crore("BSE 20150105-34", "2015-02-02", "BSE:SBIN", exchange_fee="275.00"),
    of_a_crore("BSE 20210210-42", "2021-03-01", "BSE:SBIN", exchange_fee="345.00"),
    of_a_crore("BSE 20221109-7", "2022-12-01", "BSE:SBIN", exchange_fee="375.00"),
    of_a_crore("BSE 20190819-14", "2021-06-01", "BSE:SENSEX21JUN52000CE", exchange_fee="0.00"),
    of_a_crore("BSE 20220425-2", "2022-05-02", "BSE:SENSEX22MAY56000CE", exchange_fee="500.00"),
    of_a_crore(
        "BSE 20231020-46: the nearest expiry",
        "2023-11-01",
        "BSE:SENSEX23NOV0364000CE",
        date(2023, 11, 3),
        exchange_fee="3750.00",
    ),
    of_a_crore(
        "BSE 20231020-46: any other",
        "2023-11-01",
        "BSE:SENSEX23NOV65000CE",
        date(2023, 11, 24),
        exchange_fee="500.00",
    ),
    of_a_crore("BSE 20240430-42", "2024-05-13", "BSE:BANKEX24MAY54000CE", exchange_fee="4950.00"),
    of_a_crore("BSE 20240927-37", "2024-10-01", "BSE:SENSEX24OCT85000CE", exchange_fee="3250.00"),
    of_a_lakh("5paisa, table of STT from 2024-10-01, row 2", "2024-10-01", "NSE:SBIN", "100.00"),
    of_a_lakh("the same, row 3", "2024-10-01", "NSE:NIFTYBEES", "1.00"),
    of_a_lakh("the same, row 4", "2024-10-01", "NSE:NIFTYBEES", "25.00", "intraday"),
    of_a_lakh("the same, row 5", "2024-10-01", "NSE:NIFTY24OCT25000CE", "100.00"),
    of_a_lakh("the same, row 7", "2024-10-01", "NSE:NIFTY24OCTFUT", "20.00"),
    of_a_lakh("support.zerodha.com on STT of ETFs", "2025-06-02", "NSE:GOLDBEES", "0.00"),
    of_a_lakh("the same", "2025-06-02", "NSE:GILT5YBEES", "0.00"),
    of_a_lakh(
        "lnjbhilwara.com, table of STT before July 2012", "2012-06-29", "NSE:NIFTYBEES", "125.00"
    ),
    of_a_lakh("NSE/FATAX/73524", "2026-04-01", "NSE:NIFTY26APR25000CE", "150.00"),
    of_a_lakh("NSE/FATAX/73524", "2026-04-01", "NSE:NIFTY26APRFUT", "50.00"),
]
VECTORS = NOTES + CIRCULARS


def charged(vector: Vector) -> Iterator[dict[str, Decimal]]:
    """Yield the kernel's charges for each fill, in rupees."""
    basis, day = vector.basis, day_number(date.fromisoformat(vector.day))
    rates = rate_rows(schedule_of(BOOK, [basis]), {basis.key: 0})
    for side, quantity, price, overnight in vector.fills:
        value = float(quantity * Decimal(price))
        paise = charges_on(value, side == "buy", overnight, rates, day=day)
        yield dict(zip(ITEMS, (Decimal(int(item)) / 100 for item in paise), strict=True))


def scheduled(vector: Vector) -> Iterator[dict[str, Decimal]]:
    """Yield the rulebook's charges for each fill, unrounded, in rupees."""
    day = date.fromisoformat(vector.day)
    for side, quantity, price, overnight in vector.fills:
        value = quantity * Decimal(price)
        note = charges_of(BOOK, vector.basis, side=side, value=value, day=day, from_demat=overnight)
        amounts = {charge.item: charge.amount for charge in note.charges}
        yield {item: amounts.get(item, Decimal(0)) for item in ITEMS}


def rounded_up(rupees: Decimal) -> Decimal:
    return rupees.quantize(Decimal("0.01"), ROUND_HALF_UP)


def test_there_are_enough_vectors_and_each_names_its_source() -> None:
    assert len(NOTES) >= 15
    assert len(VECTORS) >= 25
    assert all(vector.source and vector.expected for vector in VECTORS)


@pytest.mark.parametrize("vector", VECTORS, ids=lambda vector: f"{vector.source}, {vector.symbol}")
def test_the_engine_charges_the_amounts_of_the_source(vector: Vector) -> None:
    """The rulebook matches the source's last digit; the kernel charges each item of each fill
    rounded half up to the paisa.
    """
    exact, paid = list(scheduled(vector)), list(charged(vector))
    for name, text in vector.expected.items():
        items = SUMS.get(name, (name,))
        expected = Decimal(text)
        amount = sum((fill[item] for fill in exact for item in items), Decimal(0))
        assert amount.quantize(expected, ROUND_HALF_UP) == expected, name
    for fill, kernel in zip(exact, paid, strict=True):
        assert {item: rounded_up(amount) for item, amount in fill.items()} == kernel
