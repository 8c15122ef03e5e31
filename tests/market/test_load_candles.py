"""The command that loads candle files."""

import gzip
from hashlib import sha256
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from apps.market.candles import reading
from apps.market.importers import loader
from apps.market.models import CandleChunk, CandleFile
from apps.market.rulebook.files.rule_set import bundled_files
from apps.market.services import load_rule_set
from tests import make
from tests.market.bars import rising_minutes, store_candles, write_file
from tests.symbols.instruments import master_of_derivatives

HEADER = "Date,Open,High,Low,Close,Volume\n"
ROWS = "".join(f"2024-01-01 09:{minute},100,101,99.95,100.5,10\n" for minute in range(15, 35))
pytestmark = pytest.mark.django_db


def load(*arguments: object, **options: Any) -> str:
    out = StringIO()
    call_command("load_candles", *map(str, arguments), stdout=out, **options)
    return out.getvalue()


def test_a_file_is_stored_and_reported(tmp_path: Path) -> None:
    report = load(write_file(tmp_path, HEADER + ROWS + "2024-01-01 15:30,1,1,1,1,0\n"))
    assert report.splitlines() == [
        "NIFTY_1m_2024.csv",
        "  NSE:NIFTY 1m (columns, symbol file name)",
        "  21 rows = 21 bars",
        "  prices of which no known split or bonus tells whether they are adjusted, taken as"
        " traded: 1",
        "  NSE:NIFTY: 21 bars, 1 days, 2024-01-01 09:15 to 2024-01-01 15:30 IST",
        "    without volume: 1",
        "    outside the session's hours, kept: 1",
        "    days with fewer bars than their session has: 1 (2024-01-01)",
        "    open 30% or more away from the last close: 1 (2024-01-01 15:30)",
        "21 added, 0 held already, 0 replaced",
    ]
    assert [row["bars"] for row in reading.stored_timeframes("NSE:NIFTY")] == [21]


def test_the_outcome_of_a_file_is_stored(tmp_path: Path) -> None:
    path = write_file(tmp_path, HEADER + ROWS + "2024-01-01 09:40,0,0,0,1,0\n")
    load(path)
    kept = CandleFile.objects.get()
    assert (kept.file, kept.format, kept.timeframe) == ("NIFTY_1m_2024.csv", "columns", "1m")
    assert (kept.rows, kept.bars, kept.instruments) == (21, 20, 1)
    assert kept.sha256 == sha256(path.read_bytes()).hexdigest()
    assert (kept.report["untraded"], kept.report["shifted"]) == (1, 0)


def test_loading_a_file_twice_adds_nothing(tmp_path: Path) -> None:
    path = write_file(tmp_path, HEADER + ROWS)
    load(path)
    assert "0 added, 20 held already, 0 replaced" in load(path)


def test_bars_that_two_files_give_are_stored_once_and_counted(tmp_path: Path) -> None:
    first = write_file(tmp_path, HEADER + ROWS, "SBIN_1m_first.csv")
    later = write_file(tmp_path, HEADER + ROWS.replace("100.5", "100.7"), "SBIN_1m_later.csv")
    assert "20 added, 0 held already, 0 replaced, 20 in two files" in load(first, later)
    bars = reading.read_bars("NSE:SBIN", "1m", start=0, end=2**33)
    assert set(bars.close.tolist()) == {100.7}


def test_many_instruments_are_stored_together(tmp_path: Path) -> None:
    header = "SYMBOL,SERIES,DATE1,OPEN_PRICE,HIGH_PRICE,LOW_PRICE,CLOSE_PRICE,TTL_TRD_QNTY\n"
    for day in (3, 1, 2):
        rows = "".join(f"S{n},EQ,0{day}-Sep-2025,1,1,1,1,{n}\n" for n in range(20))
        report = load(write_file(tmp_path, header + rows, f"{day}.csv"))
        assert "20 instruments 1d (NSE full bhavcopy, symbol column SYMBOL)" in report
        assert "20 added, 0 held already, 0 replaced" in report
    bars = reading.read_bars("NSE:S7", "1d", start=0, end=2**33)
    assert bars.volume.tolist() == [7, 7, 7]


def test_prices_adjusted_by_their_source_do_not_mix_with_others(tmp_path: Path) -> None:
    raw = write_file(
        tmp_path, HEADER + "2024-01-01,1,1,1,1,1\n2024-01-02,1,1,1,1,1\n", "SBIN_1d.csv"
    )
    load(raw)
    header = "Date,Open,High,Low,Close,Adj Close,Volume\n"
    rows = "2024-01-02,7,7,7,7,1,1\n2024-01-03,7,7,7,7,1,1\n"
    adjusted = write_file(tmp_path, header + rows, "SBIN_1d_yahoo.csv")
    with pytest.raises(CommandError, match="holds prices as they were traded, and these are adj"):
        load(adjusted)
    assert "2 added, 0 held already, 0 replaced, 2 older candles removed" in load(
        adjusted, "--replace"
    )
    assert reading.read_bars("NSE:SBIN", "1d", start=0, end=2**33).close.tolist() == [7, 7]


