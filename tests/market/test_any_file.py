"""Files in traders' forms: every way to write names, numbers and times, in every combination."""

import itertools
import random
import zipfile
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import orjson
import pytest

from apps.market.importers import BadCandleFile, CandleImport, ImportOptions, read_candle_files
from tests.market.bars import at, write_file

PRICES: Final = [(2590.05, 2594.5, 2588.0, 2591.1), (2591.1, 12345.0, 2590.0, 2600.55)]
VOLUMES: Final = [841000, 12345000]
STARTS: Final = [at("2024-01-25 09:15"), at("2024-01-25 09:20")]

NAMES: Final = {
    "plain": ("Open", "High", "Low", "Close"),
    "letters": ("o", "h", "l", "c"),
    "exchange": ("OPEN ", "HIGH ", "LOW ", "close "),
    "prices": ("Open Price", "High Price", "Low Price", "Close Price"),
    "joined": ("OpenPrice", "HighPrice", "LowPrice", "ClosePrice"),
    "api": ("CH_OPENING_PRICE", "CH_TRADE_HIGH_PRICE", "CH_TRADE_LOW_PRICE", "CH_CLOSING_PRICE"),
    "terminal": ("<OPEN>", "<HIGH>", "<LOW>", "<CLOSE>"),
    "portal": ("Open", "High", "Low", "Price"),
    "unit": ("Open (Rs.)", "High (Rs.)", "Low (Rs.)", "Close (Rs.)"),
}
VOLUME_NAMES: Final = (
    "Volume",
    "Vol.",
    "v",
    "Qty",
    "Quantity",
    "Total Traded Quantity",
    "TotalTradedQuantity",
    "Traded Quantity",
    "Total Volume",
    "Volume (Shares)",
    "TTL_TRD_QNTY",
    "No.of Shares",
    "<VOL>",
)


@dataclass(frozen=True, slots=True)
class Numbers:
    """A file's format of prices and volumes, and its possible delimiters."""

    price: Callable[[float], str]
    volume: Callable[[int], str]
    delimiters: str = ",;\t"


def indian(number: int) -> str:
    """Write a number with commas before the last three digits and then every two."""
    text = str(number)
    head, tail = text[:-3], text[-3:]
    pairs = [head[max(i - 2, 0) : i] for i in range(len(head), 0, -2)]
    return ",".join([*reversed(pairs), tail]) if head else tail


NUMBERS: Final = {
    "plain": Numbers(str, str),
    "western": Numbers("{:,.2f}".format, "{:,}".format, ";\t"),
    "indian": Numbers(
        lambda price: f"{indian(int(price))}{price % 1:.2f}".replace("0.", "."), indian, ";\t"
    ),
    "decimal comma": Numbers(lambda price: f"{price:.2f}".replace(".", ","), str, ";\t"),
    "grouped, decimal comma": Numbers(
        lambda price: f"{price:,.2f}".translate(str.maketrans(",.", ".,")), str, ";\t"
    ),
    "thousands": Numbers(str, lambda volume: f"{volume / 1e3:.2f}K"),
    "millions": Numbers(str, lambda volume: f"{volume / 1e6:.3f}m"),
    "lakhs": Numbers(str, lambda volume: f"{volume / 1e5:.2f}L"),
    "crores": Numbers(str, lambda volume: f"{volume / 1e7:.4f} Cr"),
    "rupee sign": Numbers(lambda price: f"\u20b9{price}", str),
}


def india(seconds: int) -> datetime:
    return datetime.fromtimestamp(seconds, tz=UTC) + timedelta(hours=5, minutes=30)


def stamp(form: str) -> Callable[[int], list[str]]:
    return lambda seconds: [india(seconds).strftime(form)]


