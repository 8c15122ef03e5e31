"""A session that is simulated again: clean without differences, and with their kinds otherwise."""

import random
from collections import Counter
from collections.abc import Mapping
from datetime import date, timedelta
from decimal import Decimal
from typing import Any

import pytest
from procrastinate.contrib.django.models import ProcrastinateJob

from apps.accounts.models import User
from apps.core.times import day_in_india, midnight, moment, wire_time
from apps.engine.candles import TIMEFRAMES, Candles
from apps.market import services as market
from apps.market.candles.reading import GRACE_PERIOD
from apps.trading import services
from apps.trading.activity.drift import checking
from apps.trading.activity.drift.services import CHECK_JOB
from apps.trading.live.runner import Runner
from apps.trading.models import BarRow, DriftReport, Fill, Run, Signal, Trade
from apps.trading.tasks import check_drift_of_day
from tests import make
from tests.conftest import Api
from tests.error_responses import assert_error
from tests.market.bars import flat_candles
from tests.trading.live.market_day import (
    DAY,
    FIRST,
    SESSION,
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

LENGTH = 1800
SYMBOLS = ("NSE:RELIANCE", "NSE:SBIN")
DAYS = 3
PRODUCTS = ["delivery", "intraday"]
ABOVE = {"type": "indicator_value", "indicator": {"type": "PRICE"}, "operator": "above"}
CLEAN: dict[str, Any] = {
    "date": "2026-06-03",
    "status": "checked",
    "through": None,
    "rows": 0,
    "total": 0,
    "differences": [],
    "band": None,  # test_bands looks at it
}
ROWS_ASIDE = {"rows": 0, "band": None}
AFTER = FIRST + 7 * 86_400


@pytest.fixture
def series() -> Mapping[str, Candles]:
    """Return candles with one more week before the start, for the warm-up of indicators."""
    starts = session_starts(5 + DAYS, LENGTH, first=FIRST - 7 * 86_400)
    made = {
        symbol: random_candles(seed, starts, wild=0.01, missing=0.1)
        for seed, symbol in enumerate(SYMBOLS)
    }
    store_bars(made, "30m")
    return made


def check(market_now: int = AFTER) -> dict[str, list[tuple[object, ...]]]:
    """Return the differences keyed by day: kind, symbol, and subject."""
    checking.check_ended(now=make.NOW, market_now=market_now, stopping=lambda: False)
    return {
        str(report.day): [
            (difference["kind"], difference["symbol"], difference["what"])
            for difference in report.differences
        ]
        for report in DriftReport.objects.order_by("day")
    }


def test_clean_data_has_no_drift_and_each_kind_is_reported(
    api: Api, alice: User, series: Mapping[str, Candles]
) -> None:
    run = started(alice, crossing_steps(SYMBOLS, "30m"))
    step(Runner(), SYMBOLS, "30m", AFTER)
    client, path = api(alice), f"/api/trading/algorithms/{run.algorithm_id}/drift"
    assert client.get(path).json() | ROWS_ASIDE == CLEAN | {"status": "waiting"}
    assert check() == {f"2026-06-0{day}": [] for day in (1, 2, 3)}
    assert client.get(path).json() | ROWS_ASIDE == CLEAN
    assert sum(DriftReport.objects.values_list("rows", flat=True)) == BarRow.objects.count()
    assert Fill.objects.count() > 5
    DriftReport.objects.all().delete()
    tampered = tamper()
    assert sorted(kind for kinds in check().values() for kind in kinds) == sorted(tampered)
    shown = client.get(path, {"date": "2026-06-01"}).json()["differences"]
    assert {"charge", "fill", "signal"} >= {difference["kind"] for difference in shown} != set()
    assert client.get(path, {"date": "2025-06-01"}).json()["status"] == "no_session"
    assert_error(client.get(path, {"date": "June"}), 400, "VALIDATION_ERROR", field="date")
    DriftReport.objects.all().delete()
    come_late(series[SYMBOLS[0]])
    assert ("data", SYMBOLS[0], "candle") in check()["2026-06-03"]


def test_a_session_is_compared_on_request(
    api: Api, alice: User, series: Mapping[str, Candles]
) -> None:
    """Repeated requests make one job; a worker does it, because only workers have the compiler."""
    run = started(alice, crossing_steps(SYMBOLS, "30m"))
    step(Runner(), SYMBOLS, "30m", FIRST + DAY)
    client, path = api(alice), f"/api/trading/algorithms/{run.algorithm_id}/drift"
    for _ in range(3):
        shown = client.get(path, {"date": "2026-06-01"}).json()
        assert (shown["status"], shown["rows"]) == ("waiting", 0)
    (job,) = ProcrastinateJob.objects.filter(task_name=CHECK_JOB)
    assert (job.queue_name, job.args["day"]) == ("backtests", "2026-06-01")
    check_drift_of_day(**job.args)
    report = DriftReport.objects.get()
    assert (str(report.day), report.total, report.through) == ("2026-06-01", 0, None)
    assert client.get(path, {"date": "2026-06-01"}).json()["status"] == "checked"


def test_a_session_under_way_is_compared_up_to_now(
    api: Api, alice: User, series: Mapping[str, Candles]
) -> None:
    run, runner = started(alice, crossing_steps(SYMBOLS, "30m")), Runner()
    client, path = api(alice), f"/api/trading/algorithms/{run.algorithm_id}/drift"
    for rows in (5, 8):
        last = FIRST + (rows - 1) * LENGTH
        step(runner, SYMBOLS, "30m", last + LENGTH + GRACE_PERIOD)
        assert client.get(path).json()["status"] == "waiting"
        check_drift_of_day(algorithm_id=run.algorithm_id, day="2026-06-01")
        shown = client.get(path).json()
        assert (shown["status"], shown["through"]) == ("checked", wire_time(moment(last)))
        assert shown["rows"] == BarRow.objects.filter(time__lte=last).count() > rows - 3
        assert shown["total"] == 0
    step(runner, SYMBOLS, "30m", AFTER)
    assert check() == {f"2026-06-0{day}": [] for day in (1, 2, 3)}
    assert not DriftReport.objects.exclude(through=None).exists()


def test_a_session_entered_midway_is_not_compared(
    alice: User, series: Mapping[str, Candles]
) -> None:
    started(alice, crossing_steps(SYMBOLS, "30m"), at=FIRST + 6 * LENGTH)
    step(Runner(), SYMBOLS, "30m", AFTER)
    assert check() == {f"2026-06-0{day}": [] for day in (1, 2, 3)}


def test_a_last_bar_without_its_last_minute_is_compared_as_used(alice: User) -> None:
    symbol, runner = SYMBOLS[0], Runner()
    minutes = [FIRST + 60 * n for n in range(374)]
    store_bars({symbol: flat_candles(minutes, 101.0)}, "1m")
    started(alice, crossing_steps([symbol], "30m"))
    for time in [*session_starts(1, LENGTH)[1:], FIRST + SESSION + GRACE_PERIOD]:
        step(runner, [symbol], "30m", time)
    assert BarRow.objects.latest("time").time == FIRST + SESSION - LENGTH // 2
    checking.check_ended(now=make.NOW, market_now=FIRST + DAY, stopping=lambda: False)
    report = DriftReport.objects.get()
    assert (report.rows, report.differences) == (13, [])


def test_an_entry_pending_beside_a_position_is_reported_alike(alice: User) -> None:
    """Its signal counts once the square-off has closed the position."""
    entries = {"positionType": "long", "conditions": [ABOVE | {"value": 1}]}
    execution = {
        "mode": "paper",
        "exchange": "NSE",
        "orderType": "market",
        "charges": "none",
        "productType": "intraday",
        "initialCapital": 100_000,
    }
    symbol, starts = SYMBOLS[0], session_starts(2, LENGTH)
    store_bars({symbol: flat_candles(starts, 101.0)}, "30m")
    started(
        alice, crossing_steps([symbol], "30m", entryConditions=entries, executionSettings=execution)
    )
    step(Runner(), [symbol], "30m", AFTER)
    assert Signal.objects.filter(reason="outside_session").exists()
    assert check() == {"2026-06-01": [], "2026-06-02": []}


def test_an_entry_decided_in_the_next_session_is_not_a_difference(alice: User) -> None:
    """The strategy enters long on the first day and signals long again at each close.

    It does so for three days at a time. The present position ignores the signal of the third close;
    the next open closes that position and follows the signal.
    """
    symbol, starts = SYMBOLS[0], [midnight(day) for day in weekdays("2026-06-01", 8)]
    store_bars({symbol: flat_candles(starts, 101.0)}, "1d")
    run = started(
        alice,
        crossing_steps(
            [symbol],
            "1d",
            positionSizing={"method": "fixed_quantity", "quantity": 7},
            entryConditions={"positionType": "long", "conditions": [ABOVE | {"value": 1}]},
            exitConditions={
                "stopLoss": {"type": "percentage", "percentage": 12},
                "maxHoldingCandles": 3,
            },
            executionSettings={
                "mode": "paper",
                "exchange": "NSE",
                "orderType": "market",
                "charges": "none",
                "productType": "delivery",
                "initialCapital": 100_000,
            },
        ),
    )
    step(Runner(), [symbol], "1d", AFTER + 7 * DAY)
    late = Signal.objects.get(run=run, bar_time=moment(starts[3]), action="entry")
    assert late.followed
    assert Trade.objects.filter(exit_reason="max_holding").count() == 2
    assert set(map(str, check(AFTER + 7 * DAY).values())) == {"[]"}


@pytest.mark.slow
@pytest.mark.timeout(300)
@pytest.mark.parametrize("timeframe", ["1d", "30m"])
def test_random_strategies_trade_on_paper_as_in_their_backtests_without_drift(
    alice: User, timeframe: str
) -> None:
    """Entries are at most closes, exits come after some bars.

    Few bars are missing, so data are never stale, a state that backtests lack.
    """
    rng, length, count = random.Random(7), TIMEFRAMES[timeframe], 24
    days = weekdays("2026-06-01", 6 if timeframe == "30m" else 30)
    starts = (
        [midnight(day) for day in days] if timeframe == "1d" else session_starts(len(days), length)
    )
    store_bars(
        {
            name: random_candles(n, starts, wild=0.01, missing=0.05)
            for n, name in enumerate(SYMBOLS)
        },
        timeframe,
    )
    runs = [started(alice, drawn_to_renew(rng, timeframe)) for _ in range(count)]
    end = midnight(days[-1]) + 3 * DAY
    for name in SYMBOLS:
        step(Runner(), [name], timeframe, end)
    step(Runner(), SYMBOLS, timeframe, end)
    assert {day: kinds for day, kinds in check(end).items() if kinds} == {}
    assert DriftReport.objects.count() > count
    for run in runs:
        result = backtested(run, start=starts[0], end=end)
        assert Counter(trades_of(run)) == Counter(expected_of(result))
    assert Trade.objects.count() > 2 * count


def drawn_to_renew(rng: random.Random, timeframe: str) -> dict[str, Any]:
    """Return strategies with signals during positions, for one symbol or two."""
    sides = [rng.choice(["above", "below"]) for _ in range(2)]
    average = {"type": "SMA", "period": rng.randint(2, 6)}
    conditions = [
        {
            "type": "indicator_indicator",
            "indicator1": {"type": "PRICE"},
            "operator": side,
            "indicator2": average | {"period": rng.randint(2, 12)},
        }
        for side in sides
    ]
    pyramiding: dict[str, Any] = {"enabled": rng.random() < 0.3, "maxEntries": 2}
    if rng.random() < 0.2:
        pyramiding["distance"] = {"direction": "favour", "type": "percentage", "percentage": 0.2}
    steps = [{"at": {"type": "percentage", "percentage": 0.3}, "close": 50, "moveStop": "entry"}]
    symbols = rng.choice([SYMBOLS, SYMBOLS[:1], SYMBOLS[1:]])
    side = rng.choice(["long", "short", "both"])
    ranks = len(symbols) > 1 and side != "both"
    every = rng.choice(["candle", "week"] if timeframe == "1d" else ["candle"])
    rank = {"by": {"type": "ROC", "period": 2}, "top": 1, "every": every}
    return crossing_steps(
        symbols,
        timeframe,
        positionSizing={"method": "fixed_quantity", "quantity": 7, "pyramiding": pyramiding},
        entryConditions={
            "positionType": side,
            "logicalOperator": rng.choice(["AND", "OR"]),
            "conditions": conditions,
            **({"rank": rank} if ranks else {}),
        },
        exitConditions={
            "stopLoss": {"type": "percentage", "percentage": rng.choice([1, 3, 12])},
            **({"steps": steps} if rng.random() < 0.3 else {}),
            **({"onRank": rng.choice(["hold", "leave"])} if ranks else {}),
            "maxHoldingCandles": rng.randint(1, 6),
            "exitOnOppositeSignal": rng.random() < 0.5,
        },
        riskParameters={
            "maxPositionSize": 500_000,
            "maxDailyLoss": rng.choice([60, 100_000]),
            "maxOpenPositions": rng.choice([1, 2]),
        },
        executionSettings={
            "mode": "paper",
            "exchange": "NSE",
            "charges": "none",
            "initialCapital": 100_000,
            "orderType": rng.choice(["market", "market", "limit", "stop"]),
            "limitOffset": 0.1,
            "productType": "delivery" if timeframe == "1d" else rng.choice(PRODUCTS),
        },
    )


def weekdays(first: str, count: int) -> list[date]:
    """Return this many Mondays to Fridays from a Monday on."""
    monday = date.fromisoformat(first)
    return [monday + timedelta(days=n) for n in range(2 * count) if n % 7 < 5][:count]


def tamper() -> list[tuple[object, ...]]:
    """Make one difference of each kind that the store does not cause."""
    charged, priced = Fill.objects.order_by("at", "pk").select_related("order")[:2]
    Fill.objects.filter(pk=charged.pk).update(charges=charged.charges + Decimal("0.01"))
    Fill.objects.filter(pk=priced.pk).update(price=priced.price + 1)
    missing = Signal.objects.filter(followed=True).order_by("bar_time")[1]
    Signal.objects.filter(pk=missing.pk).delete()
    blocked = Signal.objects.filter(followed=True, action="entry").latest("bar_time")
    Signal.objects.filter(pk=blocked.pk).update(followed=False, reason="kill_switch")
    return [
        ("charge", charged.order.symbol, charged.order.side),
        ("fill", priced.order.symbol, priced.order.side),
        ("risk", blocked.symbol, f"entry {blocked.side}"),
        ("signal", missing.symbol, f"{missing.action} {missing.side}"),
    ]


def test_a_changed_candle_that_changes_places_differs_in_the_signals_of_both_symbols(
    alice: User,
) -> None:
    """The second symbol rises at each candle and is the first of the ranking, until a changed
    candle of the first rises more.
    """
    starts = session_starts(1, LENGTH)
    steady = flat_candles(starts, 500.0)
    rising = flat_candles(starts, [500.0 + number for number in range(len(starts))])
    store_bars(dict(zip(SYMBOLS, (steady, rising), strict=True)), "30m")
    rank = {"by": {"type": "ROC", "period": 1}, "top": 1, "every": "candle"}
    entries = {"positionType": "long", "conditions": [ABOVE | {"value": 1}], "rank": rank}
    exits = {"stopLoss": {"type": "percentage", "percentage": 50}, "maxHoldingCandles": 1}
    steps = crossing_steps(SYMBOLS, "30m", entryConditions=entries, exitConditions=exits)
    started(alice, steps)
    step(Runner(), SYMBOLS, "30m", AFTER)
    assert check() == {"2026-06-01": []}
    DriftReport.objects.all().delete()
    come_late(steady)
    (differences,) = check().values()
    assert differences[:3] == [
        ("data", SYMBOLS[0], "candle"),
        ("signal", SYMBOLS[0], "entry long"),
        ("signal", SYMBOLS[1], "entry long"),
    ]


def come_late(bars: Candles) -> None:
    """Replace the last bars but one."""
    late = bars.slice(len(bars) - 5, len(bars) - 4)
    moved = Candles.build(
        late.time,
        open=late.open,
        high=late.high + 50,
        low=late.low,
        close=late.close + 40,
        volume=late.volume,
    )
    market.append(symbol=SYMBOLS[0], timeframe="30m", candles=moved, now=make.NOW)


def test_differences_after_an_intervention_are_marked(
    alice: User, series: Mapping[str, Candles]
) -> None:
    """One run is paused, and the positions of another are closed."""
    runner = Runner()
    paused, closed = (started(alice, crossing_steps(SYMBOLS, "30m")) for _ in range(2))
    first = until_it_holds_something(paused, runner)
    services.pause(owner=alice, algorithm_id=paused.algorithm_id, now=make.NOW)
    assert closed.positions.open().update(close_requested_at=moment(first)) > 0
    step(runner, SYMBOLS, "30m", first + DAY)
    checking.check_ended(now=make.NOW, market_now=first + DAY, stopping=lambda: False)
    for run, reason in ((paused, "paused"), (closed, "stopped")):
        report = DriftReport.objects.get(run=run, day=day_in_india(first))
        marked = {(difference["kind"], difference["reason"]) for difference in report.differences}
        assert marked == {("risk", reason)}
        assert any(difference["what"] in ("buy", "sell") for difference in report.differences)


def until_it_holds_something(run: Run, runner: Runner) -> int:
    """Return the market's time once it holds a position."""
    for start in session_starts(DAYS, LENGTH):
        step(runner, SYMBOLS, "30m", start + LENGTH + GRACE_PERIOD)
        if run.positions.open().exists():
            return start + LENGTH
    raise AssertionError("it never does")
