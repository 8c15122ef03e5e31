"""Indicators of a run use the same bars as those of its backtest (rules 11 and 17)."""

from datetime import date
from typing import Any

import pytest
from django.db import OperationalError

from apps.accounts.models import User
from apps.engine.candles import Candles
from apps.engine.live import BarSnapshot
from apps.market import services as market
from apps.market.candles import writing
from apps.market.feeds import clock
from apps.market.feeds.services import receive
from apps.market.models import CorporateAction
from apps.trading.live import runner as runners
from apps.trading.live.indicator_window import IndicatorWindow, build_indicator_window
from apps.trading.live.runner import Runner
from apps.trading.models import BarRow, BarStream, Run, Signal
from apps.trading.runs import bar_streams
from apps.trading.runs.bar_rows import unpack_bars
from tests import make
from tests.market.bars import at, flat_candles, store_candles
from tests.trading.live.market_day import (
    DAY,
    FIRST,
    backtested,
    session_starts,
    started,
    step,
    store_bars,
)
from tests.trading.live.test_effects import LENGTH, SHARE, always_in

pytestmark = pytest.mark.django_db

OTHER = "NSE:BHEL"
FRIDAY = [FIRST - 3 * DAY + LENGTH * n for n in range(25)]  # before the run begins


def above(period: int, timeframe: str | None = None, *, operator: str = "above") -> dict[str, Any]:
    """Return steps that are long while the price is above its average."""
    average = {"type": "SMA", "period": period} | ({"timeframe": timeframe} if timeframe else {})
    condition = {
        "type": "indicator_indicator",
        "indicator1": {"type": "PRICE"},
        "operator": operator,
        "indicator2": average,
    }
    entries = {"positionType": "long", "conditions": [condition]}
    risk = {"maxPositionSize": 500_000, "maxDailyLoss": 100_000, "maxOpenPositions": 1}
    return always_in() | {"entryConditions": entries, "riskParameters": risk}


def daily(configuration: dict[str, Any]) -> dict[str, Any]:
    basics = configuration["basicInfo"] | {"timeframe": "1d"}
    return configuration | {"basicInfo": basics}


def split(day: date) -> None:
    CorporateAction.objects.create(
        symbol=SHARE,
        ex_date=day,
        kind="split",
        shares_before=1,
        shares_after=10,
        source="test",
        loaded_at=make.NOW,
    )


def days(first: str, weeks: int) -> list[int]:
    """Return midnights of Mondays to Fridays."""
    return [at(f"{first} 00:00") + DAY * n for n in range(7 * weeks) if n % 7 < 5]


def enters(run: Run, *, start: int, end: int) -> bool:
    """Return whether it has a signal; its backtest must have a trade exactly then."""
    exists = Signal.objects.filter(run=run, action="entry").exists()
    assert exists == (len(backtested(run, start=start, end=end).trades) > 0)
    return exists


def window_anew(runner: Runner, last: int) -> tuple[IndicatorWindow, IndicatorWindow]:
    """Return the runner's window, and one rebuilt from the store, up to the same row."""
    (cache,) = (cache for cache in runner._caches.values() if cache.stream.symbols == [SHARE])
    assert cache.window is not None
    assert cache.segment_start is not None
    made = build_indicator_window(
        cache.stream, cache.calendars, segment_start=cache.segment_start, before=last
    )
    row = BarRow.objects.get(stream=cache.stream, time=last)
    made.add(BarSnapshot(last, last + LENGTH, unpack_bars(bytes(row.bars), 1)))
    return cache.window, made


def closes(window: IndicatorWindow) -> list[float]:
    return list(window.bars(0).close)


@pytest.mark.parametrize(("ex_date", "period"), [("2026-05-20", 3), ("2026-06-03", 2)])
def test_a_week_with_a_split_is_made_of_days_in_one_kind_of_prices(
    alice: User, ex_date: str, period: int
) -> None:
    split(date.fromisoformat(ex_date))
    midnights, june = days("2026-03-02", 16), at("2026-06-01 00:00")
    before = at(f"{ex_date} 00:00")
    prices = [1000.0 if day < before else 100.0 if day < june else 95.0 for day in midnights]
    store_bars({SHARE: flat_candles(midnights, prices)}, "1d")
    run, runner = started(alice, daily(above(period, "1w"))), Runner()
    week, next_week = [day for day in midnights if day >= june][4:10:5]
    for day in (week, next_week):
        step(runner, [SHARE], "1d", day + DAY)
    assert not enters(run, start=june, end=june + 13 * DAY)