# The header of the columns of time, and how they write a moment.
TIMES: Final[dict[str, tuple[str, Callable[[int], list[str]]]]] = {
    "iso": ("timestamp", stamp("%Y-%m-%d %H:%M")),
    "iso with zone": ("DateTime", stamp("%Y-%m-%dT%H:%M:%S+05:30")),
    "iso utc": ("t", lambda s: [datetime.fromtimestamp(s, tz=UTC).strftime("%Y-%m-%d %H:%M:%SZ")]),
    "fraction": ("date", stamp("%Y-%m-%d %H:%M:%S.000")),
    "IST": ("Date", stamp("%Y-%m-%d %H:%M:%S IST")),
    "compact": ("date", stamp("%Y%m%d %H:%M")),
    "points": ("date", stamp("%Y.%m.%d %H:%M")),
    "slashes": ("date", stamp("%Y/%m/%d %H:%M:%S")),
    "day first": ("date", stamp("%d-%m-%Y %H:%M")),
    "day first, points": ("date", stamp("%d.%m.%Y %H:%M:%S")),
    "month first": ("date", stamp("%m/%d/%Y %H:%M")),
    "no zeros": (
        "date",
        lambda s: [f"{india(s):%d-}{india(s).month}{india(s):-%Y} {india(s).hour}:{india(s):%M}"],
    ),
    "AM": ("Date", stamp("%d-%m-%Y %I:%M %p")),
    "AM with seconds": ("Date", stamp("%m/%d/%Y %I:%M:%S %p")),
    "month's name": ("Date", stamp("%d-%b-%Y %H:%M")),
    "month's name first": ("Date", stamp("%b %d %Y %H:%M")),
    "seconds": ("time", lambda s: [str(s)]),
    "decimal seconds": ("time", lambda s: [f"{s}.0"]),
    "milliseconds": ("timestamp", lambda s: [str(s * 10**3)]),
    "microseconds": ("timestamp", lambda s: [str(s * 10**6)]),
    "nanoseconds": ("timestamp", lambda s: [str(s * 10**9)]),
    "date and time": ("Date,Time", lambda s: [f"{india(s):%Y-%m-%d}", f"{india(s):%H:%M}"]),
    "terminal": ("<DATE>,<TIME>", lambda s: [f"{india(s):%Y.%m.%d}", f"{india(s):%H:%M:%S}"]),
    "date and short time": (
        "Date,Time",
        lambda s: [f"{india(s):%d/%m/%Y}", f"{india(s).hour}:{india(s):%M}"],
    ),
}
ENCODINGS: Final = ("utf-8", "utf-8-sig", "utf-16")
Combination = tuple[str, str, str, str, str, str, bool]


def combinations() -> list[Combination]:
    """Return every possible combination for a file."""
    product = itertools.product(
        NAMES, VOLUME_NAMES, NUMBERS, TIMES, ",;\t", ENCODINGS, (False, True)
    )
    return [form for form in product if form[4] in NUMBERS[form[2]].delimiters]


def file_of(combination: Combination) -> bytes:
    names, volume, numbers, times, delimiter, encoding, quoted = combination
    header, moments = TIMES[times]
    writer = NUMBERS[numbers]
    rows = [[*header.split(","), *NAMES[names], volume, "Turnover"]]
    for start, prices, units in zip(STARTS, PRICES, VOLUMES, strict=True):
        rows.append([*moments(start), *map(writer.price, prices), writer.volume(units), "1"])
    mark = '"' if quoted else ""
    lines = (delimiter.join(f"{mark}{cell}{mark}" for cell in row) for row in rows)
    return "\n".join(lines).encode(encoding)


def check(folder: Path, combination: Combination) -> None:
    """Assert that a file in this form has the bars."""
    path = folder / "SBIN_5m.csv"
    path.write_bytes(file_of(combination))
    [loaded] = read_candle_files(path, ImportOptions())
    [part] = loaded.instruments
    bars = part.candles
    assert (combination, part.symbol, loaded.timeframe) == (combination, "NSE:SBIN", "5m")
    assert (combination, bars.time.tolist()) == (combination, STARTS)
    shown = [*zip(bars.open, bars.high, bars.low, bars.close, strict=True)]
    for read, written in zip(shown, PRICES, strict=True):
        assert read == pytest.approx(written, abs=0.005), combination
    assert bars.volume.tolist() == pytest.approx(VOLUMES), combination


