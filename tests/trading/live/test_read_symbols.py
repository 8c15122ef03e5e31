"""Runs whose conditions read other symbols (engine rule 23)."""

import random
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest

from apps.accounts.models import User
from apps.core.times import moment, wire_time
from apps.engine.candles import TIMEFRAME_SECONDS, TIMEFRAMES, Candles
from apps.market.candles.reading import GRACE_PERIOD
from apps.trading import services
from apps.trading.activity.drift import checking
from apps.trading.live.indicator_window import build_indicator_window
from apps.trading.live.runner import Runner
from apps.trading.models import BarRow, BarStream, DriftReport, Run, Signal, Trade
from apps.trading.runs import bar_streams
from apps.trading.runs.bar_rows import row_as_used
from tests import make
from tests.conftest import Api
from tests.market.bars import flat_candles
from tests.trading.live.market_day import (
    DAY,
    FIRST,
    backtested,
    crossing_steps,
    random_candles,
    session_starts,
    started,
    step,
    store_bars,
)
from tests.trading.live.test_runner import expected_of, trades_of

pytestmark = pytest.mark.django_db

SHARE, BANK, VIX, OIL = "NSE:RELIANCE", "NSE:SBIN", "NSE:INDIAVIX", "MCX:CRUDEOIL"
LENGTH = 900
WEEK_BEFORE = FIRST - 7 * DAY
AFTER = FIRST + 7 * DAY
PRICE = {"type": "PRICE"}


def compare(first: Mapping[str, Any], operator: str, second: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "type": "indicator_indicator",
        "indicator1": first,
        "operator": operator,
        "indicator2": second,
        "side": "both",
    }


def steps(
    *conditions: Mapping[str, Any],
    symbols: Sequence[str] = (SHARE,),
    timeframe: str = "15m",
    **entry: Any,
) -> dict[str, Any]:
    """Return steps that are often in, for two candles at most."""
    return crossing_steps(
        symbols,
        timeframe,
        positionSizing={"method": "fixed_quantity", "quantity": 7},
        entryConditions={"positionType": "long", "conditions": list(conditions), **entry},
        exitConditions={
            "stopLoss": {"type": "percentage", "percentage": 5},
            "maxHoldingCandles": 2,
        },
        executionSettings={
            "mode": "paper",
            "exchange": "NSE",
            "orderType": "market",
            "charges": "none",
            "productType": "delivery",
            "initialCapital": 100_000,
        },
    )


def average(symbol: str, period: int, **more: Any) -> dict[str, Any]:
    return {"type": "SMA", "period": period, "on": symbol, **more}


def oil_starts(days: int, length: int, first: int) -> list[int]:
    """Return starts of the bars of sessions from 09:00 to 23:30."""
    opens = [first - 900 + DAY * day for day in range(2 * days) if day % 7 < 5][:days]
    return [start for opening in opens for start in range(opening, opening + 52_200, length)]


def store_week(seed: int, *, missing: float = 0.08) -> None:
    """Store two weeks of 15m candles of all symbols; the run begins in the second one."""
    shares = session_starts(9, LENGTH, first=WEEK_BEFORE)
    store_bars(
        {
            symbol: random_candles(seed + n, shares, wild=0.01, missing=missing)
            for n, symbol in enumerate((SHARE, BANK, VIX))
        },
        "15m",
    )
    oil = random_candles(seed + 9, oil_starts(9, LENGTH, WEEK_BEFORE), wild=0.01, missing=missing)
    store_bars({OIL: oil}, "15m")


def checked(after: int = AFTER) -> list[tuple[str, str, str]]:
    """Return kind, symbol and subject of all differences."""
    checking.check_ended(now=make.NOW, market_now=after, stopping=lambda: False)
    return [
        (difference["kind"], difference["symbol"], difference["what"])
        for report in DriftReport.objects.order_by("day")
        for difference in report.differences
    ]


def reads_much(**more: Any) -> dict[str, Any]:
    ratio = {"type": "CALC", "operator": "divide", "operands": [PRICE, {**PRICE, "on": VIX}]}
    return steps(
        compare({**PRICE, "on": VIX}, "above", average(VIX, 5, offset=1)),
        compare(average(OIL, 3, timeframe="1h"), "crosses_above", average(OIL, 6, timeframe="1h")),
        compare({**PRICE, "on": OIL, "timeframe": "1d"}, "above", average(VIX, 3, timeframe="75m")),
        compare(ratio, "crosses_above", {"type": "SMA", "period": 4, "source": ratio}),
        logicalOperator="OR",
        **more,
    )


