"""The result of each shape of file, and the refused ones."""

import gzip
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from apps.market.importers import BadCandleFile
from tests.market.bars import at, write_file
from tests.market.candle_files import ImportedSeries, dates

HEADER = "Date,Open,High,Low,Close,Volume\n"
MINUTES = [
    "2024-01-01 09:15,100,101,99.95,100.5,10",
    "2024-01-01 09:16,100.5,102,100,101,20",
    "2024-01-01 09:17,101,101.5,100.55,101.05,30",
]


def read(folder: Path, *rows: str, header: str = HEADER, **given: Any) -> ImportedSeries:
    return ImportedSeries(write_file(folder, header + "\n".join(rows) + "\n"), **given)


def refusal(folder: Path, *rows: str, header: str = HEADER, **given: Any) -> str:
    with pytest.raises(BadCandleFile) as caught:
        read(folder, *rows, header=header, **given)
    return str(caught.value)


def test_a_plain_file(tmp_path: Path) -> None:
    loaded = read(tmp_path, *MINUTES)
    bars = loaded.candles
    assert (loaded.symbol, loaded.timeframe) == ("NSE:NIFTY", "1m")
    assert bars.time.tolist() == [at(f"2024-01-01 09:{m}") for m in (15, 16, 17)]
    assert bars.open.tolist() == [100, 100.5, 101]
    assert bars.high.tolist() == [101, 102, 101.5]
    assert bars.low.tolist() == [99.95, 100, 100.55]
    assert bars.close.tolist() == [100.5, 101, 101.05]
    assert bars.volume.tolist() == [10, 20, 30]
    assert (loaded.report.rows, loaded.report.bars) == (3, 3)


@pytest.mark.parametrize(
    "stamp",
    [
        "2024-01-01 09:15",
        "2024-01-01T09:15:00",
        "2024-01-01T09:15:00.000",
        "2024-01-01T09:15:00+05:30",
        "2024-01-01T09:15:00+0530",
        "2024-01-01 03:45:00Z",
        "20240101 09:15",
        "01-01-2024 09:15",
        "01/01/2024 09:15:00",
        "1704080700",
        "1704080700000",
    ],
)
def test_every_form_of_a_stamp(tmp_path: Path, stamp: str) -> None:
    loaded = read(tmp_path, f"{stamp},1,1,1,1,0", timeframe="1m")
    assert loaded.candles.time.tolist() == [at("2024-01-01 09:15")]


@pytest.mark.parametrize(
    "day", ["2024-01-31", "20240131", "31-01-2024", "31/01/2024", "31-Jan-2024", "31-January-2024"]
)
def test_every_form_of_a_date_is_the_day_in_india(tmp_path: Path, day: str) -> None:
    loaded = read(tmp_path, f"{day},1,1,1,1,0", timeframe="1d")
    assert loaded.candles.time.tolist() == [at("2024-01-31 00:00")]


@pytest.mark.parametrize("clock", ["09:15", "9:15", "09:15:00"])
def test_date_and_time_in_two_columns(tmp_path: Path, clock: str) -> None:
    header = "Instrument,Date,Time,Open,High,Low,Close\n"
    loaded = read(tmp_path, f"BANKNIFTY,20240101,{clock},1,1,1,1", header=header, timeframe="1m")
    assert loaded.candles.time.tolist() == [at("2024-01-01 09:15")]
    assert loaded.candles.volume.tolist() == [0]


@pytest.mark.parametrize(
    "header",
    [
        "timestamp,open,high,low,close,volume\n",
        "DATETIME;Open;High;Low;Close;Volume\n",
        "Date\tOpen Price\tHigh Price\tLow Price\tClose Price\tNo.of Shares\n",
        ",OPEN,HIGH,LOW,CLOSE,VOLUME\n",
        "\ufefftime,o,h,l,c,v\n",
    ],
)
def test_names_and_delimiters_of_headers(tmp_path: Path, header: str) -> None:
    delimiter = next(mark for mark in ";\t," if mark in header)
    row = MINUTES[0].replace(",", delimiter)
    loaded = read(tmp_path, row, header=header, timeframe="1m")
    assert loaded.candles.close.tolist() == [100.5]
    assert loaded.candles.volume.tolist() == [10]


