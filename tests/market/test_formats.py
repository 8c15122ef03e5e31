"""Each format by a few lines written by hand: its marks, and its result."""

import gzip
import zipfile
from pathlib import Path
from typing import Any

import orjson
import pytest

from apps.market.importers import BadCandleFile, CandleImport, ImportOptions, read_candle_files
from tests.market.bars import at, write_file
from tests.market.candle_files import ImportedSeries

UDIFF = (
    "TradDt,BizDt,Sgmt,Src,FinInstrmTp,FinInstrmId,ISIN,TckrSymb,SctySrs,XpryDt,FininstrmActlXpryDt,"
    "StrkPric,OptnTp,FinInstrmNm,OpnPric,HghPric,LwPric,ClsPric,LastPric,PrvsClsgPric,UndrlygPric,"
    "SttlmPric,OpnIntrst,ChngInOpnIntrst,TtlTradgVol,TtlTrfVal,TtlNbOfTxsExctd,SsnId,NewBrdLotQty\n"
)
NSE_FULL = (
    "SYMBOL, SERIES, DATE1, PREV_CLOSE, OPEN_PRICE, HIGH_PRICE, LOW_PRICE, LAST_PRICE, CLOSE_PRICE,"
    " AVG_PRICE, TTL_TRD_QNTY\n"
)
NSE_FO = (
    "INSTRUMENT,SYMBOL,EXPIRY_DT,STRIKE_PR,OPTION_TYP,OPEN,HIGH,LOW,CLOSE,SETTLE_PR,CONTRACTS,"
    "VAL_INLAKH,OPEN_INT,CHG_IN_OI,TIMESTAMP,\n"
)


def load(folder: Path, text: str, name: str = "file.csv", **given: Any) -> CandleImport:
    [loaded] = read_candle_files(write_file(folder, text, name), ImportOptions(**given))
    return loaded


def closes(loaded: CandleImport) -> dict[str, list[float]]:
    return {part.symbol: part.candles.close.tolist() for part in loaded.instruments}


def volumes(loaded: CandleImport) -> dict[str, list[float]]:
    return {part.symbol: part.candles.volume.tolist() for part in loaded.instruments}


def udiff(
    kind: str,
    name: str,
    *,
    series: str = "",
    expiry: str = "",
    strike: str = "",
    option: str = "",
    source: str = "NSE",
    prices: str = "10,12,9,11,11.5",
    volume: int = 4,
    lot: int = 75,
) -> str:
    segment = "CM" if kind == "STK" else "FO"
    return (
        f"2025-02-25,2025-02-25,{segment},{source},{kind},1,,{name},{series},{expiry},{expiry},"
        f"{strike},{option},x,{prices},9,22000,11,5,1,{volume},1000,2,F1,{lot}\n"
    )


# Bhavcopies.


def test_a_udiff_file_of_shares(tmp_path: Path) -> None:
    rows = [
        udiff("STK", "M&M", series="EQ"),
        udiff("STK", "SUZLON", series="BE"),
        udiff("STK", "SGBJUN28", series="GB"),
    ]
    loaded = load(tmp_path, UDIFF + "".join(rows))
    assert closes(loaded) == {"NSE:MM": [11], "NSE:SUZLON": [11]}
    assert volumes(loaded) == {"NSE:MM": [4], "NSE:SUZLON": [4]}
    assert loaded.report.left_out == {"series that are no shares": 1}
    assert loaded.instruments[0].candles.time.tolist() == [at("2025-02-25 00:00")]


