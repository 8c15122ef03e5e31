"""Undoing a load: the bars that it replaced come back."""

from datetime import UTC, date, datetime, timedelta
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from apps.core import audit
from apps.core.models import AuditRecord
from apps.engine.candles import Candles
from apps.market import tasks
from apps.market.candles import reading
from apps.market.candles.buffer import rows_of
from apps.market.candles.corporate_actions import ActionRow, store_actions
from apps.market.candles.undo import ChangedSinceLoad, NothingToUndo, UndoneLoad, undo_load
from apps.market.feeds import services as feeds
from apps.market.importers import loader
from apps.market.models import CandleChunk, ReplacedChunk
from apps.market.services import append_all
from tests.market.bars import are_same_candles, at, flat_candles, rising_minutes, write_file

SBIN = "NSE:SBIN"
INFY = "NSE:INFY"
NOW = datetime(2026, 11, 2, 12, 0, tzinfo=UTC)
HEADER = "Date,Open,High,Low,Close,Volume\n"
pytestmark = pytest.mark.django_db


def load(*arguments: object) -> str:
    out = StringIO()
    call_command("load_candles", *map(str, arguments), stdout=out)
    return out.getvalue()


def undo(symbol: str | None = None, timeframe: str | None = None) -> UndoneLoad:
    return undo_load(
        symbol=symbol,
        timeframe=timeframe,
        actor=audit.SYSTEM,
        now=NOW + timedelta(days=1),
    )


def store(bars: Candles, timeframe: str = "1m", symbol: str = SBIN, *, hour: int) -> None:
    now = NOW + timedelta(hours=hour)
    append_all(series={symbol: bars}, timeframe=timeframe, now=now)


def stored(timeframe: str = "1m", symbol: str = SBIN) -> Candles:
    return reading.read_bars(symbol, timeframe, start=0, end=2**33)


def minutes(*closes: float, day: str = "2024-01-31") -> str:
    rows = (
        f"{day} 09:{15 + n},{close},{close},{close},{close},10\n" for n, close in enumerate(closes)
    )
    return HEADER + "".join(rows)


def test_the_bars_that_a_load_changed_added_and_inserted_are_as_before(tmp_path: Path) -> None:
    load(write_file(tmp_path, minutes(1, 2, 3), "SBIN_1m.csv"))
    before = stored()
    wrong = minutes(9, 2, 3, 4) + minutes(5, day="2024-02-01").removeprefix(HEADER)
    load(write_file(tmp_path, wrong, "SBIN_1m.csv"))
    assert len(stored()) == 5
    assert "NSE:SBIN 1m: 5 bars, 3 after the undo" in load("--undo")
    assert are_same_candles(stored(), before)


def test_undo_removes_a_first_load(tmp_path: Path) -> None:
    load(write_file(tmp_path, minutes(1, 2), "SBIN_1m.csv"))
    assert "NSE:SBIN 1m: 2 bars, 0 after the undo" in load("--undo")
    assert not CandleChunk.objects.exists()
    assert reading.stored_timeframes(SBIN) == []


def test_undo_restores_a_sample_with_its_later_bars(tmp_path: Path) -> None:
    load("--sample")
    later = rising_minutes("2026-07-01 09:15", 5)
    feeds.receive(timeframe="1m", series={INFY: list(rows_of(later))}, now=NOW)
    feeds.compact(symbols=[INFY], now=NOW)
    before = stored("1m", INFY)
    row = reading.stored_timeframes(INFY)
    load(write_file(tmp_path, minutes(1, 2), "INFY_1m.csv"), "--replace-sample")
    assert len(stored("1m", INFY)) == 7
    load("--undo")
    assert are_same_candles(stored("1m", INFY), before)
    assert reading.stored_timeframes(INFY) == row


@pytest.mark.slow
def test_undo_removes_a_loaded_sample() -> None:
    load("--sample")
    undone = load("--undo")
    assert "NSE:NIFTY 1m: 21000 bars, 0 after the undo" in undone
    assert "series more" in undone
    assert not CandleChunk.objects.exists()


def test_dropped_bars_come_back(tmp_path: Path) -> None:
    load(write_file(tmp_path, minutes(1, 2, day="2023-05-02"), "SBIN_1m.csv"))
    before = stored()
    load(write_file(tmp_path, minutes(1, 2, 3), "SBIN_1m.csv"), "--replace")
    load("--undo")
    assert are_same_candles(stored(), before)


def test_only_one_load_can_be_undone(tmp_path: Path) -> None:
    for count in (2, 3, 4):
        load(write_file(tmp_path, minutes(*range(1, count + 1)), "SBIN_1m.csv"))
    load("--undo")
    assert len(stored()) == 3
    with pytest.raises(CommandError, match="There is no load to undo") as refused:
        load("--undo")
    assert "Nothing was undone" in str(refused.value)
    assert len(stored()) == 3


def test_a_load_without_changes_leaves_the_earlier_one_to_undo(tmp_path: Path) -> None:
    for closes in ((1, 2), (1, 3), (1, 3)):
        load(write_file(tmp_path, minutes(*closes), "SBIN_1m.csv"))
    load("--undo")
    assert stored().close.tolist() == [1, 2]


