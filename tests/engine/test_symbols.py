"""The grammar of symbols: valid and invalid forms."""

import csv
import gzip
import re
from itertools import islice
from pathlib import Path

import pytest

from apps.engine.candles.symbols import InvalidSymbol, Symbol


@pytest.mark.parametrize(
    "code",
    [
        "TCS",
        "RELIANCE",  # ends in CE
        "BAJFINANCE",
        "ADVANCE",
        "APOLLOPIPE",  # ends in PE
        "NIFTYNXT50",
        "360ONE",
        "20MICRONS",
        "3MINDIA",
        "GUARSEED10",
        "SILVER100",
        "500325",  # BSE names shares by number too
        "CE",
        "FUT",
    ],
)
def test_a_name_is_an_equity(code: str) -> None:
    assert Symbol.readings(f"NSE:{code}") == (Symbol("NSE", code, code, "equity"),)


@pytest.mark.parametrize(
    ("text", "root", "year", "month", "day"),
    [
        ("NSE:NIFTY24JANFUT", "NIFTY", 2024, 1, None),
        ("NSE:NIFTY24JAN11FUT", "NIFTY", 2024, 1, 11),
        ("NSE:NIFTY24FEB29FUT", "NIFTY", 2024, 2, 29),
        ("BSE:SENSEX5026DECFUT", "SENSEX50", 2026, 12, None),
        ("MCX:GOLDM24FEBFUT", "GOLDM", 2024, 2, None),
        ("MCX:SILVER10026FEBFUT", "SILVER100", 2026, 2, None),
        ("NCDEX:GUARSEED1026AUGFUT", "GUARSEED10", 2026, 8, None),
        ("NSE:360ONE26SEPFUT", "360ONE", 2026, 9, None),
        ("NSE:RELIANCE26SEPFUT", "RELIANCE", 2026, 9, None),
    ],
)
def test_a_future_names_its_underlying_and_month(
    text: str, root: str, year: int, month: int, day: int | None
) -> None:
    exchange, code = text.split(":")
    assert Symbol.readings(text) == (Symbol(exchange, code, root, "futures", year, month, day),)


@pytest.mark.parametrize(
    ("text", "root", "day", "strike", "option_type"),
    [
        ("NSE:NIFTY24JAN9CE", "NIFTY", None, 9, "CE"),
        ("NSE:NIFTY24JAN99500PE", "NIFTY", None, 99500, "PE"),  # no 99 January
        ("NSE:NIFTY24JAN0421500CE", "NIFTY", 4, 21500, "CE"),  # a strike starts with no zero
        ("NSE:NIFTYNXT5024JAN61900PE", "NIFTYNXT50", None, 61900, "PE"),
        ("MCX:CRUDEOIL24JAN5700CE", "CRUDEOIL", None, 5700, "CE"),
    ],
)
def test_an_option_with_one_reading(
    text: str, root: str, day: int | None, strike: int, option_type: str
) -> None:
    (option,) = Symbol.readings(text)
    assert (option.root, option.type, option.year, option.month) == (root, "options", 2024, 1)
    assert (option.day, option.strike, option.option_type) == (day, strike, option_type)


def test_an_option_with_two_readings_gives_the_monthly_one_first() -> None:
    monthly, weekly = Symbol.readings("NSE:NIFTY24JAN1118000CE")
    assert (monthly.day, monthly.strike) == (None, 1118000)
    assert (weekly.day, weekly.strike) == (11, 18000)
    assert Symbol.parse("NSE:NIFTY24JAN1118000CE") == monthly


def test_a_day_that_the_month_does_not_have_is_part_of_the_strike() -> None:
    assert [o.strike for o in Symbol.readings("NSE:NIFTY23FEB2918000CE")] == [2918000]
    assert [o.strike for o in Symbol.readings("NSE:NIFTY24FEB2918000CE")] == [2918000, 18000]