def test_a_stored_week_with_a_split_is_left_for_its_days(alice: User) -> None:
    split(date(2026, 5, 20))
    midnights, june = days("2026-05-04", 5), at("2026-06-01 00:00")
    before = at("2026-05-20 00:00")
    prices = [1000.0 if day < before else 95.0 if day >= june else 100.0 for day in midnights]
    store_bars({SHARE: flat_candles(midnights, prices)}, "1d")
    store_bars({SHARE: flat_candles(midnights[:20:5], [1000.0, 1000.0, 100.0, 100.0])}, "1w")
    run, runner = started(alice, daily(above(3, "1w"))), Runner()
    for day in midnights[20:24]:
        step(runner, [SHARE], "1d", day + DAY)
    assert not enters(run, start=june, end=june + 4 * DAY)


def test_stored_days_come_before_days_made_of_rows(alice: User) -> None:
    starts = session_starts(3, LENGTH)
    midnights = [start - 33_300 for start in starts[::25]]
    store_bars({SHARE: flat_candles(starts, 101.0)}, "15m")
    store_bars({SHARE: flat_candles(midnights, 102.0)}, "1d")
    run, runner = started(alice, above(2, "1d", operator="at_or_above")), Runner()
    for start in starts[24::25]:
        step(runner, [SHARE], "15m", start + LENGTH)
    assert not enters(run, start=FIRST, end=FIRST + 3 * DAY)


def test_adjusted_daily_prices_leave_minutes_to_be_adjusted(
    alice: User,
) -> None:
    split(date(2026, 6, 1))
    starts = session_starts(1, LENGTH)[:4]
    store_bars({SHARE: flat_candles(FRIDAY + starts, [1000.0] * 25 + [101.0] * 4)}, "15m")
    adjusted = flat_candles([FRIDAY[0] - 33_300], 100.0)
    came_adjusted(adjusted, "1d")
    run, runner = started(alice, above(5)), Runner()
    for start in starts:
        step(runner, [SHARE], "15m", start + LENGTH)
    assert enters(run, start=FIRST, end=FIRST + DAY)


def came_adjusted(bars: Candles, timeframe: str) -> None:
    market.append(
        symbol=SHARE,
        timeframe=timeframe,
        candles=bars,
        now=make.NOW,
        kind=writing.CandleKind(adjusted=True),
    )


def test_rows_after_days_that_came_adjusted_are_adjusted_by_later_splits(alice: User) -> None:
    split(date(2026, 6, 3))
    came_adjusted(flat_candles(days("2026-05-25", 1), 1000.0), "1d")
    starts = session_starts(4, LENGTH)
    store_bars({SHARE: flat_candles(starts, [1000.0] * 50 + [101.0] * 50)}, "15m")
    run, runner = started(alice, daily(above(2))), Runner()
    for start in starts[24::25]:
        step(runner, [SHARE], "15m", start + LENGTH)
    assert enters(run, start=FIRST - 33_300, end=FIRST + 4 * DAY)


def test_bars_loaded_during_a_run_count_from_the_next_day_on(alice: User) -> None:
    starts = session_starts(2, LENGTH)
    store_bars({SHARE: flat_candles(starts, 101.0)}, "15m")
    started(alice, above(30))
    runner = Runner()
    step(runner, [SHARE], "15m", starts[0] + LENGTH)
    store_bars({SHARE: flat_candles(FRIDAY, 90.0)}, "15m")
    step(runner, [SHARE], "15m", starts[24] + LENGTH)
    assert not Signal.objects.exists()
    step(runner, [SHARE], "15m", starts[25] + LENGTH)
    assert Signal.objects.exists()
    kept, made = window_anew(runner, starts[25])
    assert closes(kept) == closes(made)


