"""The estimated time of a backtest, once its kind was measured, and the user's limit."""

from math import ceil
from typing import Any

import pytest
from django.conf import LazySettings
from django.test import override_settings

from apps.accounts.models import User
from apps.backtests.models import Backtest, BacktestKind, BacktestStatus, WorkSpeed
from apps.backtests.running import estimates, queue
from tests import make
from tests.backtests.submissions import submit
from tests.backtests.workers import run_queued
from tests.conftest import Api

pytestmark = pytest.mark.usefixtures("history")

STOPS = {"path": "exitConditions.stopLoss.percentage", "from": 0.25, "to": 5, "step": 0.25}
STUDIES: dict[BacktestKind, dict[str, Any]] = {
    BacktestKind.BACKTEST: {},
    BacktestKind.OPTIMIZATION: {
        "optimizationConfig": {"parameters": [STOPS], "objective": "netProfit"}
    },
    BacktestKind.WALK_FORWARD: {
        "walkForwardConfig": {"parameters": [STOPS], "objective": "netProfit", "windows": 3}
    },
    BacktestKind.MONTE_CARLO: {"monteCarloConfig": {"runs": 200}},
}
ITEMS = {
    BacktestKind.BACKTEST: 1,
    BacktestKind.OPTIMIZATION: 20,
    BacktestKind.WALK_FORWARD: 60,
    BacktestKind.MONTE_CARLO: 200,
}


def submit_kind(owner: User, kind: BacktestKind) -> Backtest:
    return submit(owner, kind=kind, configs=STUDIES[kind])


@pytest.mark.parametrize("kind", STUDIES)
def test_an_estimate_uses_the_times_of_similar_backtests(alice: User, kind: BacktestKind) -> None:
    first = submit_kind(alice, kind)
    assert first.estimated_seconds is None
    assert estimates.count_items(first) == ITEMS[kind]
    run_queued()
    [speed] = WorkSpeed.objects.all()
    assert speed.kind == kind
    assert speed.seconds > 0
    WorkSpeed.objects.update(seconds=0.1, units=1)
    bars = 1 if kind is BacktestKind.MONTE_CARLO else 500
    second = submit_kind(alice, kind)
    assert (second.estimated_seconds or 0) >= 0.1 * ITEMS[kind] * bars


def test_the_response_gives_the_estimate(alice: User, api: Api) -> None:
    WorkSpeed.objects.create(kind=BacktestKind.BACKTEST, seconds=1e-9, units=1)
    body = {
        "algorithmId": make.algorithm(alice, **make.steps()).pk,
        "startDate": "2024-02-01",
        "endDate": "2024-02-29",
    }
    assert api(alice).post("/api/backtests", body).json()["estimatedSeconds"] == 0.1


def test_recent_measurements_have_most_weight(alice: User) -> None:
    backtest = submit(alice)
    for seconds in (100.0, 1.0, 1.0):
        estimates.record_speed(backtest, seconds=seconds, bars=10)
    speed = WorkSpeed.objects.get()
    assert speed.seconds == pytest.approx(100 * 0.95**2 + 0.95 + 1)
    assert speed.units == pytest.approx(10 * (0.95**2 + 0.95 + 1))


@pytest.mark.parametrize("kind", STUDIES)
def test_too_much_memory_is_refused_with_the_size_that_fits(
    alice: User, kind: BacktestKind, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A bar takes as much memory as 10,000."""
    memory = estimates.memory_of(submit_kind(alice, kind))
    searches = kind in (BacktestKind.OPTIMIZATION, BacktestKind.WALK_FORWARD)
    of_a_bar = 2_200_000 if searches else 1_200_000
    monkeypatch.setattr(estimates, "BYTES_OF_A_BAR", 1_200_000)
    monkeypatch.setattr(estimates, "BYTES_OF_A_SEARCHED_BAR", 2_200_000)
    needed = ceil((memory.bars * of_a_bar + 400 * ITEMS[kind]) / 10**6)
    with (
        override_settings(BACKTEST_MEGABYTES=needed - 1),
        pytest.raises(estimates.TooMuchMemory) as refused,
    ):
        submit_kind(alice, kind)
    assert refused.value.details == {
        "bars": memory.bars,
        "megabytesNeeded": needed,
        "megabytesAllowed": needed - 1,
        "fits": ((needed - 1) * 10**6 - 400 * ITEMS[kind]) // of_a_bar,
    }
    fits = refused.value.details["fits"]
    assert isinstance(fits, int)
    assert memory.bars - 2 <= fits < memory.bars
    with override_settings(BACKTEST_MEGABYTES=needed):
        submit_kind(alice, kind)


def test_too_much_for_one_user_is_refused_with_the_size_that_fits(
    alice: User, bob: User, settings: LazySettings
) -> None:
    settings.QUOTA_BACKTEST_SECONDS = 1000
    running = submit(alice)
    queue.begin_next(now=make.NOW)
    Backtest.objects.filter(pk=running.pk).update(estimated_seconds=800, progress=25)
    estimate = submit_kind(alice, BacktestKind.OPTIMIZATION)
    bars = estimates.stored_bars_of(estimate)
    WorkSpeed.objects.create(kind=BacktestKind.OPTIMIZATION, seconds=50, units=bars)  # 20 sets
    with pytest.raises(estimates.TooManySeconds) as refused:
        submit_kind(alice, BacktestKind.OPTIMIZATION)
    assert str(refused.value) == (
        "It would take about 0:16:40 (h:mm:ss) of one worker. Your queued and running backtests"
        " may take 0:16:40 together, and take 0:10:00; about 8 simulations or paths would fit."
    )
    submit_kind(bob, BacktestKind.OPTIMIZATION)
    Backtest.objects.filter(pk=running.pk).update(status=BacktestStatus.CANCELLED)
    submit_kind(alice, BacktestKind.OPTIMIZATION)