def test_a_udiff_file_of_contracts(tmp_path: Path) -> None:
    nifty: dict[str, Any] = {"name": "NIFTY", "strike": "22500.00", "option": "CE"}
    rows = [
        udiff("IDF", "NIFTY", expiry="2025-02-27"),
        udiff("IDO", expiry="2025-02-27", **nifty),
        udiff("IDO", expiry="2025-03-06", **nifty),
        udiff("IDO", expiry="2025-03-27", **nifty),
        udiff("STO", "ABCAPITAL", expiry="2025-02-27", strike="137.50", option="PE"),
        udiff("STF", "M&M", expiry="2025-02-27", prices="0,0,0,11,0", volume=0),
    ]
    loaded = load(tmp_path, UDIFF + "".join(rows))
    assert volumes(loaded) == {
        "NSE:NIFTY25FEBFUT": [300],
        "NSE:NIFTY25FEB22500CE": [300],
        "NSE:NIFTY25MAR0622500CE": [300],
        "NSE:NIFTY25MAR22500CE": [300],
    }
    report = loaded.report
    assert (report.rows, report.bars, report.untraded) == (6, 4, 1)
    assert report.left_out == {"strike with decimals, which symbols have no form for": 1}


def test_the_last_expiry_of_a_month_is_the_monthly_one(tmp_path: Path) -> None:
    days = {
        "2025-12-09": "NSE:NIFTY25DEC09FUT",
        "2025-12-24": "NSE:NIFTY25DEC24FUT",
        "2025-12-30": "NSE:NIFTY25DECFUT",
        "2026-01-06": "NSE:NIFTY26JAN06FUT",  # no other of its month, but too early in it
        "2026-06-24": "NSE:NIFTY26JUNFUT",
    }
    rows = [udiff("IDF", "NIFTY", expiry=day) for day in days]
    assert [part.symbol for part in load(tmp_path, UDIFF + "".join(rows)).instruments] == [
        *days.values()
    ]


def test_bse_counts_units_and_states_no_close_on_an_options_last_day(tmp_path: Path) -> None:
    today = udiff(
        "IDO",
        "SENSEX",
        expiry="2025-02-25",
        strike="74000",
        option="CE",
        source="BSE",
        prices="10,12,9,74602.1,9.5",
        volume=40,
        lot=20,
    )
    loaded = load(tmp_path, UDIFF + today + udiff("STK", "RELIANCE", series="A", source="BSE"))
    assert closes(loaded) == {"BSE:SENSEX25FEB74000CE": [9.5], "BSE:RELIANCE": [11]}
    assert volumes(loaded)["BSE:SENSEX25FEB74000CE"] == [40]


def test_the_full_bhavcopy_of_nse_in_any_order_of_days(tmp_path: Path) -> None:
    rows = (
        "SBIN, EQ, 02-Sep-2025,800,801,812,799,810,811,806,200\n"
        "IDEA, EQ, 01-Sep-2025,6,6.1,6.3,6.0,6.2,6.2,6.1,900\n"
        "SBIN, EQ, 01-Sep-2025,799,800,805,798,801,800,802,100\n"
    )
    loaded = load(tmp_path, NSE_FULL + rows)
    assert closes(loaded) == {"NSE:SBIN": [800, 811], "NSE:IDEA": [6.2]}
    assert loaded.report.format == "NSE full bhavcopy"


def test_the_old_cash_bhavcopy_of_nse(tmp_path: Path) -> None:
    header = (
        "SYMBOL,SERIES,OPEN,HIGH,LOW,CLOSE,LAST,PREVCLOSE,TOTTRDQTY,TOTTRDVAL,TIMESTAMP,"
        "TOTALTRADES,ISIN,\n"
    )
    rows = (
        "BAJAJ-AUTO,EQ,36,36.8,35.25,35.8,35.65,35.2,49077,1764577.1,01-JAN-2020,370,INE144J01027,\n"
        "IRFC,N2,36,36.8,35.25,35.8,35.65,35.2,49077,1764577.1,01-JAN-2020,370,INE144J01028,\n"
    )
    loaded = load(tmp_path, header + rows)
    assert volumes(loaded) == {"NSE:BAJAJAUTO": [49077]}
    assert loaded.report.left_out == {"series that are no shares": 1}