def test_a_gzip_file_reads_as_the_file_in_it(tmp_path: Path) -> None:
    path = tmp_path / "NIFTY_1m_2024.csv.gz"
    path.write_bytes(gzip.compress((HEADER + "\n".join(MINUTES)).encode()))
    assert len(ImportedSeries(path).candles) == 3


@pytest.mark.parametrize("zone", [None, "+05:30", "UTC"])
def test_a_parquet_file_with_or_without_a_zone(tmp_path: Path, zone: str | None) -> None:
    india = timezone(timedelta(hours=5, minutes=30))
    moment = datetime(2024, 1, 1, 9, 15, tzinfo=india if zone else None)
    prices = {name: [100.05, 100.1] for name in ("open", "high", "low", "close")}
    stamps = pa.array([moment, moment + timedelta(minutes=5)], pa.timestamp("ns", zone))
    path = tmp_path / "BHEL_5m_2025-26.parquet"
    pq.write_table(pa.table({"date": stamps, **prices}), path)
    loaded = ImportedSeries(path)
    assert (loaded.symbol, loaded.timeframe) == ("NSE:BHEL", "5m")
    assert loaded.candles.time.tolist() == [at("2024-01-01 09:15"), at("2024-01-01 09:20")]
    assert loaded.candles.close.tolist() == [100.05, 100.1]


@pytest.mark.parametrize(
    ("name_in_file", "symbol"),
    [
        ("NIFTY", "NSE:NIFTY"),
        ("INFY-EQ", "NSE:INFY"),
        ("M&M", "NSE:MM"),
        ("BAJAJ-AUTO", "NSE:BAJAJAUTO"),
        ("SENSEX", "BSE:SENSEX"),
        ("NIFTY 50", "NSE:NIFTY"),
        ("Nifty Bank", "NSE:BANKNIFTY"),
        ("reliance", "NSE:RELIANCE"),
        ("MCX:CRUDEOIL24JANFUT", "MCX:CRUDEOIL24JANFUT"),
    ],
)
def test_the_instrument_column_gives_the_symbol(
    tmp_path: Path, name_in_file: str, symbol: str
) -> None:
    rows = [f"{row},{name_in_file}" for row in MINUTES]
    loaded = read(tmp_path, *rows, header=HEADER.strip() + ",Symbol\n")
    assert (loaded.symbol, loaded.name_in_file, loaded.symbol_source) == (
        symbol,
        name_in_file,
        "column Symbol",
    )


@pytest.mark.parametrize(
    ("name", "symbol"),
    [("SBIN_1m.csv", "NSE:SBIN"), ("BSE_SBIN_1m_2024.csv", "BSE:SBIN")],
)
def test_the_name_of_the_file_gives_the_symbol(tmp_path: Path, name: str, symbol: str) -> None:
    path = write_file(tmp_path, HEADER + "\n".join(MINUTES), name)
    assert ImportedSeries(path).symbol == symbol


def test_a_given_symbol_wins_and_a_missing_one_is_refused(tmp_path: Path) -> None:
    path = write_file(tmp_path, HEADER + "\n".join(MINUTES), "prices.csv")
    assert ImportedSeries(path, symbol="MCX:GOLD24FEBFUT").symbol == "MCX:GOLD24FEBFUT"
    with pytest.raises(BadCandleFile, match="give the symbol"):
        ImportedSeries(path)


def test_rows_in_any_order_are_sorted_and_counted(tmp_path: Path) -> None:
    loaded = read(tmp_path, *reversed(MINUTES))
    assert loaded.candles.close.tolist() == [100.5, 101, 101.05]
    assert loaded.report.out_of_order == 2


