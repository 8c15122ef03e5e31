"""A session that is played again: clean where nothing differs, and told by kind where it does."""

from collections.abc import Mapping
from decimal import Decimal

import pytest

from apps.accounts.models import User
from apps.core.times import moment
from apps.engine.candles import Candles
from apps.market import services as market
from apps.market.moments import day_in_india
from apps.market.store import PATIENCE
from apps.trading import services
from apps.trading.drift import checking
from apps.trading.models import DriftReport, Fill, LaneRow, Run, Signal
from apps.trading.runner import Runner
from tests import make
from tests.conftest import Api
from tests.envelope import assert_error
from tests.market.bars import flat
from tests.trading.live.market_day import (
    DAY,
    FIRST,
    SESSION,
    hold,
    started,
    step,
    steps,
    times,
    walk,
)

pytestmark = pytest.mark.django_db

LENGTH = 1800
SYMBOLS = ("NSE:RELIANCE", "NSE:SBIN")
DAYS = 3
CLEAN = {"date": "2026-06-03", "status": "checked", "rows": 0, "total": 0, "differences": []}
AFTER = FIRST + 7 * 86_400


@pytest.fixture
def series() -> Mapping[str, Candles]:
    """A week more before the start, so that indicators have what to begin with."""
    starts = times(5 + DAYS, LENGTH, first=FIRST - 7 * 86_400)
    made = {
        symbol: walk(seed, starts, wild=0.01, missing=0.1) for seed, symbol in enumerate(SYMBOLS)
    }
    hold(made, "30m")
    return made


@pytest.fixture
def run(alice: User, series: Mapping[str, Candles]) -> Run:
    made = started(alice, steps(SYMBOLS, "30m"))
    step(Runner(), SYMBOLS, "30m", AFTER)
    return made


def check() -> dict[str, list[tuple[object, ...]]]:
    """By day: each difference as its kind, symbol, and what it is of."""
    checking.check_ended(now=make.NOW, market_now=AFTER, stopping=lambda: False)
    return {
        str(report.day): [(one["kind"], one["symbol"], one["what"]) for one in report.differences]
        for report in DriftReport.objects.order_by("day")
    }


def test_on_clean_data_there_is_none_and_each_kind_is_told(
    api: Api, alice: User, run: Run, series: Mapping[str, Candles]
) -> None:
    client, path = api(alice), f"/api/trading/algorithms/{run.algorithm_id}/drift"
    assert client.get(path).json() | {"rows": 0} == CLEAN | {"status": "waiting"}
    assert check() == {f"2026-06-0{day}": [] for day in (1, 2, 3)}
    assert client.get(path).json() | {"rows": 0} == CLEAN
    assert sum(DriftReport.objects.values_list("rows", flat=True)) == LaneRow.objects.count()
    assert Fill.objects.count() > 5
    DriftReport.objects.all().delete()
    tampered = tamper()
    assert sorted(one for found in check().values() for one in found) == sorted(tampered)
    shown = client.get(path, {"date": "2026-06-01"}).json()["differences"]
    assert {"charge", "fill", "signal"} >= {one["kind"] for one in shown} != set()
    assert client.get(path, {"date": "2025-06-01"}).json()["status"] == "no_session"
    assert_error(client.get(path, {"date": "June"}), 400, "VALIDATION_ERROR", field="date")
    DriftReport.objects.all().delete()
    come_late(series[SYMBOLS[0]])
    assert ("data", SYMBOLS[0], "candle") in check()["2026-06-03"]


def test_of_a_session_that_was_entered_midway_there_is_none(
    alice: User, series: Mapping[str, Candles]
) -> None:
    started(alice, steps(SYMBOLS, "30m"), at=FIRST + 6 * LENGTH)
    step(Runner(), SYMBOLS, "30m", AFTER)
    assert check() == {f"2026-06-0{day}": [] for day in (1, 2, 3)}