def test_the_old_derivatives_bhavcopy_of_nse_counts_contracts(tmp_path: Path) -> None:
    rows = (
        "FUTIDX,NIFTY,30-Jan-2020,0,XX,12200,12250,12190,12201,12201,95999,1,1,1,01-JAN-2020,\n"
        "OPTIDX,NIFTY,02-Jan-2020,12200,CE,12,15,10,14,14,7,1,1,1,01-JAN-2020,\n"
        "OPTIDX,NIFTY,30-Jan-2020,12200,PE,0,0,0,80,80,0,0,1,1,01-JAN-2020,\n"
    )
    loaded = load(tmp_path, NSE_FO + rows)
    assert volumes(loaded) == {"NSE:NIFTY20JANFUT": [95999], "NSE:NIFTY20JAN0212200CE": [7]}
    assert (loaded.report.untraded, loaded.report.volume) == (1, "contracts")


@pytest.mark.parametrize("name", ["EQ060521.CSV", "bse_2021-05-06.csv"])
def test_the_old_bhavcopy_of_bse_has_its_date_in_its_name(tmp_path: Path, name: str) -> None:
    header = (
        "SC_CODE,SC_NAME,SC_GROUP,SC_TYPE,OPEN,HIGH,LOW,CLOSE,LAST,PREVCLOSE,NO_TRADES,NO_OF_SHRS,"
        "NET_TURNOV,TDCLOINDI\n"
    )
    rows = (
        "500002,ABB LTD.    ,A ,Q,1363.65,1384.00,1363.65,1381.40,1380,1370,581,5401,7450349.00,\n"
        "800001,SGB 2028    ,G ,B,4800,4800,4800,4800,4800,4790,1,1,4800.00,\n"
    )
    loaded = load(tmp_path, header + rows, name)
    assert volumes(loaded) == {"BSE:500002": [5401]}
    assert loaded.instruments[0].candles.time.tolist() == [at("2021-05-06 00:00")]
    with pytest.raises(BadCandleFile, match="its name has no date such as EQ060521"):
        load(tmp_path, header + rows, "bhavcopy.csv")


def test_the_bhavcopy_of_mcx(tmp_path: Path) -> None:
    header = (
        "Date,Instrument Name,Symbol,Expiry Date,Option Type,Strike Price,Open,High,Low,Close,"
        "Previous Close,Volume(Lots),Volume(In 000's),Value(Lacs),Open Interest(Lots)\n"
    )
    rows = (
        '24 Sep 2026,FUTCOM,GOLD      ,05OCT2026,-,0.00,"1,12,345.00","1,13,000.00","1,12,000.00",'
        '"1,12,900.00","1,12,000.00","1,234",1.2,3.4,5\n'
        "24 Sep 2026,OPTFUT,CRUDEOIL  ,15OCT2026,CE,5800,10,12,9,11,9,40,4,3.4,5\n"
    )
    loaded = load(tmp_path, header + rows)
    assert closes(loaded) == {"MCX:GOLD26OCTFUT": [112900], "MCX:CRUDEOIL26OCT5800CE": [11]}
    assert volumes(loaded) == {"MCX:GOLD26OCTFUT": [1234], "MCX:CRUDEOIL26OCT5800CE": [40]}


# Minutes.


def test_contracts_of_mcx_by_the_minute(tmp_path: Path) -> None:
    header = "file,timestamp,open,high,low,close,volume,openInterest,symbol,strike,option_type\n"
    rows = [
        f"x.csv,2025-06-02 18:4{minute}:00+05:30,1,1,1,1,{volume},0,{name},,\n"
        for name in ("CRUDEOIL17JUL255700CE", "CRUDEOIL17JUL255700PE", "")
        for minute, volume in ((1, 3), (2, -1 if name.endswith("PE") else 4))
    ]
    loaded = load(tmp_path, header + "".join(rows))
    assert volumes(loaded) == {
        "MCX:CRUDEOIL25JUL5700CE": [3, 4],
        "MCX:CRUDEOIL25JUL5700PE": [3],
    }
    assert loaded.report.left_out == {
        "rows without a symbol": 2,
        "volume is no volume of 0 or more": 1,
    }
    assert loaded.report.examples == (
        "line 5 (CRUDEOIL17JUL255700PE): volume -1.0 is no volume of 0 or more",
    )
    with pytest.raises(BadCandleFile, match=r"line 5 \(CRUDEOIL17JUL255700PE\): volume -1.0"):
        load(tmp_path, header + "".join(rows), strict=True)