def test_names_numbers_and_times_in_every_form(tmp_path: Path) -> None:
    forms = combinations()
    for combination in random.Random(1).sample(forms, 60):
        check(tmp_path, combination)
    # Each form of each kind is among them.
    for index, kinds in enumerate((NAMES, VOLUME_NAMES, NUMBERS, TIMES)):
        for kind in kinds:
            check(tmp_path, next(form for form in forms if form[index] == kind))


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_thousands_of_forms(tmp_path: Path) -> None:
    """Every pair of kinds, such as a form of time with a form of numbers, is among them."""
    all_forms = combinations()
    forms = random.Random(2).sample(all_forms, 6000)
    assert pairs_of(forms) == pairs_of(all_forms)
    for combination in forms:
        check(tmp_path, combination)


def pairs_of(forms: Iterable[Combination]) -> set[object]:
    return {pair for form in forms for pair in itertools.combinations(enumerate(form), 2)}


def load(folder: Path, text: str, name: str = "SBIN_1d.csv", **given: Any) -> CandleImport:
    [loaded] = read_candle_files(write_file(folder, text, name), ImportOptions(**given))
    return loaded


def refusal(folder: Path, text: str, name: str = "SBIN_1d.csv", **given: Any) -> str:
    with pytest.raises(BadCandleFile) as caught:
        load(folder, text, name, **given)
    return str(caught.value)


def days(
    *columns: str, rows: Sequence[Sequence[str]], header: str = "Date,Open,High,Low,Close"
) -> str:
    """Return a file of days with further columns: `rows` are their values, day by day."""
    lines = [",".join([header, *columns])]
    lines += [f"2024-01-{d:02},10,12,9,11," + ",".join(row) for d, row in enumerate(rows, start=1)]
    return "\n".join(line.rstrip(",") for line in lines)


# Columns that are not understood.


@pytest.mark.parametrize(
    ("column", "values", "meaning"),
    [
        ("TickVol", ["5", "6"], "a volume"),
        ("Shares", ["5", "6"], "a volume"),
        ("Volume in lakhs", ["5", "6"], "a volume"),
        ("Scrip", ["SBIN", "TCS"], "an instrument"),
        ("Adj High", ["5", "6"], "an adjusted price"),
    ],
)
def test_a_column_that_may_change_the_bars_needs_a_yes(
    tmp_path: Path, column: str, values: list[str], meaning: str
) -> None:
    text = days(column, rows=[[value] for value in values])
    assert f"its column {column!r} looks like {meaning} and is not read" in refusal(tmp_path, text)
    loaded = load(tmp_path, text, ignored_columns=[column.lower()])
    assert loaded.report.not_read == (column,)


@pytest.mark.parametrize("column", ["Turnover", "VWAP", "Volume MA", "% Dly Qt to Traded Qty"])
def test_a_column_that_changes_nothing_is_named_and_left(tmp_path: Path, column: str) -> None:
    text = days("Volume", column, rows=[["7", "1"], ["8", "2"]])
    loaded = load(tmp_path, text)
    assert loaded.report.not_read == (column,)
    assert loaded.instruments[0].candles.volume.tolist() == [7, 8]


def test_a_second_empty_column_of_volume_is_ignored(tmp_path: Path) -> None:
    text = days("Volume", "Volume", rows=[["", "7"], ["", "8"]])
    assert load(tmp_path, text).instruments[0].candles.volume.tolist() == [7, 8]


def test_lots_are_not_taken_for_shares(tmp_path: Path) -> None:
    loaded = load(tmp_path, days("Volume (Lots)", rows=[["7"], ["8"]]))
    assert loaded.report.volume == "contracts"
    assert loaded.instruments[0].candles.volume.tolist() == [7, 8]


# Values that are missing.


@pytest.mark.parametrize("mark", ["", "-", "null", "NaN", "n/a"])
def test_a_row_without_any_price_is_left_out_and_counted(tmp_path: Path, mark: str) -> None:
    text = days("Volume", rows=[["7"], ["8"]]) + "\n2024-01-03" + f",{mark}" * 5
    loaded = load(tmp_path, text)
    assert loaded.report.left_out == {"rows without a price": 1}
    assert loaded.report.bars == 2


@pytest.mark.parametrize("mark", ["", "-", "null"])
def test_a_row_that_lacks_one_price_is_refused_by_its_line(tmp_path: Path, mark: str) -> None:
    text = days("Volume", rows=[["7"], ["8"]]) + f"\n2024-01-03,10,12,{mark},11,5"
    assert "line 4: low is missing" in refusal(tmp_path, text)


