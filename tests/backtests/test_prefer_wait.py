"""The parsing and the effect of `Prefer: wait`."""

import json

import psycopg
import pytest
from django.http import HttpResponse
from procrastinate.contrib.django.utils import connector_params

from apps.accounts.models import User
from apps.backtests import prefer_wait
from apps.backtests.models import (
    BACKTEST_ENDED_CHANNEL,
    Backtest,
    BacktestStatus,
    BacktestTransition,
)
from apps.backtests.serializers import WholeBacktestSerializer
from apps.core.requests import long_poll
from apps.core.requests.long_poll import LongPoll
from tests import make
from tests.backtests.submissions import submit


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, 0),
        ("", 0),
        ("wait=5", 5),
        ("respond-async, wait=5", 5),
        ('wait="7"', 7),
        ("Wait = 5", 5),
        ("wait=5; foo=bar", 5),
        ("wait=5, wait=9", 5),
        ("wait=3600", 30),
        ("wait=0", 0),
        ("wait", 0),
        ("wait=", 0),
        ("wait=-1", 0),
        ("wait=1.5", 0),
        ("wait=x", 0),
        ("wait=" + "9" * 50, 0),
        ("await=5", 0),
        ("return=minimal", 0),
        ("wait=٣", 0),
    ],
)
def test_a_preference_is_read_by_the_rfc(header: str | None, seconds: int) -> None:
    assert prefer_wait.parse_wait(header) == seconds


@pytest.fixture
def queued(history: None, alice: User) -> Backtest:
    return submit(alice)


def delayed(backtest: Backtest) -> tuple[HttpResponse, LongPoll | None]:
    response = prefer_wait.respond_when_ended(
        backtest,
        headers={"Prefer": "wait=7"},
        channel=BACKTEST_ENDED_CHANNEL,
        render=WholeBacktestSerializer.render,
    )
    return response, long_poll.get_long_poll(response)


def test_the_answer_of_an_unfinished_backtest_waits_for_its_end(queued: Backtest) -> None:
    response, poll = delayed(queued)
    assert poll is not None
    assert (poll.channel, poll.payload, poll.seconds) == (
        BACKTEST_ENDED_CHANNEL,
        queued.pk,
        7,
    )
    assert "Preference-Applied" not in response
    assert not poll.is_over()
    Backtest.objects.update(status=BacktestStatus.CANCELLED)
    assert poll.is_over()
    assert json.loads(poll.render())["status"] == "cancelled"
    assert poll.headers == {"Preference-Applied": "wait=7"}


def test_the_answer_of_an_ended_backtest_does_not_wait(queued: Backtest) -> None:
    queued.status = BacktestStatus.COMPLETED
    response, poll = delayed(queued)
    assert poll is None
    assert response["Preference-Applied"] == "wait=7"


def test_waiting_for_a_deleted_backtest_returns_its_last_known_state(queued: Backtest) -> None:
    _, poll = delayed(queued)
    assert poll is not None
    Backtest.objects.all().delete()
    assert poll.is_over()
    assert json.loads(poll.render())["status"] == "queued"


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("move", [BacktestTransition.FAIL, BacktestTransition.CANCEL])
def test_every_end_is_notified_at_its_commit(queued: Backtest, move: BacktestTransition) -> None:
    begun = Backtest.objects.attempt(queued)
    with psycopg.Connection.connect(**connector_params(), autocommit=True) as listening:
        listening.execute(f"LISTEN {BACKTEST_ENDED_CHANNEL}")
        assert begun.transition(
            BacktestTransition.BEGIN, started_at=make.NOW, heartbeat_at=make.NOW
        )
        assert begun.transition(move, completed_at=make.NOW, error={"code": "X", "message": "y"})
        notices = list(listening.notifies(timeout=5, stop_after=1))
    assert [(notice.channel, notice.payload) for notice in notices] == [
        (BACKTEST_ENDED_CHANNEL, queued.pk)
    ]