@pytest.mark.parametrize("clock", ["09:{}:59", "09:{}:00"])
def test_global_datafeeds_stamps_the_end_of_a_minute(tmp_path: Path, clock: str) -> None:
    header = "Ticker,Date,Time,Open,High,Low,Close,Volume,Open Interest\n"
    shift = 0 if clock.endswith("59") else 1
    rows = [
        f"{name},26/05/2026,{clock.format(minute + shift)},1,1,1,1,{minute},0\n"
        for name in ("BANKNIFTY26MAY2643000PE.NFO", "RELIANCE.NSE", "NIFTY-I.NFO")
        for minute in (15, 16, 17)
    ]
    loaded = load(tmp_path, header + "".join(rows))
    bars = [15, 16, 17]
    assert volumes(loaded) == {"NSE:BANKNIFTY26MAY43000PE": bars, "NSE:RELIANCE": bars}
    assert loaded.instruments[0].candles.time[0] == at("2026-05-26 09:15")
    assert loaded.report.left_out == {"continuous futures and other names of no one contract": 3}
    assert loaded.report.shifted == 59 + shift


def test_a_large_file_without_any_bar_is_refused(tmp_path: Path) -> None:
    header = "Symbol,Date,Open,High,Low,Close,Volume\n"
    rows = ["TCS,2024-01-01,1,1,1,1,-1", "SBIN,2024-01-01,1,1,1,1,-2"]
    with pytest.raises(BadCandleFile, match=r"no row is a bar: volume is no volume of 0 or more"):
        load(tmp_path, header + "\n".join(rows), timeframe="1d")


def test_lean_counts_milliseconds_and_ten_thousandths(tmp_path: Path) -> None:
    header = "symbol,date,entry,ms_since_midnight,open,high,low,close,volume\n"
    rows = [
        f"{name},20190101,x.csv,{33_300_000 + 60_000 * i},{price},{price},{price},{price},5\n"
        for name, price in (("yesbank", "904500"), ("nifty50", "10881.7"))
        for i in range(3)
    ]
    loaded = load(tmp_path, header + "".join(rows))
    assert closes(loaded) == {"NSE:YESBANK": [90.45] * 3, "NSE:NIFTY": [10881.7] * 3}
    assert loaded.instruments[0].candles.time[0] == at("2019-01-01 09:15")


def session(first: str, last: str, day: str) -> list[str]:
    """Return rows of each minute from one time to another."""
    start, count = at(f"{day} {first}"), (at(f"{day} {last}") - at(f"{day} {first}")) // 60 + 1
    return [f"{start + 60 * i},1,1,1,1,{i}" for i in range(count)]


@pytest.mark.parametrize(
    ("first", "last", "shifted"),
    [("09:16", "15:30", 60), ("09:15", "15:30", 0), ("09:15", "15:29", 0), ("09:16", "15:29", 0)],
)
def test_timestamps_at_the_end_of_bars_are_recognised_by_the_hours(
    tmp_path: Path, first: str, last: str, shifted: int
) -> None:
    rows = [row for day in ("2024-01-01", "2024-01-02") for row in session(first, last, day)]
    loaded = load(tmp_path, "time,open,high,low,close,volume\n" + "\n".join(rows), "SBIN_1m.csv")
    assert loaded.report.shifted == shifted
    assert loaded.instruments[0].candles.time[0] == at(f"2024-01-01 {first}") - shifted


def test_a_file_without_a_header(tmp_path: Path) -> None:
    rows = "".join(f"BANKNIFTY,20240101,09:{m},100,101,99.5,100.5,{m},0\n" for m in (15, 16, 17))
    loaded = load(tmp_path, rows)
    assert volumes(loaded) == {"NSE:BANKNIFTY": [15, 16, 17]}
    rows = "".join(f"2024-01-01 09:{m},100,101,99.5,100.5\n" for m in (15, 16, 17))
    assert closes(load(tmp_path, rows, "SBIN_1m.csv")) == {"NSE:SBIN": [100.5] * 3}