MANY: list[dict[str, Any]] = [
    reads_much(),
    reads_much(symbols=[BANK, SHARE]),
    steps(compare({**PRICE, "on": BANK}, "above", average(BANK, 4)), symbols=[SHARE, BANK]),
    steps(compare({**PRICE, "on": VIX}, "crosses_above", average(VIX, 3)), timeframe="30m"),
    steps(compare(PRICE, "below", average(VIX, 2, timeframe="1d")), timeframe="1h"),
]


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    "configurations", [MANY[::2], pytest.param(MANY, marks=pytest.mark.slow)], ids=len
)
def test_runs_that_read_other_symbols_trade_as_in_their_backtests(
    alice: User, configurations: list[dict[str, Any]]
) -> None:
    """The rows are worked on three at a time, by two processes in turn, one of which begins anew
    each time.
    """
    store_week(1)
    runs = [started(alice, configuration) for configuration in configurations]
    kept, symbols = Runner(), [SHARE, BANK, VIX, OIL]
    starts = session_starts(2, LENGTH)[:30]
    for number, start in enumerate(starts[2::3]):
        runner = kept if number % 3 else Runner()
        step(runner, symbols, "15m", start + LENGTH + GRACE_PERIOD)
    assert BarStream.objects.count() == len(runs)
    for run in runs:
        result = backtested(run, start=FIRST, end=starts[-1] + LENGTH)
        assert trades_of(run) == expected_of(result)
        assert trades_of(run), run.configuration["entryConditions"]
    assert checked() == []
    assert DriftReport.objects.count() == 2 * len(runs)


def test_a_day_reads_the_day_that_ended_by_its_close(alice: User) -> None:
    midnights = [start - 33_300 for start in session_starts(21, DAY, first=WEEK_BEFORE)]
    walks = {
        symbol: random_candles(seed, midnights, wild=0.02)
        for seed, symbol in enumerate((SHARE, VIX, OIL))
    }
    store_bars(walks, "1d")
    run = started(
        alice,
        steps(
            compare({**PRICE, "on": VIX}, "crosses_above", average(VIX, 3)),
            compare({**PRICE, "on": OIL}, "crosses_above", average(OIL, 3)),
            logicalOperator="OR",
            timeframe="1d",
        ),
    )
    runner, end = Runner(), midnights[-1] + DAY
    for midnight in midnights[8::4]:
        step(runner, list(walks), "1d", midnight + 57_600)
    assert trades_of(run) == expected_of(backtested(run, start=midnights[5], end=end))
    assert Trade.objects.count() > 3
    assert checked(end + DAY) == []


@pytest.mark.slow
@pytest.mark.timeout(600)
@pytest.mark.parametrize("timeframe", ["15m", "30m", "1h"])
def test_random_strategies_read_on_paper_as_in_their_backtests(alice: User, timeframe: str) -> None:
    """All rows of five days are processed at once."""
    rng, length = random.Random(timeframe), TIMEFRAMES[timeframe]
    store_week(11)
    runs = [started(alice, drawn(rng, timeframe)) for _ in range(16)]
    last = session_starts(4, length)[-1]
    step(Runner(), [SHARE, BANK], "15m", last + DAY)
    for run in runs:
        result = backtested(run, start=FIRST, end=last + DAY)
        assert trades_of(run) == expected_of(result), run.configuration["entryConditions"]
    assert Trade.objects.count() > 3 * len(runs)
    assert checked() == []


def drawn(rng: random.Random, timeframe: str) -> dict[str, Any]:
    own = TIMEFRAMES[timeframe]
    longer = [name for name in ("30m", "75m", "1h", "2h", "1d") if TIMEFRAME_SECONDS[name] > own]
    longer = [name for name in longer if TIMEFRAME_SECONDS[name] % own == 0]

    def operand() -> dict[str, Any]:
        name = rng.choice([None, None, *longer])
        average = {"type": "EMA", "period": rng.randint(2, 3 if name == "1d" else 12)}
        read: dict[str, Any] = rng.choice([PRICE, average])
        more = {"timeframe": name} if name else {}
        return {**read, "on": rng.choice([VIX, OIL, BANK]), "offset": rng.randint(0, 2), **more}

    conditions = [
        {
            **compare(operand(), rng.choice(["crosses_above", "crosses_below"]), operand()),
            "within": rng.randint(1, 3),
        }
        for _ in range(3)
    ]
    symbols = rng.choice([[SHARE], [BANK], [SHARE, BANK]])
    return steps(*conditions, symbols=symbols, timeframe=timeframe, logicalOperator="OR")


# Waiting


VIX_ABOVE = steps(compare({**PRICE, "on": VIX}, "above", PRICE))
"""True while the index is above the share."""