def test_a_last_bar_without_its_last_minute_is_the_one_that_was_used(alice: User) -> None:
    symbol, runner = SYMBOLS[0], Runner()
    minutes = [FIRST + 60 * n for n in range(374)]
    hold({symbol: flat(minutes, 101.0)}, "1m")
    started(alice, steps([symbol], "30m"))
    for time in [*times(1, LENGTH)[1:], FIRST + SESSION + PATIENCE]:
        step(runner, [symbol], "30m", time)
    assert LaneRow.objects.latest("time").time == FIRST + SESSION - LENGTH // 2
    checking.check_ended(now=make.NOW, market_now=FIRST + DAY, stopping=lambda: False)
    report = DriftReport.objects.get()
    assert (report.rows, report.differences) == (13, [])


def test_an_entry_that_waited_beside_a_position_is_told_alike(alice: User) -> None:
    """Its signal is told once the square-off has taken the position away."""
    always = {"type": "indicator_value", "indicator": {"type": "PRICE"}, "operator": "above"}
    entries = {"positionType": "long", "conditions": [always | {"value": 1}]}
    execution = {
        "mode": "paper", "exchange": "NSE", "orderType": "market", "charges": "none",
        "productType": "intraday", "initialCapital": 100_000,
    }  # fmt: skip
    symbol, starts = SYMBOLS[0], times(2, 900)
    hold({symbol: flat(starts, 101.0)}, "15m")
    started(alice, steps([symbol], "15m", entryConditions=entries, executionSettings=execution))
    step(Runner(), [symbol], "15m", AFTER)
    assert Signal.objects.filter(reason="outside_session").exists()
    assert check() == {"2026-06-01": [], "2026-06-02": []}


def tamper() -> list[tuple[object, ...]]:
    """One difference of each kind that the store does not make."""
    charged, priced = Fill.objects.order_by("at", "pk").select_related("order")[:2]
    Fill.objects.filter(pk=charged.pk).update(charges=charged.charges + Decimal("0.01"))
    Fill.objects.filter(pk=priced.pk).update(price=priced.price + 1)
    missing = Signal.objects.filter(followed=True).order_by("bar_time")[1]
    Signal.objects.filter(pk=missing.pk).delete()
    barred = Signal.objects.filter(followed=True, action="entry").latest("bar_time")
    Signal.objects.filter(pk=barred.pk).update(followed=False, reason="kill_switch")
    return [
        ("charge", charged.order.symbol, charged.order.side),
        ("fill", priced.order.symbol, priced.order.side),
        ("risk", barred.symbol, f"entry {barred.side}"),
        ("signal", missing.symbol, f"{missing.action} {missing.side}"),
    ]


def come_late(bars: Candles) -> None:
    """The last bars but one are other ones now."""
    late = bars.slice(len(bars) - 5, len(bars) - 4)
    moved = Candles.build(
        late.time, open=late.open, high=late.high + 50, low=late.low, close=late.close + 40,
        volume=late.volume,
    )  # fmt: skip
    market.append(symbol=SYMBOLS[0], timeframe="30m", candles=moved, now=make.NOW)


@pytest.mark.parametrize(("means", "reason"), [("pause", "paused"), ("close", "stopped")])
def test_what_followed_from_somebody_stepping_in_says_so(
    alice: User, series: Mapping[str, Candles], means: str, reason: str
) -> None:
    run, runner = started(alice, steps(SYMBOLS, "30m")), Runner()
    first = until_it_holds_something(run, runner)
    if means == "pause":
        services.pause(owner=alice, algorithm_id=run.algorithm_id, now=make.NOW)
    else:
        run.positions.open().update(close_asked_at=moment(first))
    step(runner, SYMBOLS, "30m", first + DAY)
    checking.check_ended(now=make.NOW, market_now=first + DAY, stopping=lambda: False)
    report = DriftReport.objects.get(day=day_in_india(first))
    assert {(one["kind"], one["reason"]) for one in report.differences} == {("risk", reason)}
    assert any(one["what"] in ("buy", "sell") for one in report.differences)


def until_it_holds_something(run: Run, runner: Runner) -> int:
    """The market's time then."""
    for start in times(DAYS, LENGTH):
        step(runner, SYMBOLS, "30m", start + LENGTH + PATIENCE)
        if run.positions.open().exists():
            return start + LENGTH
    raise AssertionError("it never does")