def test_columns_of_several_instruments(tmp_path: Path) -> None:
    header = "Symbol,Date,Open,High,Low,Close,Volume\n"
    rows = [
        f"{name},2024-01-0{day},1,1,1,1,{day}" for day in (2, 1, 3) for name in ("M&M", "TCS", "MM")
    ]
    loaded = load(tmp_path, header + "\n".join(rows))
    assert volumes(loaded) == {"NSE:MM": [1, 2, 3], "NSE:TCS": [1, 2, 3]}
    assert loaded.report.left_out == {"its symbol is that of 'MM'": 3}
    with pytest.raises(BadCandleFile, match="holds 3 instruments: a given symbol names one"):
        load(tmp_path, header + "\n".join(rows), symbol="NSE:TCS")


def test_of_two_different_rows_of_one_time_the_first_counts_in_a_large_file(tmp_path: Path) -> None:
    header = "Symbol,Date,Open,High,Low,Close,Volume\n"
    rows = ["TCS,2024-01-01,1,1,1,1,1", "SBIN,2024-01-01,2,2,2,2,1", "TCS,2024-01-01,3,3,3,3,1"]
    loaded = load(tmp_path, header + "\n".join(rows), timeframe="1d")
    assert closes(loaded) == {"NSE:TCS": [1], "NSE:SBIN": [2]}
    assert loaded.report.left_out == {"rows of one time that differ": 1}


# Yfinance, portals.


def test_yfinance_with_one_or_three_lines_of_names(tmp_path: Path) -> None:
    three = (
        "Price,Adj Close,Close,High,Low,Open,Volume\n"
        "Ticker,M&M.NS,M&M.NS,M&M.NS,M&M.NS,M&M.NS,M&M.NS\n"
        "Date,,,,,,\n"
        "2024-01-01,1,7.34,7.36,7.27,7.3,100\n2024-01-02,1,7.4,7.5,7.3,7.35,200\n"
    )
    loaded = load(tmp_path, three)
    assert (closes(loaded), loaded.report.prices) == ({"NSE:MM": [7.34, 7.4]}, "adjusted")
    content = "Date,Open,High,Low,Close,Adj Close,Volume\n2024-01-01,7.3,7.36,7.27,7.34,1,100\n"
    loaded = load(tmp_path, content, "SBIN_1d.csv", timeframe="1d")
    assert (closes(loaded), loaded.report.prices) == ({"NSE:SBIN": [7.34]}, "adjusted")
    with pytest.raises(BadCandleFile, match=r"its ticker AAPL is none of NSE \(.NS\)"):
        load(tmp_path, three.replace("M&M.NS", "AAPL"))


def test_a_table_of_a_portal(tmp_path: Path) -> None:
    rows = (
        '"Date","Price","Open","High","Low","Vol.","Change %"\n'
        '"Apr 16, 2021","47,022","46,808","47,097","46,511","23.54K","0.30%"\n'
        '"Apr 15, 2021","46,881","46,370","46,973","46,370","1.5M","1.22%"\n'
    )
    loaded = load(tmp_path, rows, symbol="MCX:GOLDM")
    assert closes(loaded) == {"MCX:GOLDM": [46881, 47022]}
    assert volumes(loaded) == {"MCX:GOLDM": [1_500_000, 23_540]}


def test_a_delimiter_at_the_end_of_rows_but_not_of_the_header(tmp_path: Path) -> None:
    rows = "Date,Open,High,Low,Close\n2-January-2012,10,12,9,11,\n3-January-2012,10,12,9,11.5,\n"
    assert closes(load(tmp_path, rows, symbol="BSE:SENSEX")) == {"BSE:SENSEX": [11, 11.5]}


# JSON, archives.