def test_a_row_repeated_exactly_is_dropped_and_counted(tmp_path: Path) -> None:
    loaded = read(tmp_path, *MINUTES, MINUTES[1], MINUTES[1])
    assert (loaded.report.rows, loaded.report.bars, loaded.report.repeated) == (5, 3, 2)


def test_two_different_rows_of_one_time_are_refused(tmp_path: Path) -> None:
    message = refusal(tmp_path, *MINUTES, "2024-01-01 09:16,100.5,102,100,101.5,20")
    assert "line 5: is of one time with line 3 and differs from it" in message


def test_a_small_excess_is_repaired_and_counted(tmp_path: Path) -> None:
    loaded = read(tmp_path, *MINUTES, "2024-01-01 09:18,100.05,100,99,98.95,10")
    assert loaded.candles.high.tolist()[-1] == 100.05
    assert loaded.candles.low.tolist()[-1] == 98.95
    assert loaded.report.repaired == 1
    assert loaded.report.largest_repair == pytest.approx(0.05 / 98.95)


def test_a_gross_excess_is_refused(tmp_path: Path) -> None:
    message = refusal(tmp_path, *MINUTES, "2024-01-01 09:18,100,101,99,98,10")
    assert "line 5: the bar contradicts itself by more than 0.5%" in message
    assert "open 100.0, high 101.0, low 99.0, close 98.0" in message


def test_periods_without_a_trade_are_dropped_and_counted(tmp_path: Path) -> None:
    loaded = read(tmp_path, *MINUTES, "2024-01-01 09:18,0,0,0,101.05,0")
    assert (loaded.report.bars, loaded.report.untraded) == (3, 1)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("2024-01-01 09:18,abc,101,99,100,10", "line 5: Open 'abc' is no number"),
        ("2024-01-01 09:18,,101,99,100,10", "line 5: open is missing"),
        ("2024-01-01 09:18,'1,000',101,99,100,10", "line 5: has 7 fields"),
        ("2024-01-01 09:18,nan,101,99,100,10", "line 5: open is missing"),
        ("2024-01-01 09:18,inf,inf,99,100,10", "line 5: open inf is no price above 0"),
        ("2024-01-01 09:18,-5,101,-6,100,10", "line 5: open -5.0 is no price above 0"),
        ("2024-01-01 09:18,100,101,99,100,-1", "line 5: volume -1.0 is no volume"),
        ("2024-01-01 09:18,100,101,99,100,x", "line 5: Volume 'x' is no number"),
        ("2024-01-01 09:18,100,101,99", "line 5: has 4 fields where the header has 6"),
        ("2024-13-01 09:18,100,101,99,100,1", "line 5: Date '2024-13-01 09:18' is no date"),
        ("yesterday,100,101,99,100,1", "line 5: Date 'yesterday' is no date"),
        ("2024-01-01 09:18:30,100,101,99,100,1", "is no whole minute"),
        ("1899-01-01 09:18,100,101,99,100,1", "is not between 1990 and 2100"),
        ("2024-01-01 09:18+05:30,100,101,99,100,1", "line 5: Date"),
    ],
)
def test_a_bad_value_is_named_with_its_line(tmp_path: Path, row: str, message: str) -> None:
    assert message in refusal(tmp_path, *MINUTES, row)


def test_empty_lines_do_not_shift_the_lines_of_messages(tmp_path: Path) -> None:
    assert "line 6: Open 'x'" in refusal(
        tmp_path, MINUTES[0], "", "", MINUTES[1], "2024-01-01 09:18,x,1,1,1,1"
    )


def test_empty_lines_above_the_header_are_lines_too(tmp_path: Path) -> None:
    header = "\n\n" + HEADER
    assert len(read(tmp_path, *MINUTES, header=header).candles) == 3
    assert "line 6: Open 'x'" in refusal(
        tmp_path, *MINUTES[:2], "2024-01-01 09:18,x,1,1,1,1", header=header
    )
    assert "line 6: has 2 fields" in refusal(tmp_path, *MINUTES[:2], "1,2", header=header)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ("p,q,r,s,w,u\n", "missing: timestamp (or date, or date and time), open, high, low, close"),
        ("Date,Open,High,Low,Last,Volume\n", "missing: close"),
    ],
)
def test_an_unknown_layout_lists_present_and_missing_columns(
    tmp_path: Path, header: str, message: str
) -> None:
    assert message in refusal(tmp_path, *MINUTES, header=header)


