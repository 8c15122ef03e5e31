"""The end of a backtest writes one event, in the same transaction."""

import pytest

from apps.accounts.models import User
from apps.backtests import services
from apps.backtests.models import Backtest
from apps.backtests.running import execution, queue, simulating
from apps.core.errors import Code
from apps.engine.simulation.simulations import ignore_progress
from apps.webhooks.models import Event
from tests import make
from tests.backtests import workers
from tests.backtests.submissions import submit
from tests.backtests.test_requeue_stalled import LATER
from tests.backtests.workers import run_queued

pytestmark = pytest.mark.usefixtures("history")


def begin(owner: User) -> Backtest:
    submit(owner)
    return workers.begin()


def test_a_completed_backtest_writes_an_event_in_the_sequence_of_its_algorithm(alice: User) -> None:
    first = submit(alice)
    second = submit(alice, first.algorithm_id)
    run_queued()
    events = list(Event.objects.order_by("sequence"))
    assert [event.type for event in events] == ["backtest.completed"] * 2
    assert [event.sequence for event in events] == [1, 2]
    assert {event.backtest_id for event in events} == {first.pk, second.pk}
    event = next(event for event in events if event.backtest_id == first.pk)
    assert (event.owner, event.algorithm_id) == (alice, first.algorithm_id)
    assert event.data == {
        "backtestId": first.pk,
        "algorithmId": first.algorithm_id,
        "status": "completed",
        "algorithmName": first.algorithm.name,
        "error": None,
    }


def test_the_event_of_a_failed_backtest_has_the_reason(alice: User) -> None:
    backtest = begin(alice)
    execution.fail(
        backtest=backtest, code=Code.INSUFFICIENT_DATA, message="too few bars", now=make.NOW
    )
    event = Event.objects.get()
    assert (event.type, event.backtest_id) == ("backtest.failed", backtest.pk)
    assert event.data["error"] == {"code": "INSUFFICIENT_DATA", "message": "too few bars"}


def test_a_backtest_that_lost_too_many_workers_writes_an_event(alice: User) -> None:
    backtest = begin(alice)
    Backtest.objects.update(losses=queue.MAX_LOST_WORKERS - 1)
    queue.requeue_stalled(now=LATER)
    event = Event.objects.get()
    assert (event.type, event.backtest_id) == ("backtest.failed", backtest.pk)
    assert "5 workers were lost" in event.data["error"]["message"]


def test_a_stale_attempt_writes_no_event(alice: User) -> None:
    backtest = begin(alice)
    output = simulating.run_backtest(backtest, ignore_progress)
    services.cancel(owner=alice, backtest_id=backtest.pk, now=make.NOW)
    with pytest.raises(execution.StaleAttempt):
        execution.complete(backtest=backtest, output=output, now=make.NOW)
    with pytest.raises(execution.StaleAttempt):
        execution.fail(backtest=backtest, code=Code.CONFLICT, message="x", now=make.NOW)
    assert not Event.objects.exists()