def test_a_missing_volume_is_0_and_counted(tmp_path: Path) -> None:
    loaded = load(tmp_path, days("Volume", rows=[["7"], ["-"], ["9"]]))
    assert loaded.instruments[0].candles.volume.tolist() == [7, 0, 9]
    assert loaded.report.without_volume == 1


def test_the_index_file_of_a_day_skips_indices_with_only_a_close(tmp_path: Path) -> None:
    header = (
        "Index Name,Index Date,Open Index Value,High Index Value,Low Index Value,"
        "Closing Index Value,Points Change,Change(%),Volume,Turnover (Rs. Cr.),P/E,P/B,Div Yield\n"
    )
    rows = (
        "Nifty 50,26-03-2025,23700.95,23736.5,23451.7,23486.85,-181.8,-.77,278590831,26877,20,3,1\n"
        "Nifty Bank,26-03-2025,51600,51700,51000,51200,-1,-1,100,2,3,4,5\n"
        "Nifty GS 10Yr,26-03-2025,-,-,-,2512.4,1.2,.05,-,-,-,-,-\n"
    )
    loaded = load(tmp_path, header + rows, "ind_close_all_26032025.csv")
    closes = {part.symbol: part.candles.close.tolist() for part in loaded.instruments}
    assert closes == {"NSE:NIFTY": [23486.85], "NSE:BANKNIFTY": [51200]}
    assert loaded.report.left_out == {"indices with a close alone": 1}


@pytest.mark.parametrize(
    "text", ["1.2.3", "1,23", "12,3456", "5ms", "1K2", "--5", "1,2345.0", "\u20ac5"]
)
def test_an_invalid_number_is_refused(tmp_path: Path, text: str) -> None:
    rows = f"Date;Open;High;Low;Close;Volume\n2024-01-01;10;12;9;11.5;{text}\n"
    assert "is no number" in refusal(tmp_path, rows, timeframe="1d")


# Dates that two readings fit.


def dated(dates: Iterable[str]) -> str:
    return "Date,Open,High,Low,Close\n" + "".join(f"{day},10,12,9,11\n" for day in dates)


def test_a_single_day_decides_the_order_of_a_whole_file(tmp_path: Path) -> None:
    loaded = load(tmp_path, dated(["01/02/2024", "01/03/2024", "01/16/2024"]), timeframe="1d")
    first = loaded.instruments[0].candles.time[0]
    assert first == at("2024-01-02 00:00")


def test_ambiguous_dates_are_day_first_with_a_note(tmp_path: Path) -> None:
    loaded = load(tmp_path, dated(["01/02/2024", "02/02/2024", "05/02/2024"]))
    assert loaded.instruments[0].candles.time[0] == at("2024-02-01 00:00")
    assert loaded.report.assumed_day_first
    assert not load(tmp_path, dated(["30/01/2024", "31/01/2024"])).report.assumed_day_first


def test_dates_that_fit_both_orders_but_leave_months_without_a_bar_are_refused(
    tmp_path: Path,
) -> None:
    message = refusal(tmp_path, dated(["01/02/2024", "01/03/2024", "01/04/2024", "01/05/2024"]))
    assert "can be read day first or month first" in message


@pytest.mark.parametrize("wrong", ["2024-01-02", "31/02/2024", "2/13/2024", "02/01/2024 10:00 PMM"])
def test_a_date_of_another_form_is_refused_by_its_line(tmp_path: Path, wrong: str) -> None:
    assert "line 4: Date" in refusal(tmp_path, dated(["16/02/2024", "17/02/2024", wrong]))


# Names of instruments.