@pytest.mark.parametrize(
    ("content", "message"),
    [("", "is empty"), ("\n\n", "is empty"), (HEADER, "holds a header and no rows")],
)
def test_an_empty_file_is_refused(tmp_path: Path, content: str, message: str) -> None:
    with pytest.raises(BadCandleFile, match=message):
        ImportedSeries(write_file(tmp_path, content))


def test_a_truncated_gzip_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "NIFTY_1m.csv.gz"
    path.write_bytes(gzip.compress((HEADER + "\n".join(MINUTES)).encode())[:-12])
    with pytest.raises(BadCandleFile, match="damaged or truncated gzip"):
        ImportedSeries(path)


@pytest.mark.parametrize("content", [b"", b"PAR1", b"\xff\xfe\x00not parquet"])
def test_an_invalid_parquet_file_is_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "NIFTY_1m.parquet"
    path.write_bytes(content)
    with pytest.raises(BadCandleFile, match="is no Parquet file"):
        ImportedSeries(path)


def test_a_parquet_of_other_columns_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "NIFTY_1m.parquet"
    pq.write_table(pa.table({"when": [1], "price": [2.0]}), path)
    with pytest.raises(BadCandleFile, match="its columns are when, price; missing: timestamp"):
        ImportedSeries(path)


def test_text_that_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "NIFTY_1m.csv"
    path.write_bytes(HEADER.encode() + b"\xff\xfe\xfd\n")
    with pytest.raises(BadCandleFile, match="line 2: is no text in UTF-8"):
        ImportedSeries(path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadCandleFile, match="No such file"):
        ImportedSeries(tmp_path / "NIFTY_1m.csv")


def test_a_file_of_two_instruments_is_refused(tmp_path: Path) -> None:
    rows = [f"{row},{name}" for row in MINUTES for name in ("A", "B")]
    message = refusal(tmp_path, *rows, header=HEADER.strip() + ",Symbol\n")
    assert "holds 2 instruments (NSE:A, NSE:B):" in message


@pytest.mark.parametrize(
    ("given", "step", "count"), [("5m", 60, 4), ("1m", 300, 4), ("1d", 60, 4), ("1h", 900, 4)]
)
def test_a_timeframe_that_the_bars_contradict_is_refused(
    tmp_path: Path, given: str, step: int, count: int
) -> None:
    rows = [f"{at('2024-01-01 09:15') + step * i},1,1,1,1,0" for i in range(count)]
    assert f"is not {given}: most bars start" in refusal(tmp_path, *rows, timeframe=given)


def test_thin_trading_does_not_contradict_the_timeframe(tmp_path: Path) -> None:
    minutes = (0, 1, 7, 14, 21)
    rows = [f"{at('2024-01-01 09:15') + 60 * minute},1,1,1,1,0" for minute in minutes]
    assert read(tmp_path, *rows, timeframe="1m").timeframe == "1m"
    assert "tell no timeframe" in refusal(tmp_path, *rows)


def test_a_single_bar_gives_no_timeframe(tmp_path: Path) -> None:
    assert "tell no timeframe" in refusal(tmp_path, MINUTES[0])


def test_an_unknown_timeframe_names_the_known_timeframes(tmp_path: Path) -> None:
    assert "none of 1m, 5m, 15m" in refusal(tmp_path, *MINUTES, timeframe="3m")


def test_day_bars_stamped_in_the_day_move_to_its_beginning(tmp_path: Path) -> None:
    rows = [f"2024-01-0{day} 15:30,1,1,1,1,0" for day in (1, 2, 3)]
    loaded = read(tmp_path, *rows)
    assert loaded.timeframe == "1d"
    assert loaded.candles.time.tolist() == [at(f"2024-01-0{day} 00:00") for day in (1, 2, 3)]
    assert loaded.report.moved == 3
    assert loaded.quality.off_session == 0