def test_parts_of_a_load_replace_only_older_bars(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loader, "_BATCH", 1)
    store_candles("NSE:SBIN", "1m", rising_minutes("2023-12-29 09:15", 10))
    first = write_file(tmp_path, HEADER + ROWS, "SBIN_1m_first.csv")
    later = write_file(tmp_path, HEADER + ROWS.replace("01-01", "01-02"), "SBIN_1m_later.csv")
    assert "40 added, 0 held already, 0 replaced, 10 older candles" in load(
        first, later, "--replace"
    )
    assert len(reading.read_bars("NSE:SBIN", "1m", start=0, end=2**33)) == 40


def test_one_refused_file_stops_the_load_of_all(tmp_path: Path) -> None:
    good = write_file(tmp_path, HEADER + ROWS, "SBIN_1m.csv")
    bad = write_file(tmp_path, HEADER + ROWS + "2024-01-01 09:40,x,1,1,1,1\n", "INFY_1m.csv")
    with pytest.raises(CommandError, match=r"INFY_1m\.csv: line 22: Open 'x' is no number"):
        load(good, bad)
    assert not CandleChunk.objects.exists()


def test_a_truncated_file_loads_nothing(tmp_path: Path) -> None:
    path = tmp_path / "SBIN_1m.csv.gz"
    path.write_bytes(gzip.compress((HEADER + ROWS).encode())[:-5])
    with pytest.raises(CommandError, match="Nothing was loaded"):
        load(path)
    assert not CandleChunk.objects.exists()


def test_a_dry_run_reports_and_stores_nothing(tmp_path: Path) -> None:
    report = load(write_file(tmp_path, HEADER + ROWS), "--dry-run")
    assert "20 rows = 20 bars" in report
    assert "dry run: nothing stored" in report
    assert not CandleChunk.objects.exists()


def test_strict_refuses_bars_outside_the_session(tmp_path: Path) -> None:
    path = write_file(tmp_path, HEADER + ROWS + "2024-01-01 15:30,1,1,1,1,0\n")
    with pytest.raises(CommandError, match="line 22: the bar starts outside"):
        load(path, "--strict")


def test_hours_come_from_the_loaded_edition(tmp_path: Path) -> None:
    path = write_file(tmp_path, HEADER + ROWS + "2024-01-01 15:30,1,1,1,1,0\n")
    longer = "NSE,,2024-01-01,special,a longer day,09:15,15:31,a circular,\n"
    days = bundled_files()["days.csv"] + longer
    load_rule_set(files={"days.csv": days}, source="a circular", now=make.NOW)
    assert "21 added" in load(path, "--strict")


def test_hours_come_from_the_loaded_master(tmp_path: Path) -> None:
    rows = "2026-08-03 15:00,1,1,1,1,1\n2026-08-03 15:15,1,1,1,1,1\n"
    path = write_file(tmp_path, HEADER + rows, "SMALL_15m.csv")
    strict = ("--strict", "--stamps", "start")
    with pytest.raises(CommandError, match="the bar starts outside"):
        load(path, *strict)
    assert "moved back" in load(path, "--dry-run")
    master_of_derivatives()
    assert "2 added" in load(path, *strict)
    assert "moved back" not in load(path, "--dry-run")


def test_symbol_and_timeframe_can_be_given(tmp_path: Path) -> None:
    path = write_file(tmp_path, HEADER + ROWS, "prices.csv")
    load(path, "--symbol", "BSE:SENSEX", "--timeframe", "1m")
    assert len(reading.stored_timeframes("BSE:SENSEX")) == 1
    with pytest.raises(CommandError, match="is not 5m"):
        load(path, "--symbol", "BSE:SENSEX", "--timeframe", "5m")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "give FILEs to load, or --sample, or --undo"),
        (("a.csv", "--sample"), "give FILEs to load, or --sample, or --undo"),
        (("--undo", "--sample"), "give FILEs to load, or --sample, or --undo"),
        (("--sample", "--dry-run"), "--sample does not read --dry-run"),
        (("--sample", "--symbol", "NSE:SBIN"), "--sample does not read --symbol"),
        (("--undo", "--strict"), "--undo does not read --strict"),
        (("--undo", "--ignore-column", "x"), "--undo does not read --ignore-column"),
        (("a.csv", "--symbol", "nse:x"), "The exchange must be one of"),
        (("a.csv", "--timeframe", "3m"), "invalid choice: '3m'"),
    ],
)
def test_arguments_that_make_no_sense_are_refused(arguments: tuple[str, ...], message: str) -> None:
    with pytest.raises(CommandError, match=message):
        load(*arguments)


def test_the_sample_is_marked_and_the_same_every_time() -> None:
    assert "204904 added" in load("--sample")
    assert "0 added, 204904 held already, 0 replaced" in load("--sample")
    held = reading.stored_timeframes("NSE:RELIANCE")
    assert [(row["timeframe"], row["bars"], row["synthetic"]) for row in held] == [
        ("1m", 21000, True),
        ("1d", 1238, True),
    ]


def test_the_sample_replaces_one_of_an_earlier_release_and_leaves_real_history_alone() -> None:
    store_candles("NSE:INFY", "1m", rising_minutes("2024-01-31 09:15", 10))
    store_candles("NSE:RELIANCE", "1m", rising_minutes("2026-04-08 09:15", 10), synthetic=True)
    report = load("--sample")
    assert "NSE:INFY has real history" in report
    assert "0 held already, 10 replaced" in report
    assert [row["bars"] for row in reading.stored_timeframes("NSE:INFY")] == [10]
    assert reading.stored_timeframes("NSE:RELIANCE")
