"""The order of the queue: no user waits for more than one backtest of another."""

from datetime import timedelta

import pytest

from apps.accounts.models import User
from apps.backtests import services
from apps.backtests.models import Backtest, BacktestStatus
from apps.backtests.running import queue
from tests import make
from tests.backtests import workers
from tests.backtests.submissions import submit
from tests.backtests.workers import count_slots

pytestmark = pytest.mark.usefixtures("history")


def submit_many(owner: User, count: int, *, after: int = 0) -> list[Backtest]:
    """Submit one backtest a second, the first `after` seconds from now."""
    algorithm = make.algorithm(owner, **make.steps()).pk
    moments = (make.NOW + timedelta(seconds=after + n) for n in range(count))
    return [submit(owner, algorithm, now=moment) for moment in moments]


def begin(seconds: int) -> Backtest:
    return workers.begin(now=make.NOW + timedelta(seconds=seconds))


def end(backtest: Backtest) -> None:
    Backtest.objects.filter(pk=backtest.pk).update(status=BacktestStatus.CANCELLED)


def test_backtests_of_one_user_run_in_the_order_of_submission(alice: User) -> None:
    submitted = submit_many(alice, 3)
    assert [begin(n).pk for n in range(3)] == [backtest.pk for backtest in submitted]


def test_many_backtests_of_one_user_delay_another_user_by_at_most_one(
    alice: User, bob: User
) -> None:
    many = submit_many(alice, services.MAX_QUEUED_PER_USER)
    running = begin(0)
    assert running.pk == many[0].pk
    late = submit(bob, now=make.NOW + timedelta(hours=1))
    end(running)
    assert begin(1).pk == late.pk


def test_with_two_workers_a_user_with_many_backtests_leaves_one_worker_free(
    alice: User, bob: User
) -> None:
    submit_many(alice, 5)
    first, second = begin(0), begin(1)
    late = submit(bob, now=make.NOW + timedelta(hours=1))
    end(first)
    assert begin(2).pk == late.pk  # although one of alice's still runs beside it
    end(second)
    assert {begin(3).owner_id, begin(4).owner_id} == {alice.pk}


def test_users_with_many_backtests_alternate(alice: User, bob: User) -> None:
    submit_many(alice, 4)
    submit_many(bob, 4, after=10)
    served = []
    for n in range(8):
        backtest = begin(n)
        served.append(backtest.owner_id)
        end(backtest)
    assert served == [alice.pk, bob.pk] * 4


def test_deleting_an_ended_backtest_does_not_move_its_owner_forward(alice: User, bob: User) -> None:
    submit_many(alice, 3)
    submit_many(bob, 3, after=10)
    first = begin(0)
    end(first)
    services.delete(owner=alice, backtest_id=first.pk, now=make.NOW)
    assert begin(1).owner_id == bob.pk


def test_lost_slots_are_a_shortfall(alice: User) -> None:
    submit_many(alice, 2)
    assert (count_slots(), queue.shortfall()) == (2, 0)
    algorithm = make.algorithm(alice, **make.steps())
    Backtest.objects.bulk_create(
        Backtest(
            owner=alice,
            algorithm=algorithm,
            algorithm_version=1,
            kind="backtest",
            configuration={},
            symbols=[],
            timeframe="1d",
            start=0,
            end=1,
            initial_capital=1,
            seed=1,
            status=BacktestStatus.QUEUED,
            created_at=make.NOW,
        )
        for _ in range(3)
    )
    assert queue.shortfall() == 3