class Monday:
    """The first session of a share at 101 and the index at 102, worked on bar by bar."""

    def __init__(self, owner: User, configuration: Mapping[str, Any] = VIX_ABOVE) -> None:
        self.starts = session_starts(1, LENGTH)
        store_bars({SHARE: flat_candles(self.starts, 101.0)}, "15m")
        self.run, self.runner = started(owner, configuration), Runner()

    def come(self, *numbers: int, symbol: str = VIX, price: float = 102.0) -> None:
        """Store these candles of a read symbol."""
        times = [self.starts[number] for number in numbers]
        store_bars({symbol: flat_candles(times, price)}, "15m")

    def at(self, number: int, seconds: int) -> int:
        """Move the market's time after the end of a bar; return the number of rows."""
        end = self.starts[number] + LENGTH + seconds
        step(self.runner, [SHARE, VIX], "15m", end)
        return BarRow.objects.count()

    def signals(self) -> list[int]:
        """Return the numbers of the bars with an entry signal."""
        entries = Signal.objects.filter(action="entry").order_by("bar_time")
        times = [int(signal.bar_time.timestamp()) for signal in entries]
        return [self.starts.index(time) for time in times]


def test_a_row_waits_twenty_seconds_for_the_candle_of_a_read_symbol(alice: User) -> None:
    monday = Monday(alice)
    monday.come(0)
    assert monday.at(0, 1) == 1
    assert monday.signals() == [0]
    assert monday.at(1, GRACE_PERIOD - 1) == 1
    assert monday.at(1, GRACE_PERIOD) == 2
    monday.come(2)
    assert monday.at(2, 0) == 3


def test_a_row_without_its_candle_reads_the_last_one_of_the_date(alice: User) -> None:
    monday = Monday(alice)
    assert monday.at(0, GRACE_PERIOD) == 1
    assert monday.signals() == []
    monday.come(1)
    for number in range(1, 5):
        monday.at(number, GRACE_PERIOD)
    result = backtested(monday.run, start=FIRST, end=monday.starts[5])
    assert monday.signals()[0] == 1
    assert trades_of(monday.run) == expected_of(result)[: Trade.objects.count()]
    assert Trade.objects.count() == 1


def test_a_late_candle_is_drift_of_data_and_read_from_the_next_row_on(alice: User) -> None:
    monday = Monday(alice)
    monday.come(0, 1)
    monday.at(0, 1)
    monday.at(1, 1)
    assert monday.at(2, GRACE_PERIOD) == 3
    monday.come(2)
    assert monday.at(3, GRACE_PERIOD) == 4
    row = BarRow.objects.get(time=monday.starts[3])
    stream = BarStream.objects.get()
    (read,) = row_as_used(row, stream, cache_of(monday.runner).calendars).read
    assert read.time.tolist() == [monday.starts[2]]
    monday.come(*range(3, 25))
    monday.at(24, GRACE_PERIOD)
    result = backtested(monday.run, start=FIRST, end=FIRST + DAY)
    assert trades_of(monday.run) == expected_of(result)
    assert checked(FIRST + DAY) == [("data", VIX, "candle"), ("data", VIX, "candle")]
    differences = DriftReport.objects.get().differences
    assert [difference["time"] for difference in differences] == monday.starts[2:4]
    assert all(difference["actual"] is None for difference in differences)


def test_candles_of_a_read_symbol_make_no_row_and_their_lack_is_not_stale(alice: User) -> None:
    monday = Monday(alice)
    monday.come(*range(25))
    store_bars({VIX: flat_candles([monday.starts[24] + DAY], 102.0)}, "15m")
    step(monday.runner, [VIX], "15m", monday.starts[24] + LENGTH + GRACE_PERIOD)
    assert BarRow.objects.count() == 25
    step(monday.runner, [VIX], "15m", monday.starts[24] + DAY + LENGTH + GRACE_PERIOD)
    assert BarRow.objects.count() == 25
    quiet = Monday(make.user("quiet@example.com"), steps(compare(PRICE, "above", average(OIL, 2))))
    for number in range(0, 25, 6):
        quiet.at(number, GRACE_PERIOD)
    assert not Signal.objects.filter(run=quiet.run).exists()
    assert Run.objects.live().filter(pk=quiet.run.pk).exists()


def test_a_candle_of_a_read_symbol_wakes_the_stream(alice: User) -> None:
    monday = Monday(alice, steps(compare({**PRICE, "on": VIX, "timeframe": "30m"}, "above", PRICE)))
    assert monday.at(0, 1) == 1  # no candle of 30 minutes ends with it
    assert monday.at(1, 1) == 1
    store_bars({VIX: flat_candles([FIRST], 102.0)}, "30m")
    woken = bar_streams.wake([VIX], "30m", newest=FIRST, now=make.NOW)
    assert (woken, bar_streams.wake([OIL], "30m", now=make.NOW)) == (1, 0)
    assert monday.runner.work(now=make.NOW)
    assert BarRow.objects.count() == 2
    assert monday.signals() == [1]


