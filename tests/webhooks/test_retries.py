"""The times of retries."""

from datetime import timedelta

import pytest

from apps.webhooks.sending.delivery import RETRY_WAITS, next_attempt
from tests import make


def wait(failures: int, seed: str = "a", **more: float) -> timedelta:
    due = next_attempt(failures, seed=seed, now=make.NOW, **more)
    assert due is not None
    return due - make.NOW


def test_ten_attempts_take_about_75_hours() -> None:
    assert sum(RETRY_WAITS, timedelta()) == timedelta(hours=75, minutes=35, seconds=5)
    assert next_attempt(len(RETRY_WAITS) + 1, seed="a", now=make.NOW) is None


def test_each_wait_is_up_to_a_fifth_shorter_or_longer_and_the_same_each_time() -> None:
    for failures, middle in enumerate(RETRY_WAITS, 1):
        shares = [wait(failures, str(seed)) / middle for seed in range(200)]
        assert 0.8 <= min(shares) < 0.85
        assert 1.15 < max(shares) <= 1.2
        assert wait(failures) == wait(failures)


@pytest.mark.parametrize(("requested", "granted"), [(3600, 3600), (1, None), (10**9, 24 * 3600)])
def test_a_receiver_may_ask_for_more_time_but_not_for_ever(
    requested: float, granted: float | None
) -> None:
    expected = wait(1) if granted is None else timedelta(seconds=granted)
    assert wait(1, retry_after=requested) == expected