@pytest.mark.parametrize(
    ("name", "symbol"),
    [
        ("RELIANCE.NS", "NSE:RELIANCE"),
        ("RELIANCE.BO", "BSE:RELIANCE"),
        ("RELIANCE.NSE", "NSE:RELIANCE"),
        ("RELIANCE.BSE", "BSE:RELIANCE"),
        ("RELIANCE-EQ", "NSE:RELIANCE"),
        ("RELIANCE EQ", "NSE:RELIANCE"),
        ("NSE:RELIANCE-EQ", "NSE:RELIANCE"),
        ("BSE:RELIANCE", "BSE:RELIANCE"),
        ("M&M.NS", "NSE:MM"),
        ("^NSEI", "NSE:NIFTY"),
        ("^NSEBANK", "NSE:BANKNIFTY"),
        ("^BSESN", "BSE:SENSEX"),
        ("NSE_INDEX|Nifty 50", "NSE:NIFTY"),
        ("NSE:NIFTY50-INDEX", "NSE:NIFTY"),
        ("Nifty Next 50", "NSE:NIFTYNXT50"),
        ("NSE_EQ|INE002A01018", "NSE:RELIANCE"),
        ("INE002A01018", "NSE:RELIANCE"),
        ("500325", "BSE:RELIANCE"),
        ("500325.BO", "BSE:RELIANCE"),
        ("CRUDEOIL17JUL255700CE.MCX", "MCX:CRUDEOIL25JUL5700CE"),
        ("BANKNIFTY03JAN2448000CE.NFO", "NSE:BANKNIFTY24JAN0348000CE"),
        ("NSE:NIFTY24JAN0321000CE", "NSE:NIFTY24JAN0321000CE"),
    ],
)
def test_the_names_of_vendors(tmp_path: Path, name: str, symbol: str) -> None:
    codes = {("NSE", "INE002A01018"): "NSE:RELIANCE", ("BSE", "500325"): "BSE:RELIANCE"}
    text = days("Symbol", rows=[[name], [name]])
    loaded = load(tmp_path, text, find_symbol=lambda exchange, code: codes.get((exchange, code)))
    assert [part.symbol for part in loaded.instruments] == [symbol]


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("NIFTY-I.NFO", "continuous futures"),
        ("CRUDEOIL1!", "continuous futures"),
        ("RELIANCE.L", "is no name of a form that is known here"),
        ("NSE_EQ|2885X!", "is no name of a form that is known here"),
        ("^GSPC", "its name is not known"),
        ("INE002A01018", "which no instrument list held here has"),
        ("500325", "which no instrument list held here has"),
    ],
)
def test_a_name_without_a_symbol_is_refused_with_its_reason(
    tmp_path: Path, name: str, reason: str
) -> None:
    text = days("Symbol", rows=[[name], [name]])
    assert reason in refusal(tmp_path, text)
    assert load(tmp_path, text, symbol="NSE:RELIANCE").instruments[0].symbol == "NSE:RELIANCE"


def test_a_given_symbol_is_refused_against_a_file_that_names_another(tmp_path: Path) -> None:
    text = days("Symbol", rows=[["TCS"], ["TCS"]])
    message = refusal(tmp_path, text, symbol="NSE:INFY")
    assert "names TCS, which is NSE:TCS and not NSE:INFY" in message
    # A name without an exchange may be of either.
    assert load(tmp_path, text, symbol="BSE:TCS").instruments[0].symbol == "BSE:TCS"
    assert "not BSE:TCS" in refusal(tmp_path, text.replace(",TCS", ",TCS.NS"), symbol="BSE:TCS")


@pytest.mark.parametrize(
    ("name", "symbol"),
    [
        ("NSE_RELIANCE, 5.csv", "NSE:RELIANCE"),
        ("NSE_RELIANCE, 1D.csv", "NSE:RELIANCE"),
        ("RELIANCE.BO.csv", "BSE:RELIANCE"),
        ("Quote-Equity-BAJAJ-AUTO-EQ-01-01-2024-to-31-01-2024.csv", "NSE:BAJAJAUTO"),
    ],
)
def test_the_names_of_downloads(tmp_path: Path, name: str, symbol: str) -> None:
    loaded = load(tmp_path, days("Volume", rows=[["7"], ["8"]]), name)
    assert loaded.instruments[0].symbol == symbol


# yfinance.


def yfinance(fields: Sequence[str], tickers: Sequence[str], index: str, *rows: str) -> str:
    columns = [(field, ticker) for field in fields for ticker in tickers]
    return "\n".join(
        [
            "Price," + ",".join(field for field, _ in columns),
            "Ticker," + ",".join(ticker for _, ticker in columns),
            index + "," * len(columns),
            *rows,
        ]
    )