# Streams


def cache_of(runner: Runner) -> Any:
    (cache,) = runner._caches.values()
    return cache


def test_a_window_that_is_rebuilt_has_the_candles_of_the_rows(alice: User) -> None:
    store_week(3)
    started(alice, reads_much())
    runner, starts = Runner(), session_starts(2, LENGTH)
    for start in starts[7:40:8]:
        step(runner, [SHARE], "15m", start + LENGTH + GRACE_PERIOD)
    cache, last = cache_of(runner), BarRow.objects.latest("time")
    made = build_indicator_window(
        cache.stream,
        [*cache.calendars, *cache.read_calendars],
        segment_start=cache.segment_start,
        before=last.time,
    )
    row = row_as_used(last, cache.stream, cache.calendars)
    made.add(row)
    sources = cache.contexts[Run.objects.get().pk].strategy.aligned_sources
    assert len(sources) == 4
    both = [
        window.aligned(0, sources, cache.calendars[0], closes=row.closes)
        for window in (cache.window, made)
    ]
    for source in sources:
        kept, rebuilt = (aligned[source] for aligned in both)
        assert kept.seen.tolist() == rebuilt.seen.tolist()
        for name in ("time", *Candles.NUMBERS):
            assert np.array_equal(getattr(kept.candles, name), getattr(rebuilt.candles, name))


def test_an_explanation_tells_which_candle_was_read(alice: User, api: Api) -> None:
    monday = Monday(alice)
    monday.come(0)
    for number in range(2):
        monday.at(number, GRACE_PERIOD)
    path = f"/api/trading/algorithms/{monday.run.algorithm_id}/explain"
    query = {"symbol": SHARE, "at": wire_time(moment(monday.starts[1]))}
    (side,) = api(alice).get(path, query).json()["sides"]
    operand = side["conditions"][0]["operands"][0]
    assert (operand["name"], operand["value"]) == (f"PRICE of {VIX}", 102.0)
    assert operand["candleTime"] == wire_time(moment(FIRST))


def test_runs_that_read_alike_share_a_stream_and_others_keep_theirs(alice: User) -> None:
    hourly = steps(compare(PRICE, "above", average(VIX, 4, timeframe="1h")))
    for configuration in (VIX_ABOVE, VIX_ABOVE, hourly, steps(compare(PRICE, "above", PRICE))):
        started(alice, configuration)
    bar_streams.assign_runs(now=make.NOW)
    read = BarStream.objects.order_by("pk").values_list("read_symbols", flat=True)
    assert sorted(map(str, read)) == ["{'NSE:INDIAVIX': '15m'}", "{'NSE:INDIAVIX': '1h'}", "{}"]
    plain = BarStream.objects.get(read_symbols={})
    assert plain == bar_streams.get_bar_stream([SHARE], "15m")


def test_a_feed_without_a_read_symbol_leaves_its_algorithm_unfed(alice: User) -> None:
    run = started(alice, VIX_ABOVE)
    started(alice, steps(compare(PRICE, "above", average(OIL, 2, timeframe="1d"))))
    (unfed,) = bar_streams.find_unfed_algorithms([SHARE], "1m")
    assert (unfed.algorithm_id, unfed.symbols) == (run.algorithm_id, (VIX,))
    assert not list(bar_streams.find_unfed_algorithms([SHARE, VIX], "1m"))


def test_a_paused_run_reads_on_and_a_new_run_begins_with_stored_candles(alice: User) -> None:
    store_week(5, missing=0.0)
    configuration = steps(compare({**PRICE, "on": VIX}, "above", average(VIX, 20)))
    run, runner, starts = started(alice, configuration), Runner(), session_starts(4, LENGTH)
    algorithm = run.algorithm
    for number in (10, 30, 60, 99):
        step(runner, [SHARE, VIX], "15m", starts[number] + LENGTH)
        if number == 10:
            services.pause(owner=alice, algorithm_id=algorithm.pk, now=make.NOW)
        if number == 30:
            services.resume(owner=alice, algorithm_id=algorithm.pk, now=make.NOW)
        if number == 60:
            services.stop(
                owner=alice, algorithm_id=algorithm.pk, close_positions=True, now=make.NOW
            )
    assert not Signal.objects.filter(followed=True, reason="paused").exists()
    second = started(alice, configuration, at=starts[70])
    step(runner, [SHARE, VIX], "15m", starts[99] + LENGTH)
    result = backtested(second, start=starts[70], end=FIRST + 4 * DAY)
    assert trades_of(second) == expected_of(result)
    assert Trade.objects.filter(run=second).exists()
