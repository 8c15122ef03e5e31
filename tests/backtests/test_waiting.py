"""Prefer: wait, its reading and its bounds."""

import pytest

from apps.accounts.models import User
from apps.backtests import waiting
from apps.backtests.lifecycle import Status
from apps.backtests.models import Backtest
from tests.backtests.submissions import submit


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, 0), ("", 0), ("wait=5", 5), ("respond-async, wait=5", 5), ('wait="7"', 7),
        ("Wait = 5", 5), ("wait=5; foo=bar", 5), ("wait=5, wait=9", 5), ("wait=3600", 30),
        ("wait=0", 0), ("wait", 0), ("wait=", 0), ("wait=-1", 0), ("wait=1.5", 0), ("wait=x", 0),
        ("wait=" + "9" * 50, 0), ("await=5", 0), ("return=minimal", 0), ("wait=٣", 0),
    ],
)  # fmt: skip
def test_a_preference_is_read_as_the_rfc_has_it(header: str | None, seconds: int) -> None:
    assert waiting.seconds_preferred(header) == seconds


class Clock:
    """Time that passes only when somebody sleeps."""

    def __init__(self) -> None:
        self.now = 100.0
        self.sleeps: list[float] = []

    def __call__(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.sleeps.append(seconds)
        self.now += seconds


@pytest.fixture
def queued(history: None, alice: User) -> Backtest:
    return submit(alice)


def wait(backtest: Backtest, clock: Clock) -> Backtest | None:
    return waiting.until_ended(backtest, seconds=10, clock=clock, sleep=clock.sleep)


def test_it_waits_as_long_as_it_was_told_and_no_longer(queued: Backtest) -> None:
    clock = Clock()
    found = wait(queued, clock)
    assert found is not None
    assert found.status == Status.QUEUED
    assert clock.now == pytest.approx(110)
    assert len(clock.sleeps) < 200  # it asks less and less often


def test_it_answers_as_soon_as_it_has_ended(queued: Backtest) -> None:
    clock = Clock()

    def sleep_while_it_ends(seconds: float) -> None:
        clock.sleep(seconds)
        if clock.now > 102:
            Backtest.objects.update(status=Status.CANCELLED)

    found = waiting.until_ended(queued, seconds=10, clock=clock, sleep=sleep_while_it_ends)
    assert found is not None
    assert found.status == Status.CANCELLED
    assert 102 < clock.now < 102.5


def test_one_that_is_deleted_meanwhile_disturbs_nobody(queued: Backtest) -> None:
    Backtest.objects.all().delete()
    assert wait(queued, Clock()) == queued


def test_more_than_half_of_the_threads_do_not_wait(queued: Backtest) -> None:
    clock = Clock()
    depth: list[Backtest | None] = []

    def sleep_while_another_comes(seconds: float) -> None:
        clock.sleep(10)
        depth.append(
            waiting.until_ended(queued, seconds=10, clock=clock, sleep=sleep_while_another_comes)
        )

    waiting.until_ended(queued, seconds=10, clock=clock, sleep=sleep_while_another_comes)
    assert depth[0] is None  # two of four threads wait, the third is answered at once
    assert wait(queued, Clock()) is not None  # and the seats are free again