def test_a_run_keeps_its_sample_when_real_bars_follow(alice: User) -> None:
    store_candles(SHARE, "15m", flat_candles(FRIDAY, 90.0), synthetic=True)
    started(alice, above(20))
    runner, start = Runner(), session_starts(1, LENGTH)[0]
    row = (start, 101.0, 101.0, 101.0, 101.0, 10.0)
    receive(timeframe="15m", series={SHARE: [row]}, now=make.NOW)
    step(runner, [SHARE], "15m", start + LENGTH)
    assert Signal.objects.exists()
    kept, _ = window_anew(runner, start)
    assert closes(kept)[-2:] == [90.0, 101.0]


def test_a_split_that_is_loaded_while_a_run_lives_counts_from_the_next_day_on(alice: User) -> None:
    starts = session_starts(2, LENGTH)
    store_bars({SHARE: flat_candles(FRIDAY + starts, [1000.0] * 25 + [101.0] * 50)}, "15m")
    started(alice, above(40))
    runner = Runner()
    step(runner, [SHARE], "15m", starts[0] + LENGTH)
    split(date(2026, 6, 1))
    for start in starts[24:26]:
        step(runner, [SHARE], "15m", start + LENGTH)
    kept, made = window_anew(runner, starts[25])
    assert closes(kept) == closes(made)
    assert set(closes(kept)) == {100.0, 101.0}


def test_an_indicator_window_is_rebuilt_on_the_next_day(alice: User) -> None:
    starts = session_starts(2, LENGTH)
    store_bars({SHARE: flat_candles(starts, 101.0)}, "15m")
    started(alice, above(5))
    runner, other = Runner(), Runner()
    step(runner, [SHARE], "15m", starts[0] + LENGTH)
    store_bars({SHARE: flat_candles(FRIDAY, 90.0)}, "15m")
    step(other, [SHARE], "15m", starts[25] + LENGTH)
    step(runner, [SHARE], "15m", starts[26] + LENGTH)
    kept, made = window_anew(runner, starts[26])
    assert closes(kept) == closes(made)


def test_a_row_skipped_for_lack_of_time_is_not_kept(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts, both = session_starts(1, LENGTH)[:3], [OTHER, SHARE]
    store_bars({symbol: flat_candles(starts, 101.0) for symbol in both}, "15m")
    for symbol in both:
        started(alice, of(symbol, above(2)))
    runner, other = Runner(), Runner()
    step(runner, both, "15m", starts[0] + LENGTH)
    with monkeypatch.context() as hurried:
        hurried.setattr(runners, "RUNS_PER_TRANSACTION", 1)
        hurried.setattr(runners, "MAX_BATCH_SECONDS", -1.0)
        clock.move(starts[1] + LENGTH, symbols=both, timeframe="15m", now=make.NOW)
        bar_streams.wake(both, "15m", now=make.NOW)
        runner.work(now=make.NOW)
    assert BarStream.objects.get(row_time=starts[0]).symbols == [SHARE]
    corrected_for(other, starts[1])
    step(runner, both, "15m", starts[2] + LENGTH)
    kept, made = window_anew(runner, starts[2])
    assert closes(kept) == closes(made) == [101.0, 200.0, 101.0]


def test_a_row_whose_transaction_failed_is_not_kept(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts = session_starts(1, LENGTH)[:3]
    store_bars({SHARE: flat_candles(starts, 101.0)}, "15m")
    started(alice, above(2))
    runner, other = Runner(), Runner()
    step(runner, [SHARE], "15m", starts[0] + LENGTH)

    def lost(*_rounds: object, **_now: object) -> None:
        raise OperationalError("the connection is lost")

    with monkeypatch.context() as broken:
        broken.setattr(runners, "commit_batches", lost)
        with pytest.raises(OperationalError):
            step(runner, [SHARE], "15m", starts[1] + LENGTH)
    corrected_for(other, starts[1])
    step(runner, [SHARE], "15m", starts[2] + LENGTH)
    kept, made = window_anew(runner, starts[2])
    assert closes(kept) == closes(made) == [101.0, 200.0, 101.0]


def corrected_for(runner: Runner, start: int) -> None:
    """Receive a bar again before a runner uses it."""
    store_bars({SHARE: flat_candles([start], 200.0)}, "15m")
    step(runner, [SHARE], "15m", start + LENGTH)


def of(symbol: str, configuration: dict[str, Any]) -> dict[str, Any]:
    basics = configuration["basicInfo"] | {"symbols": [symbol]}
    return configuration | {"basicInfo": basics}