def test_a_load_of_several_parts_is_undone_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load(write_file(tmp_path, minutes(1, 2), "SBIN_1m_a.csv"))
    before = stored()
    monkeypatch.setattr(loader, "_BATCH", 1)
    files = [
        write_file(tmp_path, minutes(7, 8, 9), "SBIN_1m_b.csv"),
        write_file(tmp_path, minutes(5, 5, day="2024-01-30"), "SBIN_1m_c.csv"),
        write_file(tmp_path, minutes(6, 6, day="2024-02-01"), "SBIN_1m_d.csv"),
        write_file(tmp_path, minutes(4, 4, day="2024-02-02"), "SBIN_1m_e.csv"),
        write_file(tmp_path, minutes(4, 4), "INFY_1m.csv"),
    ]
    load(*files)
    assert (len(stored()), len(stored("1m", INFY))) == (9, 2)
    report = load("--undo")
    assert "NSE:INFY 1m: 2 bars, 0 after the undo" in report
    assert are_same_candles(stored(), before)


def test_one_series_of_a_load_can_be_undone() -> None:
    bars = rising_minutes("2024-01-31 09:15", 5)
    append_all(series={SBIN: bars, INFY: bars}, timeframe="1m", now=NOW)
    store(flat_candles([at("2024-01-31 00:00")]), "1d", INFY, hour=1)
    assert list(undo(INFY, "1m").series) == [(INFY, "1m")]
    assert [row["timeframe"] for row in reading.stored_timeframes(INFY)] == ["1d"]
    assert len(stored()) == 5
    with pytest.raises(NothingToUndo, match="no load of NSE:INFY 1m to undo"):
        undo(INFY, "1m")
    assert list(undo().series) == [(INFY, "1d")]
    assert list(undo().series) == [(SBIN, "1m")]


def test_a_dry_run_undoes_nothing(tmp_path: Path) -> None:
    load(write_file(tmp_path, minutes(1, 2), "SBIN_1m.csv"))
    assert "dry run: nothing undone" in load("--undo", "--dry-run")
    assert len(stored()) == 2
    load("--undo")
    assert len(stored()) == 0


@pytest.mark.parametrize("compacted", [False, True])
@pytest.mark.parametrize("minute", ["2024-01-31 09:16", "2024-01-31 11:00", "2024-02-01 09:15"])
def test_a_series_that_a_feed_has_changed_since_is_left(*, compacted: bool, minute: str) -> None:
    store(rising_minutes("2024-01-31 09:15", 5), hour=0)
    store(rising_minutes("2024-01-31 09:15", 5, first_price=200), hour=1)
    rows = list(rows_of(rising_minutes(minute, 1, first_price=300)))
    feeds.receive(timeframe="1m", series={SBIN: rows}, now=NOW + timedelta(hours=2))
    if compacted:
        feeds.compact(symbols=[SBIN], now=NOW + timedelta(hours=3))
    before = stored()
    with pytest.raises(ChangedSinceLoad, match="NSE:SBIN 1m has changed since the load of 2 Nov"):
        undo()
    assert are_same_candles(stored(), before)


def test_bars_of_another_timeframe_do_not_matter() -> None:
    store(flat_candles([at("2024-01-31 00:00")]), "1d", hour=1)
    rows = list(rows_of(rising_minutes("2024-01-31 09:15", 1)))
    feeds.receive(timeframe="1m", series={SBIN: rows}, now=NOW + timedelta(hours=2))
    undo()
    assert [row["timeframe"] for row in reading.stored_timeframes(SBIN)] == ["1m"]


def test_bars_in_the_buffer_at_the_time_of_the_load_stay() -> None:
    rows = list(rows_of(rising_minutes("2024-01-31 09:15", 3)))
    feeds.receive(timeframe="1m", series={SBIN: rows}, now=NOW)
    before = stored()
    store(rising_minutes("2024-01-31 09:16", 3, first_price=200), hour=1)
    undo()
    assert are_same_candles(stored(), before)


def test_newer_actions_check_restored_bars(tmp_path: Path) -> None:
    """The prices of the first file do not fall on the day of the bonus: they were adjusted."""
    dates = ("2024-03-01", "2024-03-04", "2024-03-05", "2024-03-06")
    level = HEADER + "".join(f"{day},100,100,100,100,1\n" for day in dates)
    load(write_file(tmp_path, level, "SBIN_1d.csv"))
    load(write_file(tmp_path, level.replace(",100,1\n", ",100,2\n"), "SBIN_1d.csv"))
    bonus = ActionRow(SBIN, date(2024, 3, 4), "bonus", before=1, after=2, source="a circular")
    store_actions(rows=[bonus], now=NOW)
    assert CandleChunk.objects.get().adjusted
    load("--undo")
    chunk = CandleChunk.objects.get()
    assert (chunk.adjusted, chunk.prices_known) == (True, True)
    assert stored("1d").volume.tolist() == [1] * 4


def test_a_load_of_long_ago_is_forgotten() -> None:
    store(rising_minutes("2024-01-31 09:15", 5), hour=0)
    tasks.compact_nightly(int((NOW + timedelta(days=29)).timestamp()))
    assert ReplacedChunk.objects.exists()
    tasks.compact_nightly(int((NOW + timedelta(days=31)).timestamp()))
    assert not ReplacedChunk.objects.exists()
    with pytest.raises(NothingToUndo, match="within 30 days"):
        undo()


def test_only_the_last_load_is_kept_for_undo() -> None:
    for hour in range(4):
        bars = rising_minutes("2024-01-31 09:15", 40, first_price=100 + hour)
        store(bars, hour=hour)
    [kept] = ReplacedChunk.objects.all()
    assert kept.bars == 40


def test_an_undo_is_on_record(tmp_path: Path) -> None:
    load(write_file(tmp_path, minutes(1, 2), "SBIN_1m.csv"))
    load("--undo")
    record = AuditRecord.objects.get(action="candle_load_undone")
    assert record.actor_kind == "command"
    assert (record.details["series"], record.details["total"]) == (["NSE:SBIN 1m"], 1)
