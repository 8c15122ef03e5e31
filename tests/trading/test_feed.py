"""manage.py feed: history replayed by the market's clock; and the compaction of received bars."""

from collections.abc import Sequence
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import OperationalError, connection

from apps.accounts.models import User
from apps.market.candles import buffer, reading
from apps.market.feeds import clock, replay, services
from apps.market.models import BufferedCandle
from apps.market.tasks import compact_nightly
from tests.market.bars import (
    NOW,
    are_same_candles,
    at,
    flat_candles,
    rising_minutes,
    store_candles,
    write_file,
)
from tests.trading.live.market_day import crossing_steps, started

SBIN, TCS = "NSE:SBIN", "NSE:TCS"
pytestmark = pytest.mark.django_db


def feed(*words: object) -> str:
    output = StringIO()
    call_command("feed", *map(str, words), stdout=output)
    return output.getvalue()


def seen(symbol: str = SBIN, timeframe: str = "1m") -> Sequence[int]:
    time = clock.market_time(NOW)
    bars = reading.read_closed(symbol, timeframe, start=at("2026-10-29 00:00"), clock=time)
    times: list[int] = bars.time.tolist()
    return times


def test_stored_candles_are_seen_as_the_clock_moves() -> None:
    store_candles(SBIN, "1m", rising_minutes("2026-10-29 09:15", 10))
    store_candles(TCS, "1m", rising_minutes("2026-10-29 09:15", 5))
    assert len(seen()) == 10
    output = feed(
        "--symbols",
        SBIN,
        TCS,
        "--from",
        "2026-10-29",
        "--to",
        "2026-10-29T09:18:00+05:30",
        "--speed",
        "max",
    )
    assert "the market's time is 2026-10-29 09:18:00 Thu" in output
    assert seen() == [at(f"2026-10-29 09:{m}") for m in (15, 16, 17)]
    assert seen(timeframe="5m") == []
    feed("--symbols", SBIN, "--speed", "max")
    assert len(seen()) == 10
    assert seen(timeframe="5m") == [at("2026-10-29 09:15"), at("2026-10-29 09:20")]
    assert feed("--end") == "the replay has ended\n"
    assert feed("--end") == "there is no replay\n"
    assert clock.market_time(NOW) == int(NOW.timestamp())


def minutes_file(folder: Path) -> Path:
    lines = [f"2026-10-29 09:{m}:00,100,101,99,100,5" for m in range(15, 25)]
    text = "\n".join(["date,open,high,low,close,volume", *lines, ""])
    return write_file(folder, text, "SBIN_1m.csv")


def test_candles_of_a_file_are_fed(tmp_path: Path) -> None:
    path = minutes_file(tmp_path)
    feed(path, "--symbols", SBIN, "--to", "2026-10-29T09:20:00+05:30", "--speed", "max")
    assert BufferedCandle.objects.count() == len(seen()) == 5
    feed(path, "--symbols", SBIN, "--speed", "max")
    assert len(seen()) == 10


def test_candles_of_a_file_replace_a_sample_on_request(tmp_path: Path) -> None:
    store_candles(SBIN, "1m", rising_minutes("2030-01-01 09:15", 3), synthetic=True)
    arguments = (minutes_file(tmp_path), "--speed", "max")
    with pytest.raises(CommandError, match="add --replace-sample"):
        feed(*arguments)
    feed(*arguments, "--replace-sample")
    [row] = reading.stored_timeframes(SBIN)
    assert (row["bars"], "synthetic" in row) == (10, False)


def test_the_feed_waits_as_long_as_the_market_did_but_not_overnight() -> None:
    bars = flat_candles([at("2026-10-29 15:28"), at("2026-10-29 15:29"), at("2026-10-30 09:15")])
    waits: list[float] = []
    moments = replay.replay_steps({SBIN: bars, TCS: bars.slice(1, 3)}, "1m")
    played = list(replay.pace(moments, speed=30, wait=waits.append))
    assert [sorted(moment.bars) for moment in played] == [[SBIN], [SBIN, TCS], [SBIN, TCS]]
    assert waits == [2.0]


def test_ctrl_c_reports_the_position(monkeypatch: pytest.MonkeyPatch) -> None:
    store_candles(SBIN, "1m", rising_minutes("2026-10-29 09:15", 3))

    def interrupt(seconds: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("time.sleep", interrupt)
    output = feed("--symbols", SBIN, "--from", "2026-10-29")
    assert output.endswith("the market's time is 2026-10-29 09:16:00 Thu, until --end\n")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "give FILEs"),
        (["--symbols", SBIN], "give --from"),
        (["--symbols", SBIN, "--from", "2026-10-29"], "no candle"),
        (["--symbols", SBIN, "--speed", "0"], "neither a number above 0"),
        (["--symbols", "SBIN"], "SBIN"),
    ],
)
def test_impossible_replays_are_refused_with_the_reason(words: list[str], message: str) -> None:
    with pytest.raises(CommandError, match=message):
        feed(*words)