FIELDS: Final = ("Close", "High", "Low", "Open", "Volume")


def test_yfinance_of_today_is_known_as_adjusted(tmp_path: Path) -> None:
    rows = ["2024-10-21,11,12,9,10,7", "2024-10-22,11,12,9,10,8"]
    loaded = load(tmp_path, yfinance(FIELDS, ["RELIANCE.NS"], "Date", *rows), "prices.csv")
    assert (loaded.instruments[0].symbol, loaded.report.prices) == ("NSE:RELIANCE", "adjusted")
    assert loaded.instruments[0].candles.close.tolist() == [11, 11]


def test_minutes_of_yfinance(tmp_path: Path) -> None:
    rows = [f"2024-10-24 03:{minute}:00+00:00,11,12,9,10,7" for minute in (45, 50, 55)]
    loaded = load(tmp_path, yfinance(FIELDS, ["RELIANCE.NS"], "Datetime", *rows), "prices.csv")
    assert loaded.timeframe == "5m"
    assert loaded.instruments[0].candles.time[0] == at("2024-10-24 09:15")


def test_several_tickers_of_yfinance_are_all_loaded(tmp_path: Path) -> None:
    rows = [f"2024-10-{day},11,21,12,22,9,19,10,20,7,8" for day in (21, 22)]
    rows.append("2024-10-23,11,,12,,9,,10,,7,")
    text = yfinance(FIELDS, ["RELIANCE.NS", "TCS.BO"], "Date", *rows)
    loaded = load(tmp_path, text, "prices.csv")
    closes = {part.symbol: part.candles.close.tolist() for part in loaded.instruments}
    assert closes == {"NSE:RELIANCE": [11, 11, 11], "BSE:TCS": [21, 21]}
    assert loaded.report.left_out == {"rows without a price": 1}


def test_a_history_of_yfinance_is_recognised_by_its_splits(tmp_path: Path) -> None:
    text = days("Volume", "Dividends", "Stock Splits", rows=[["7", "0", "0"], ["8", "0", "2"]])
    assert load(tmp_path, text).report.prices == "adjusted"


# Lean.


def zipped(folder: Path, name: str, member: str, text: str) -> Path:
    path = folder / name
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(member, text)
    return path


def test_the_archives_of_lean_are_in_ten_thousandths(tmp_path: Path) -> None:
    text = "".join(f"202410{day} 00:00,13690000,13760000,13600000,13695000,9\n" for day in (21, 22))
    [loaded] = read_candle_files(zipped(tmp_path, "yesbank.zip", "yesbank.csv", text))
    assert (loaded.instruments[0].symbol, loaded.timeframe) == ("NSE:YESBANK", "1d")
    assert loaded.instruments[0].candles.close.tolist() == [1369.5, 1369.5]
    text = "".join(
        f"{33_300_000 + i * 60_000},1820000,1825000,1818000,1821000,9\n" for i in range(3)
    )
    member = "20190101_yesbank_minute_trade.csv"
    [loaded] = read_candle_files(zipped(tmp_path, "20190101_trade.zip", member, text))
    assert (loaded.instruments[0].symbol, loaded.timeframe) == ("NSE:YESBANK", "1m")
    bars = loaded.instruments[0].candles
    assert (bars.time[0], bars.close[0]) == (at("2019-01-01 09:15"), 182.1)


def test_a_bare_file_of_whole_prices_is_in_rupees(tmp_path: Path) -> None:
    text = "".join(f"202410{day} 00:00,13690,13760,13600,13695,9\n" for day in (21, 22))
    loaded = load(tmp_path, text, "NIFTY_1d.csv")
    assert loaded.instruments[0].candles.close.tolist() == [13695, 13695]


# JSON by shape.

