"""What a backtest comes to is told, once, with the change itself."""

import pytest

from apps.accounts.models import User
from apps.backtests import execution, queue, services
from apps.backtests.models import Backtest
from apps.core.errors import Code
from apps.webhooks.models import Event
from tests import make
from tests.backtests.submissions import submit
from tests.backtests.test_requeue_stalled import LATER
from tests.backtests.workers import never, run_queued

pytestmark = pytest.mark.usefixtures("history")


def begun(owner: User) -> Backtest:
    submit(owner)
    backtest = queue.begin_next(now=make.NOW)
    assert backtest is not None
    return backtest


def test_a_completed_one_is_told_in_the_sequence_of_its_algorithm(alice: User) -> None:
    first = submit(alice)
    second = submit(alice, first.algorithm_id)
    run_queued()
    events = list(Event.objects.order_by("sequence"))
    assert [event.type for event in events] == ["backtest.completed"] * 2
    assert [event.sequence for event in events] == [1, 2]
    assert {event.backtest_id for event in events} == {first.pk, second.pk}
    told = next(event for event in events if event.backtest_id == first.pk)
    assert (told.owner, told.algorithm_id) == (alice, first.algorithm_id)
    assert told.data == {
        "backtestId": first.pk, "algorithmId": first.algorithm_id, "status": "completed",
        "algorithmName": first.algorithm.name, "error": None,
    }  # fmt: skip


def test_a_failed_one_is_told_with_the_reason(alice: User) -> None:
    backtest = begun(alice)
    execution.fail(
        backtest=backtest, code=Code.INSUFFICIENT_DATA, message="too few bars", now=make.NOW
    )
    event = Event.objects.get()
    assert (event.type, event.backtest_id) == ("backtest.failed", backtest.pk)
    assert event.data["error"] == {"code": "INSUFFICIENT_DATA", "message": "too few bars"}


def test_one_that_is_given_up_is_told_as_failed(alice: User) -> None:
    backtest = begun(alice)
    Backtest.objects.update(losses=queue.MAX_LOST_WORKERS - 1)
    queue.requeue_stalled(now=LATER)
    event = Event.objects.get()
    assert (event.type, event.backtest_id) == ("backtest.failed", backtest.pk)
    assert "5 workers were lost" in event.data["error"]["message"]


def test_an_attempt_that_was_superseded_tells_nothing(alice: User) -> None:
    backtest = begun(alice)
    output = execution.run(backtest, is_stopping=never, is_stale=never)
    services.cancel(owner=alice, backtest_id=backtest.pk, now=make.NOW)
    with pytest.raises(execution.StaleAttempt):
        execution.complete(backtest=backtest, output=output, now=make.NOW)
    with pytest.raises(execution.StaleAttempt):
        execution.fail(backtest=backtest, code=Code.CONFLICT, message="x", now=make.NOW)
    assert not Event.objects.exists()