@pytest.mark.parametrize(
    "text",
    [
        "nse:TCS",
        "Nse:TCS",
        "NSE:tcs",
        "NSE:Tcs",
        "TCS",
        ":TCS",
        "NSE:",
        "NSE",
        ":",
        "",
        "NSE::TCS",
        "NSE:TCS:EQ",
        "NSE-TCS",
        "NSE/TCS",
        "NSE.TCS",
        "NYSE:TCS",
        "NFO:NIFTY24JANFUT",
        " NSE:TCS",
        "NSE:TCS ",
        "NSE: TCS",
        "NSE:TCS\n",
        "NSE:TCS\x00",
        "NSE:\u0422CS",  # Cyrillic
        "NSE\uff1aTCS",  # full-width colon
        "NSE:TCS\u0661",  # Arabic digit
        "NSE:M&M",
        "NSE:BAJAJ-AUTO",
        "NSE:NIFTY2024JANFUT",
        "NSE:NIFTY1999JANFUT",
        "NSE:NIFTY2024JAN21500CE",
        "NSE:NIFTY24JANUARYFUT",
        "NSE:NIFTY24JanFUT",
        "NSE:NIFTY24janFUT",
        "MCX:GOLD24XXXFUT",
        "NSE:NIFTY24XXX21500CE",
        "NSE:NIFTY24JAN",
        "NSE:NIFTY24JAN21500",
        "NSE:NIFTY24JAN21500.5CE",
        "NSE:NIFTY24JAN21500C",
        "NSE:NIFTY24JAN21500CALL",
        "NSE:NIFTY24JAN21500ce",
        "NSE:NIFTY24JAN0CE",
        "NSE:NIFTY24JANCE",
        "NSE:NIFTY24JAN0500CE",
        "NSE:NIFTY24FEB30FUT",
        "NSE:NIFTY23FEB29FUT",
        "NSE:NIFTY24JAN00FUT",
        "NSE:NIFTY24JAN5FUT",
        "NSE:24JANFUT",
        "NSE:NIFTY21500CE",  # no date
        "NSE:NIFTY2482224350CE",  # a broker's own weekly form
        "NSE:NIFTY24FUT",
        "NSE:" + "A" * Symbol.MAX_LENGTH,
        "A" * 100_000,
    ],
)
def test_an_invalid_symbol_gets_a_reason(text: str) -> None:
    with pytest.raises(InvalidSymbol) as refused:
        Symbol.parse(text)
    assert refused.value.reason.endswith(".")


@pytest.mark.parametrize(
    ("text", "exchange", "code"),
    [
        ("NSE:tcs", "NSE", None),
        ("NYSE:TCS", None, "TCS"),
        ("NSE:NIFTY24FEB30FUT", "NSE", "NIFTY24FEB30FUT"),
        ("TCS", None, None),
    ],
)
def test_the_parts_read_so_far_are_given(text: str, exchange: str | None, code: str | None) -> None:
    with pytest.raises(InvalidSymbol) as refused:
        Symbol.parse(text)
    assert (refused.value.exchange, refused.value.code) == (exchange, code)


def test_a_symbol_prints_as_written() -> None:
    assert str(Symbol.parse("NSE:NIFTY24JAN1118000CE")) == "NSE:NIFTY24JAN1118000CE"


def test_every_listed_share_of_nse_is_an_equity(market_data: Path) -> None:
    with (market_data / "nse_equity_l_2026-01.csv").open(newline="") as file:
        names = [row["SYMBOL"] for row in csv.DictReader(file)]
    carried = [f"NSE:{re.sub('[^A-Z0-9]', '', name)}" for name in names]
    assert len(carried) > 2000
    assert {Symbol.parse(symbol).type for symbol in carried} == {"equity"}


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.slow)])
def test_month_contracts_of_a_broker_have_the_parts_its_master_says(
    market_data: Path, step: int
) -> None:
    """Monthly options of the Kite master have the interface's own form; one in seven is tested, or
    all.
    """
    monthly = re.compile(r"[A-Z0-9]+?\d\d[A-Z]{3}\d+(CE|PE)")
    path = market_data / "kite_nfo_bfo_2026-08.csv.gz"
    checked = 0
    with gzip.open(path, "rt", newline="") as file:
        for row in islice(csv.DictReader(file), 0, None, step):
            if row["exchange"] != "NFO" or not monthly.fullmatch(row["tradingsymbol"]):
                continue
            option = Symbol.parse(f"NSE:{row['tradingsymbol']}")
            assert (option.strike, option.option_type) == (
                int(float(row["strike"])),
                row["instrument_type"],
            )
            assert (option.year, option.month) == tuple(map(int, row["expiry"].split("-")[:2]))
            assert option.root == row["name"] or not row["name"].isalnum()
            checked += 1
    assert checked > 10_000 // step
