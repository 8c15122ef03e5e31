"""Reading masters: each format, each special case, and files that are not masters."""

import gzip
import zipfile
from datetime import date
from pathlib import Path

import pytest

from apps.symbols.importers.lots import lot_of_row
from apps.symbols.importers.master import Master, read_master
from apps.symbols.importers.master_file import InvalidMaster
from apps.symbols.importers.naming import NamedRow, last_expiries, name_all
from apps.symbols.importers.rows import RejectReason
from apps.symbols.models import Source
from tests.symbols import master_files

TODAY = date(2026, 11, 21)


def read(path: Path, text: str, **options: object) -> Master:
    path.write_text(text)
    return read_master(path, today=TODAY, **options)  # type: ignore[arg-type]


def name(master: Master) -> list[NamedRow]:
    return name_all(master.rows, last_expiries(master.rows), master.rejections)


def described(named: NamedRow) -> str:
    lot = lot_of_row(named.row)
    values = (lot.size, lot.multiplier, named.row.tick, named.row.freeze)
    written = ("-" if value is None else f"{value:f}".removesuffix(".000000") for value in values)
    return " ".join([named.symbol, *written])


@pytest.mark.parametrize("kind", master_files.EXPECTED)
def test_each_kind_of_master_is_recognised_and_read(kind: str, tmp_path: Path) -> None:
    text, expected = master_files.EXPECTED[kind]
    master = read(tmp_path / "list", text)
    named = name(master)
    assert [described(instrument) for instrument in named] == expected
    assert master.source == kind.partition(" ")[0]
    assert master.read == len(named) + sum(master.rejections.counts.values())


def test_skipped_rows_are_counted_by_reason(tmp_path: Path) -> None:
    master = read(tmp_path / "kite.csv", master_files.KITE)
    name(master)
    assert master.rejections.counts == {
        RejectReason.NOT_A_SHARE: 1,
        RejectReason.DECIMAL_STRIKE: 1,
        RejectReason.ELSEWHERE: 1,
    }
    assert master.rejections.shown[RejectReason.DECIMAL_STRIKE] == [
        (10, "ASHOKLEY26AUG172.5PE, strike 172.5")
    ]
    shifted = read(tmp_path / "bse.csv", master_files.BSE)
    assert shifted.rejections.shown[RejectReason.UNREADABLE] == [(4, "14 columns under 9 headers")]


def test_gzip_and_zip_files_are_read_the_same_way(tmp_path: Path) -> None:
    packed, zipped = tmp_path / "kite.csv.gz", tmp_path / "kite.zip"
    packed.write_bytes(gzip.compress(master_files.KITE.encode()))
    with zipfile.ZipFile(zipped, "w") as archive:
        archive.writestr("instruments.csv", master_files.KITE)
    plain = read(tmp_path / "kite.csv", master_files.KITE)
    for path in (packed, zipped):
        assert read_master(path, today=TODAY).rows == plain.rows


def test_the_date_of_a_master_is_its_own_or_that_of_its_first_expiry(tmp_path: Path) -> None:
    dates = {
        "nse": (master_files.NSE, (TODAY, "today")),
        "kite": (master_files.KITE, (date(2026, 8, 18), "its first expiry")),
        "fyers": (master_files.FYERS, (date(2025, 11, 10), "written in it")),
    }
    for kind, (text, expected) in dates.items():
        master = read(tmp_path / kind, text)
        assert (master.as_of, master.as_of_source) == expected
    given = read(tmp_path / "nse", master_files.NSE, as_of=date(2026, 1, 2))
    assert (given.as_of, given.as_of_source) == (date(2026, 1, 2), "given")


def equities(*symbols: str) -> str:
    rows = [f"{symbol},Company {symbol},EQ,03-JAN-1996,5,1,,5" for symbol in symbols]
    return "\n".join([master_files.NSE.splitlines()[0], *rows])


def test_of_names_with_the_same_symbol_the_identical_name_is_kept(tmp_path: Path) -> None:
    master = read(tmp_path / "a", equities("M&M", "MM", "A-B", "A&B", "C"))
    assert [instrument.exchange_name for instrument in name(master)] == ["MM", "C"]
    assert master.rejections.counts == {RejectReason.COLLISION: 3}
    assert [line for line, _ in master.rejections.shown[RejectReason.COLLISION]] == [2, 4, 5]


