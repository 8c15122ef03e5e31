"""Generated candles beside those of the market: following them, replacing them, saying so."""

import sys
from datetime import UTC, date, datetime
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command

from apps.engine.candles import Candles
from apps.market import services
from apps.market.candles import reading, writing
from apps.market.candles.buffer import rows_of
from apps.market.candles.corporate_actions import ActionRow, store_actions
from apps.market.candles.samples import SAMPLE_NOTICE
from apps.market.candles.writing import SampleInTheWay, WriteCounts
from apps.market.feeds import services as feeds
from apps.market.feeds.validation import IntakeCounts
from apps.market.models import BufferedCandle, CandleChunk, CandleFile
from tests.market.bars import at, flat_candles, rising_minutes, store_candles, write_file

SBIN = "NSE:SBIN"
INFY = "NSE:INFY"
NOW = datetime(2026, 11, 2, 12, 0, tzinfo=UTC)
ROWS = "Date,Open,High,Low,Close,Volume\n2026-06-30 09:15,1,1,1,1,1\n2026-06-30 09:16,1,1,1,1,1\n"
pytestmark = pytest.mark.django_db


def days(*dates: str) -> Candles:
    return flat_candles([at(f"2026-{day} 00:00") for day in dates])


def receive(
    bars: Candles, timeframe: str = "1d", symbol: str = SBIN, *, replace_sample: bool = False
) -> IntakeCounts:
    rows = list(rows_of(bars))
    series = {symbol: rows}
    counts = feeds.receive(
        timeframe=timeframe, series=series, replace_sample=replace_sample, now=NOW
    )
    return counts[symbol]


def stored(timeframe: str, symbol: str = SBIN) -> list[int]:
    times: list[int] = reading.read_bars(symbol, timeframe, start=0, end=2**33).time.tolist()
    return times


def generated_until(timeframe: str, symbol: str = SBIN) -> int | None:
    page = reading.read_page(symbol, timeframe, start=None, end=None, limit=10**6)
    return page.generated_until


@pytest.fixture
def sample() -> Candles:
    bars = days("06-26", "06-29", "06-30")
    store_candles(SBIN, "1d", bars, synthetic=True)
    store_candles(SBIN, "1m", rising_minutes("2026-06-30 15:20", 10), synthetic=True)
    return bars


def test_received_bars_follow_the_sample_before_and_after_compaction(sample: Candles) -> None:
    assert receive(days("07-01")).dropped == 0
    for _ in range(2):
        assert stored("1d") == [*sample.time, at("2026-07-01 00:00")]
        assert generated_until("1d") == at("2026-06-30 00:00")
        [_, row] = reading.stored_timeframes(SBIN)
        assert (row["synthetic"], row["generated_until"]) == (True, "2026-06-29T18:30:00.000Z")
        feeds.compact(symbols=[SBIN], now=NOW)
    assert not BufferedCandle.objects.exists()
    receive(days("07-02"))
    feeds.compact(symbols=[SBIN], now=NOW)
    assert generated_until("1d") == at("2026-06-30 00:00")


def test_a_page_after_the_sample_is_not_generated(sample: Candles) -> None:
    receive(days("07-01", "07-02"))
    page = reading.read_page(SBIN, "1d", start=at("2026-07-01 00:00"), end=None, limit=5)
    assert (len(page.candles), page.generated_until) == (2, None)


@pytest.mark.parametrize("first", ["06-29", "06-30", "06-25"])
def test_received_bars_in_the_range_of_the_sample_are_refused(sample: Candles, first: str) -> None:
    with pytest.raises(SampleInTheWay, match=r"NSE:SBIN 1d .until 30 June 2026, 00:00 IST"):
        receive(days(first, "07-01"))
    assert stored("1d") == sample.time.tolist()
    assert not BufferedCandle.objects.exists()


def test_one_symbol_in_the_range_of_its_sample_refuses_all(sample: Candles) -> None:
    series = {
        symbol: list(rows_of(days(day))) for symbol, day in ((INFY, "07-01"), (SBIN, "06-30"))
    }
    with pytest.raises(SampleInTheWay, match="NSE:SBIN"):
        feeds.receive(timeframe="1d", series=series, now=NOW)
    assert stored("1d", INFY) == []


def test_replacing_drops_only_the_generated_bars_of_one_timeframe(sample: Candles) -> None:
    receive(days("07-01"))
    feeds.compact(symbols=[SBIN], now=NOW)
    assert receive(days("06-30"), replace_sample=True).dropped == 3
    assert stored("1d") == [at("2026-06-30 00:00"), at("2026-07-01 00:00")]
    assert generated_until("1d") is None
    assert len(stored("1m")) == 10
    assert generated_until("1m") == at("2026-06-30 15:29")
    feeds.compact(symbols=[SBIN], now=NOW)
    assert not CandleChunk.objects.filter(timeframe="1d", synthetic=True).exists()


def test_a_load_replaces_the_sample_only_on_request(sample: Candles) -> None:
    series = {SBIN: days("06-30")}
    with pytest.raises(SampleInTheWay):
        services.append_all(series=series, timeframe="1d", now=NOW)
    assert stored("1d") == sample.time.tolist()
    counts = services.append_all(series=series, timeframe="1d", replace_sample=True, now=NOW)
    assert counts == WriteCounts(added=1, dropped=3)
    assert generated_until("1d") is None
    assert len(stored("1m")) == 10