SECONDS: Final = [at("2024-01-02 09:15") + 60 * i for i in range(3)]
LISTS: Final = {
    "open": [10, 11, 12],
    "high": [12, 13, 14],
    "low": [9, 10, 11],
    "close": [11, 12, 13],
    "volume": [5, 6, 7],
}
OBJECTS: Final = [
    {"date": f"{india(second):%Y-%m-%d %H:%M:%S}", **{name: LISTS[name][i] for name in LISTS}}
    for i, second in enumerate(SECONDS)
]
TEXTS: Final = [{name: str(value) for name, value in row.items()} for row in OBJECTS]
ROWS: Final = [
    [f"{india(second):%Y-%m-%dT%H:%M:%S+05:30}", *(LISTS[name][i] for name in LISTS)]
    for i, second in enumerate(SECONDS)
]
SHOONYA: Final = [
    {
        "stat": "Ok",
        "time": f"{india(second):%d-%m-%Y %H:%M:%S}",
        "into": str(LISTS["open"][i]),
        "inth": str(LISTS["high"][i]),
        "intl": str(LISTS["low"][i]),
        "intc": str(LISTS["close"][i]),
        "intv": str(LISTS["volume"][i]),
        "v": "900",
    }
    for i, second in enumerate(SECONDS)
]


@pytest.mark.parametrize(
    "document",
    [
        ROWS,
        OBJECTS,
        TEXTS,
        {"data": ROWS},
        {"status": True, "message": "SUCCESS", "data": ROWS},
        {"data": {"candles": ROWS}},
        {"candles": [[second, *row[1:]] for second, row in zip(SECONDS, ROWS, strict=True)]},
        {"Error": None, "Status": 200, "Success": TEXTS},
        {"status": "success", "data": OBJECTS},
        {"s": "ok", "t": SECONDS, **{name[0]: values for name, values in LISTS.items()}},
        {"timestamp": SECONDS, **LISTS},
        {"data": {"timestamp": [float(second) for second in SECONDS], **LISTS}},
        {"chart": {"result": [{"timestamp": SECONDS, "indicators": {"quote": [LISTS]}}]}},
        SHOONYA,
    ],
)
def test_candles_in_json_of_any_shape(tmp_path: Path, document: object) -> None:
    loaded = load(tmp_path, orjson.dumps(document).decode(), "SBIN_1m.json")
    bars = loaded.instruments[0].candles
    assert bars.time.tolist() == SECONDS
    assert (bars.open.tolist(), bars.close.tolist()) == ([10, 11, 12], [11, 12, 13])
    assert bars.volume.tolist() == [5, 6, 7]


def test_lines_of_json(tmp_path: Path) -> None:
    text = "\n".join(orjson.dumps(row).decode() for row in OBJECTS)
    assert load(tmp_path, text, "SBIN_1m.jsonl").report.bars == 3


def test_the_answer_of_yahoo_names_its_instrument_and_leaves_a_gap_out(tmp_path: Path) -> None:
    quote = {name: [*values[:2], None] for name, values in LISTS.items()}
    result = {"meta": {"symbol": "TCS.BO"}, "timestamp": SECONDS, "indicators": {"quote": [quote]}}
    text = orjson.dumps({"chart": {"result": [result], "error": None}}).decode()
    loaded = load(tmp_path, text, "answer.json")
    assert (loaded.instruments[0].symbol, loaded.report.bars) == ("BSE:TCS", 2)
    foreign = text.replace("TCS.BO", "AAPL")
    assert "its ticker AAPL is none of NSE (.NS)" in refusal(tmp_path, foreign, "answer.json")


def test_an_error_message_of_a_broker_is_shown(tmp_path: Path) -> None:
    answer = {
        "status": "failure",
        "data": "",
        "remarks": {"error_code": "DH-905", "error_message": "Missing fields"},
    }
    message = refusal(tmp_path, orjson.dumps(answer).decode(), "SBIN_1m.json")
    assert "holds no candles but an answer that says: DH-905: Missing fields" in message


# Files of other programs.


def test_a_workbook_and_a_web_page_are_called_by_their_name(tmp_path: Path) -> None:
    path = zipped(tmp_path, "book.xlsx", "[Content_Types].xml", "<Types/>")
    with pytest.raises(BadCandleFile, match="is an Excel workbook: save its sheet as CSV"):
        list(read_candle_files(path))
    assert "is a web page" in refusal(tmp_path, "<!DOCTYPE html><html>Access Denied</html>")