def test_week_bars_stand_on_their_monday(tmp_path: Path) -> None:
    rows = [f"2024-01-{day:02},1,1,1,1,0" for day in (5, 12, 19)]
    loaded = read(tmp_path, *rows)
    assert loaded.timeframe == "1w"
    assert loaded.candles.time.tolist() == [at(f"2024-01-{d:02} 00:00") for d in (1, 8, 15)]


def test_bars_outside_the_session_are_kept_and_counted_or_refused_when_strict(
    tmp_path: Path,
) -> None:
    rows = [*MINUTES, "2024-01-01 15:30,1,1,1,1,0", "2024-01-01 09:07,1,1,1,1,0"]
    loaded = read(tmp_path, *rows)
    assert (loaded.report.bars, loaded.quality.off_session) == (5, 2)
    assert "line 6: the bar starts outside the session's hours" in refusal(
        tmp_path, *rows, strict=True
    )


def test_a_gap_of_a_split_is_counted_and_dated(tmp_path: Path) -> None:
    rows = ["2024-01-01,300,300,300,300,0", "2024-01-02,385,400,385,400,0"]
    assert not len(read(tmp_path, *rows, timeframe="1d").quality.jumps)
    split = ["2024-01-03,40,41,39,40,0", "2024-01-04,53,53,53,53,0"]
    jumps = read(tmp_path, *rows, *split).quality.jumps
    assert jumps.tolist() == [at("2024-01-03 00:00"), at("2024-01-04 00:00")]


def test_short_and_unlisted_days_are_named(tmp_path: Path) -> None:
    saturday = [row.replace("01-01", "01-13") for row in MINUTES]
    quality = read(tmp_path, *MINUTES, *saturday).quality
    assert dates(quality.short_days) == dates(quality.days) == ["2024-01-01", "2024-01-13"]
    assert dates(quality.unlisted_days) == ["2024-01-13"]


def many_minutes(count: int) -> list[str]:
    """Return more rows than one of the pieces of a large file."""
    first = datetime(2024, 1, 1, 9, 15, tzinfo=UTC)
    stamps = [first + timedelta(minutes=i) for i in range(count)]
    return [f"{stamp:%Y-%m-%d %H:%M},100,101,99.95,100.5,{i}" for i, stamp in enumerate(stamps)]


def test_a_file_of_many_pieces_is_read_in_order(tmp_path: Path) -> None:
    bars = read(tmp_path, *many_minutes(60_000)).candles
    assert bars.volume.tolist() == list(range(60_000))
    assert (bars.time[1:] - bars.time[:-1] == 60).all()


@pytest.mark.parametrize(
    ("last", "message"),
    [
        ("2024-03-01 09:15,100,101,99", "line 60002: has 4 fields where the header has 6"),
        ("2024-03-01 09:15,100,101,x,100,1", "line 60002: Low 'x' is no number"),
        ("2024-03-01 09:15,100,101,,100,1", "line 60002: low is missing"),
    ],
)
def test_a_fault_far_down_is_named_by_its_line(tmp_path: Path, last: str, message: str) -> None:
    assert message in refusal(tmp_path, *many_minutes(60_000), last)


def test_prices_are_the_floats_that_python_reads(tmp_path: Path) -> None:
    prices = ["0.1", "123456.05", "1e3", "99.999999999999986", " 100.05 ", "7.0000000000000001"]
    rows = [f"2024-01-01 09:{15 + i},{p},{p},{p},{p},1" for i, p in enumerate(prices)]
    bars = read(tmp_path, *rows).candles
    assert bars.close.tolist() == [float(price) for price in prices]


def test_an_empty_column_of_volume_is_ignored(tmp_path: Path) -> None:
    rows = [f"2024-01-01 09:{15 + i},100,101,99,100," for i in range(3)]
    assert read(tmp_path, *rows).candles.volume.tolist() == [0, 0, 0]