def test_real_days_serve_days_and_weeks_in_place_of_generated_minutes(sample: Candles) -> None:
    series = {SBIN: days("06-30")}
    services.append_all(series=series, timeframe="1d", replace_sample=True, now=NOW)
    assert reading.sample_notice_of([SBIN], "1d") == ""
    assert reading.sample_notice_of([SBIN], "1w") == ""
    assert reading.sample_notice_of([SBIN], "1h") == SAMPLE_NOTICE
    assert reading.sample_notice_of([SBIN, INFY], "1m") == SAMPLE_NOTICE


def test_weeks_and_days_made_of_generated_minutes_are_generated() -> None:
    store_candles(SBIN, "1m", rising_minutes("2026-06-30 15:20", 10), synthetic=True)
    assert reading.sample_notice_of([SBIN], "1w") == ""  # it is not finished
    for day in ("2026-07-06", "2026-07-07"):
        receive(rising_minutes(f"{day} 09:15", 5), "1m")
    assert generated_until("1d") == at("2026-06-30 00:00")
    assert generated_until("1w") == at("2026-06-29 00:00")
    notice = reading.sample_notice_of([SBIN], "1d")
    assert "Prices are generated: NSE:SBIN until 30 June 2026, 15:29 IST." in notice


def test_a_sample_is_not_mixed_into_later_bars(sample: Candles) -> None:
    receive(days("07-01"))
    with pytest.raises(writing.RealHistoryExists):
        store_candles(SBIN, "1d", sample, synthetic=True)
    assert len(stored("1d")) == 4


def test_an_action_in_the_range_of_the_sample_proves_nothing_of_real_bars() -> None:
    for minute in ("2026-06-29 15:20", "2026-06-30 09:15"):
        store_candles(SBIN, "1m", rising_minutes(minute, 10), synthetic=True)
    receive(rising_minutes("2026-07-01 09:15", 5), "1m")
    feeds.compact(symbols=[SBIN], now=NOW)
    bonus = ActionRow(SBIN, date(2026, 6, 30), "bonus", before=1, after=2, source="a circular")
    assert store_actions(rows=[bonus], now=NOW).warnings == ()


def load(*arguments: object) -> str:
    out = StringIO()
    call_command("load_candles", *map(str, arguments), stdout=out)
    return out.getvalue()


def file_of_two(folder: Path, name: str = "two.csv") -> Path:
    header = "SYMBOL,SERIES,DATE1,OPEN_PRICE,HIGH_PRICE,LOW_PRICE,CLOSE_PRICE,TTL_TRD_QNTY\n"
    rows = "".join(f"{symbol},EQ,30-Jun-2026,1,1,1,1,1\n" for symbol in ("TCS", "SBIN"))
    return write_file(folder, header + rows, name)


@pytest.mark.parametrize("batch", [1, 10**6])
def test_the_command_refuses_all_symbols_and_names_the_option(
    sample: Candles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, batch: int
) -> None:
    monkeypatch.setattr("apps.market.importers.loader._BATCH", batch)
    store_candles(INFY, "1m", rising_minutes("2026-06-30 15:20", 10), synthetic=True)
    minutes = write_file(tmp_path, ROWS, "INFY_1m.csv")
    for more in ([], ["--dry-run"]):
        with pytest.raises(CommandError) as refused:
            load(file_of_two(tmp_path), minutes, *more)
        assert refused.value.returncode == 2
        for part in (
            "--replace-sample",
            "NSE:SBIN 1d (until 30 June",
            "NSE:INFY 1m (until 30 June",
        ):
            assert part in str(refused.value)
    assert stored("1d") == sample.time.tolist()
    assert stored("1d", "NSE:TCS") == []
    assert not CandleFile.objects.exists()


@pytest.mark.parametrize("option", ["--replace-sample", "--replace"])
def test_the_command_replaces_the_sample_on_request(
    sample: Candles, tmp_path: Path, option: str
) -> None:
    assert "2 added, 0 held already, 0 replaced, 3 older candles removed" in load(
        file_of_two(tmp_path), option
    )
    assert stored("1d") == stored("1d", "NSE:TCS") == [at("2026-06-30 00:00")]
    assert len(stored("1m")) == 10


class Terminal(StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize("answer", ["y\n", "YES\n", "n\n", "\n", ""])
def test_on_a_terminal_the_command_asks(
    sample: Candles, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    asked = Terminal()
    monkeypatch.setattr(sys, "stdin", Terminal(answer))
    monkeypatch.setattr(sys, "stderr", asked)
    path = file_of_two(tmp_path)
    if answer.lower().startswith("y"):
        report = load(path)
        assert report.count("2 rows = 2 bars") == 1
        assert stored("1d") == [at("2026-06-30 00:00")]
    else:
        with pytest.raises(CommandError) as refused:
            load(path)
        assert refused.value.returncode == 2
        assert stored("1d") == sample.time.tolist()
    assert "NSE:SBIN 1d (until 30 June 2026, 00:00 IST). Replace it? [y/N] " in asked.getvalue()


def test_the_sample_is_loaded_again_if_nothing_is_stored(sample: Candles) -> None:
    store_candles("NSE:TCS", "1d", days("06-30"))
    report = load("--sample")
    assert "NSE:TCS has real history" in report
    assert len(stored("1d", "NSE:TCS")) == 1
    assert "NSE:RELIANCE 1m: 21000 generated bars" in report