def test_a_gap_with_candles_is_played_only_on_request(alice: User) -> None:
    """Three of ten minutes were played; the next replay starts at the eighth, which leaves out
    four.
    """
    store_candles(SBIN, "1m", rising_minutes("2026-10-29 09:15", 10))
    feed(
        "--symbols",
        SBIN,
        "--from",
        "2026-10-29",
        "--to",
        "2026-10-29T09:18:00+05:30",
        "--speed",
        "max",
    )
    later = ("--symbols", SBIN, "--from", "2026-10-29T09:22:00+05:30", "--speed", "max")
    with pytest.raises(CommandError, match=r"1m candles: 4 of NSE:SBIN.*--play-gap") as refused:
        feed(*later)
    assert refused.value.returncode == 3
    assert len(seen()) == 3
    output = feed(*later, "--play-gap")
    assert "2026-10-29 09:18:00 Thu, where the market's time stands" in output
    assert len(seen()) == 10


def test_a_pause_without_candles_is_not_a_gap() -> None:
    store_candles(SBIN, "1m", rising_minutes("2026-10-29 09:15", 3))
    store_candles(SBIN, "1m", rising_minutes("2026-10-30 09:15", 3))
    feed("--symbols", SBIN, "--from", "2026-10-29", "--to", "2026-10-29", "--speed", "max")
    feed("--symbols", SBIN, "--from", "2026-10-30", "--speed", "max")
    assert len(seen()) == 6


def test_a_gap_before_the_candles_of_a_file_is_played_with_them(tmp_path: Path) -> None:
    store_candles(SBIN, "1m", rising_minutes("2026-10-29 09:15", 10))
    feed(
        "--symbols",
        SBIN,
        "--from",
        "2026-10-29",
        "--to",
        "2026-10-29T09:18:00+05:30",
        "--speed",
        "max",
    )
    lines = [f"2026-10-29 09:{m}:00,100,101,99,100,5" for m in range(20, 30)]
    text = "\n".join(["date,open,high,low,close,volume", *lines, ""])
    path = write_file(tmp_path, text, "SBIN_1m.csv")
    later = (path, "--symbols", SBIN, "--from", "2026-10-29T09:22:00+05:30", "--speed", "max")
    with pytest.raises(CommandError, match="4 of NSE:SBIN"):
        feed(*later)
    assert BufferedCandle.objects.count() == 0
    feed(*later, "--play-gap")
    assert len(seen()) == 15


def test_an_algorithm_without_bars_is_reported(alice: User) -> None:
    """The first has its bars; the second trades a symbol outside the feed, the third minutes."""
    store_candles(SBIN, "5m", flat_candles([at("2026-10-29 09:15") + 300 * n for n in range(5)]))
    before = at("2026-10-29 09:00")
    fed = started(alice, crossing_steps([SBIN], "15m"), at=before)
    missing = started(alice, crossing_steps([SBIN, TCS], "15m"), at=before)
    finer = started(alice, crossing_steps([SBIN], "1m"), at=before)
    errors = StringIO()
    call_command(
        "feed",
        "--symbols",
        SBIN,
        "--timeframe",
        "5m",
        "--from",
        "2026-10-29",
        "--speed",
        "max",
        stdout=StringIO(),
        stderr=errors,
    )
    message = errors.getvalue()
    assert f"({missing.algorithm_id}) waits for 15m bars of {TCS}, and this feed" in message
    assert f"({finer.algorithm_id}) waits for 1m bars of {SBIN}, and this feed" in message
    assert fed.algorithm_id not in message


def test_bars_before_today_are_folded() -> None:
    yesterday, today = rising_minutes("2026-11-01 10:00", 5), rising_minutes("2026-11-02 09:15", 10)
    buffer.store_bars({SBIN: yesterday, TCS: today}, "1m", now=NOW)
    compact_nightly(timestamp=int(NOW.timestamp()))
    assert set(BufferedCandle.objects.values_list("symbol", flat=True)) == {TCS}
    assert are_same_candles(reading.read_bars(SBIN, "1m", start=0, end=2**33), yesterday)
    assert services.compact_ended(now=NOW) == 0


@pytest.mark.parametrize("files", [False, True])
def test_a_replay_continues_after_the_database_was_away(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, files: bool
) -> None:
    """The connection is cut before one step and after another has committed unseen."""
    bars = rising_minutes("2026-10-29 09:15", 5)
    if files:
        lines = [f"2026-10-29 09:{minute}:00,100,101,99,100,10" for minute in range(15, 20)]
        text = "\n".join(["datetime,open,high,low,close,volume", *lines])
        source: list[object] = [write_file(tmp_path, text, "SBIN_1m.csv")]
    else:
        store_candles(SBIN, "1m", bars)
        source = []
    calls, really = [0], replay.advance

    def advance(*arguments: Any, **options: Any) -> None:
        calls[0] += 1
        if calls[0] in (2, 3):
            raise OperationalError("the connection is lost")
        really(*arguments, **options)
        if calls[0] == 5:
            raise OperationalError("the server closed the connection unexpectedly")

    monkeypatch.setattr(replay, "advance", advance)
    monkeypatch.setattr("time.sleep", lambda seconds: None)
    monkeypatch.setattr(connection, "close", lambda: None)  # the test's transaction
    output = feed(*source, "--symbols", SBIN, "--from", "2026-10-29", "--speed", "max")
    assert "the market's time is 2026-10-29 09:20:00" in output
    assert seen() == [at(f"2026-10-29 09:{minute}") for minute in range(15, 20)]
    assert calls[0] == 8