KITE = [[f"2017-12-15T09:{m}:00+0530", 10, 12, 9, 11, m] for m in (15, 16, 17)]
UPSTOX = [[f"2017-12-15T09:{m}:00+05:30", 10, 12, 9, 11, m, 0] for m in (17, 16, 15)]
FYERS = [[at("2017-12-15 09:15") + 60 * i, 10, 12, 9, 11, 15 + i] for i in range(3)]
DHAN = {
    "open": [10.0] * 3,
    "high": [12] * 3,
    "low": [9] * 3,
    "close": [11] * 3,
    "volume": [15, 16, 17],
    "timestamp": [row[0] for row in FYERS],
}


@pytest.mark.parametrize(
    "document",
    [
        {"status": "success", "data": {"candles": KITE}},
        {"status": "success", "data": {"candles": UPSTOX}},
        {"s": "ok", "candles": FYERS},
        DHAN,
        {"status": "success", "data": DHAN},
    ],
)
def test_the_answers_of_brokers(tmp_path: Path, document: object) -> None:
    loaded = load(tmp_path, orjson.dumps(document).decode(), "SBIN_1m.json")
    assert volumes(loaded) == {"NSE:SBIN": [15, 16, 17]}
    assert loaded.instruments[0].candles.time[0] == at("2017-12-15 09:15")


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("{", "is no JSON"),
        ("[]", "holds no candles"),
        ('{"status": "error", "message": "Incorrect `api_key`"}', "an answer that says: Incorrect"),
        ('{"a": 1}', "is JSON without candles"),
        ('{"candles": []}', "holds no candles"),
        ('{"candles": [[1, 2, 3, 4, 5], [1]]}', "candle 2 is no list of a time, four prices"),
        ('{"candles": [["x", 2, 3, 4, 5]]}', "candle 1: time 'x' is no date or time"),
        ('{"candles": [[1513309500, "a", 3, 4, 5]]}', "candle 1: open 'a' is no number"),
        ('{"candles": [[1513309500, null, 3, 4, 5]]}', "candle 1: open is missing"),
        (
            '{"open": [1], "high": [1], "low": [1], "close": [1, 2], "timestamp": [1]}',
            "its lists differ in length: open 1, high 1, low 1, close 2, timestamp 1",
        ),
    ],
)
def test_a_bad_document_is_refused(tmp_path: Path, document: str, message: str) -> None:
    with pytest.raises(BadCandleFile) as caught:
        load(tmp_path, document, "SBIN_1m.json", timeframe="1m")
    assert message in str(caught.value)


def test_every_file_of_a_zip_is_read(tmp_path: Path) -> None:
    rows = "date,open,high,low,close\n2024-01-01 09:15,1,1,1,1\n2024-01-01 09:16,1,1,1,1\n"
    path = tmp_path / "many.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("days/", "")
        archive.writestr("days/SBIN_1m.csv", rows)
        archive.writestr("days/TCS_1m.csv.txt", rows)
        archive.writestr("__MACOSX/days/._SBIN_1m.csv", "junk")
    imported = [
        (candle_import.file, candle_import.instruments[0].symbol)
        for candle_import in read_candle_files(path)
    ]
    assert imported == [
        ("many.zip/days/SBIN_1m.csv", "NSE:SBIN"),
        ("many.zip/days/TCS_1m.csv.txt", "NSE:TCS"),
    ]
    with pytest.raises(BadCandleFile, match="packs 2 files: give one"):
        ImportedSeries(path)


def test_archives_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    empty = tmp_path / "empty.zip"
    with zipfile.ZipFile(empty, "w") as archive:
        archive.writestr("folder/", "")
    broken = tmp_path / "broken.zip"
    broken.write_bytes(empty.read_bytes()[:-5])
    for path, message in ((empty, "a zip file without a file"), (broken, "damaged or locked zip")):
        with pytest.raises(BadCandleFile, match=message):
            list(read_candle_files(path))


def test_a_gzip_file_is_known_by_its_content(tmp_path: Path) -> None:
    path = tmp_path / "SBIN_1d.csv"
    path.write_bytes(gzip.compress(b"date,open,high,low,close\n2024-01-01,1,1,1,1\n"))
    assert ImportedSeries(path, timeframe="1d").symbol == "NSE:SBIN"
