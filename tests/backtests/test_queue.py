"""Whose backtest is next: nobody waits for more than one backtest of somebody else."""

from datetime import timedelta

import pytest

from apps.accounts.models import User
from apps.backtests import queue, services
from apps.backtests.models import Backtest, BacktestStatus
from tests import make
from tests.backtests.submissions import submit
from tests.backtests.workers import count_slots

pytestmark = pytest.mark.usefixtures("history")


def submit_many(owner: User, count: int, *, after: int = 0) -> list[Backtest]:
    """One a second, the first `after` seconds from now."""
    algorithm = make.algorithm(owner, **make.steps()).pk
    moments = (make.NOW + timedelta(seconds=after + n) for n in range(count))
    return [submit(owner, algorithm, now=moment) for moment in moments]


def take(seconds: int) -> Backtest:
    backtest = queue.begin_next(now=make.NOW + timedelta(seconds=seconds))
    assert backtest is not None
    return backtest


def end(backtest: Backtest) -> None:
    Backtest.objects.filter(pk=backtest.pk).update(status=BacktestStatus.CANCELLED)


def test_ones_own_run_in_the_order_they_were_asked_for(alice: User) -> None:
    asked = submit_many(alice, 3)
    assert [take(n).pk for n in range(3)] == [one.pk for one in asked]


def test_many_of_one_user_delay_the_one_of_another_by_at_most_one(alice: User, bob: User) -> None:
    many = submit_many(alice, services.MAX_QUEUED_PER_USER)
    running = take(0)
    assert running.pk == many[0].pk
    late = submit(bob, now=make.NOW + timedelta(hours=1))
    end(running)
    assert take(1).pk == late.pk


def test_with_two_workers_one_users_many_leave_room_for_another(alice: User, bob: User) -> None:
    submit_many(alice, 5)
    first, second = take(0), take(1)
    late = submit(bob, now=make.NOW + timedelta(hours=1))
    end(first)
    assert take(2).pk == late.pk  # although one of alice's still runs beside it
    end(second)
    assert {take(3).owner_id, take(4).owner_id} == {alice.pk}


def test_users_with_many_are_served_in_turn(alice: User, bob: User) -> None:
    submit_many(alice, 4)
    submit_many(bob, 4, after=10)
    served = []
    for n in range(8):
        backtest = take(n)
        served.append(backtest.owner_id)
        end(backtest)
    assert served == [alice.pk, bob.pk] * 4


def test_deleting_what_has_ended_wins_nobody_a_turn(alice: User, bob: User) -> None:
    submit_many(alice, 3)
    submit_many(bob, 3, after=10)
    first = take(0)
    end(first)
    services.delete(owner=alice, backtest_id=first.pk, now=make.NOW)
    assert take(1).owner_id == bob.pk


def test_turns_that_were_lost_are_missed(alice: User) -> None:
    submit_many(alice, 2)
    assert (count_slots(), queue.shortfall()) == (2, 0)
    algorithm = make.algorithm(alice, **make.steps())
    Backtest.objects.bulk_create(
        Backtest(
            owner=alice, algorithm=algorithm, algorithm_version=1, kind="backtest",
            configuration={}, symbols=[], timeframe="1d", start=0, end=1, initial_capital=1,
            seed=1, status=BacktestStatus.QUEUED, created_at=make.NOW,
        )
        for _ in range(3)
    )  # fmt: skip
    assert queue.shortfall() == 3