def test_the_normal_series_of_a_share_wins(tmp_path: Path) -> None:
    rows = master_files.NSE.replace("360ONE,360 ONE WAM LIMITED,BE", "M&M,Mahindra again,BE")
    master = read(tmp_path / "a", rows)
    assert [instrument.name for instrument in name(master)] == ["Mahindra & Mahindra Limited"]
    assert master.rejections.counts == {RejectReason.OTHER_SERIES: 1}


@pytest.mark.parametrize("symbol", ["INFRA26APRFUT", "011NSETEST", "\x07BELL", "&", "X" * 60])
def test_a_name_that_makes_no_symbol_is_refused(tmp_path: Path, symbol: str) -> None:
    master = read(tmp_path / "a", equities(symbol, "TCS"))
    assert [instrument.symbol for instrument in name(master)] == ["NSE:TCS"]
    assert sum(master.rejections.counts.values()) == 1


@pytest.mark.parametrize(
    ("days", "symbols"),
    [
        (["2026-05-12", "2026-05-19", "2026-05-26"], ["MAY12", "MAY19", "MAY"]),
        (["2026-05-12", "2026-05-19"], ["MAY12", "MAY19"]),  # cut off before the monthly one
        (["2026-12-29"], ["DEC"]),
    ],
)
def test_the_last_expiry_of_a_month_is_written_without_its_day(
    tmp_path: Path, days: list[str], symbols: list[str]
) -> None:
    header = master_files.FIVEPAISA.splitlines()[0]
    rows = [f"N,D,NIFTY 1 MAY 2026 CE,{day},CE,24000,65,1800,1" for day in days]
    named = name(read(tmp_path / "a", "\n".join([header, *rows])))
    years = [f"NSE:NIFTY26{symbol}24000CE" for symbol in symbols]
    assert [instrument.symbol for instrument in named] == years


def test_a_monthly_option_expires_with_the_future_though_a_weekly_one_expires_later(
    tmp_path: Path,
) -> None:
    header = master_files.FIVEPAISA.splitlines()[0]
    rows = [
        f"N,D,BANKNIFTY 1 APR 2024,{day},{kind},{strike},15,900,1"
        for day, kind, strike in (
            ("2024-04-24", "XX", 0),
            ("2024-04-24", "CE", 48000),
            ("2024-04-30", "CE", 48000),
        )
    ]
    named = name(read(tmp_path / "a", "\n".join([header, *rows])))
    assert [instrument.code for instrument in named] == [
        "BANKNIFTY24APRFUT",
        "BANKNIFTY24APR48000CE",
        "BANKNIFTY24APR3048000CE",
    ]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "empty"),
        (b"a,b\n1,2\n", "columns are a, b"),
        (b"[{", "no JSON"),
        (b"{}", "no list"),
        (b"PK\x03\x04junk", "damaged or locked zip"),
        (gzip.compress(master_files.KITE.encode())[:-20], "damaged or truncated gzip"),
        (b"\xff\xfe\x00", "read to its end"),
        (master_files.NSE.splitlines()[0].encode(), "none of its 0 rows"),
        (master_files.UPSTOX_JSON.encode()[:-30], "cut off"),
    ],
)
def test_an_invalid_master_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "list"
    path.write_bytes(content)
    with pytest.raises(InvalidMaster, match=message):
        read_master(path, today=TODAY)


def test_a_format_that_is_asked_for_must_fit(tmp_path: Path) -> None:
    with pytest.raises(InvalidMaster, match="no list of Upstox"):
        read(tmp_path / "kite.csv", master_files.KITE, source=Source.UPSTOX)


@pytest.mark.parametrize("field", ["expiry", "strike", "lot_size", "tick_size"])
def test_an_invalid_field_refuses_only_its_row(tmp_path: Path, field: str) -> None:
    header, *rows = master_files.KITE.splitlines()
    whole = dict(zip(header.split(","), rows[6].split(","), strict=True))
    bad = ["x", "NaN", "1e400", "99999999999999", "-", "1.5.2"]
    lines = [",".join((whole | {field: value}).values()) for value in bad]
    master = read(tmp_path / "kite.csv", "\n".join([header, *lines, rows[7]]))
    assert len(master.rows) == 1
    assert master.rejections.counts == {RejectReason.UNREADABLE: len(bad)}
