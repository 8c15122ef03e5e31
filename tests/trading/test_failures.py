"""Algorithms in error, with the reason and advice."""

from datetime import timedelta
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from apps.accounts.models import User
from apps.trading import services
from apps.trading.runs.failures import CAPITAL_LOST
from tests.console.conftest import Browse, browse
from tests.trading.algorithm_states import LATER, NOW, algorithm_in, start, stopped_algorithm

__all__ = ["browse"]


def test_failures_are_listed_with_reason_and_advice_the_latest_first(alice: User) -> None:
    first = algorithm_in(alice, "error")
    second = stopped_algorithm(alice)
    run = start(second)
    services.fail(algorithm=second, reason=CAPITAL_LOST, now=LATER)
    algorithm_in(alice, "paused")
    failures = services.find_failures(owner=alice, most=5)
    assert [failure.algorithm_id for failure in failures] == [second.pk, first.pk]
    assert (failures[0].reason, failures[0].at) == (CAPITAL_LOST, LATER)
    assert failures[0].run_id == run.pk
    assert failures[0].advice.startswith("Lower the position size")
    assert failures[1].advice.startswith("Start a live feed or a replay")
    assert services.find_failures(owner=alice, most=1) == failures[:1]


def test_the_latest_error_of_an_algorithm_counts(alice: User) -> None:
    algorithm = algorithm_in(alice, "error")
    start(algorithm)
    assert services.find_failures(most=5) == []
    later = NOW + timedelta(hours=2)
    services.fail(algorithm=algorithm, reason="its state is unreadable", now=later)
    [failure] = services.find_failures(algorithm_id=algorithm.pk, most=5)
    assert (failure.reason, failure.at) == ("its state is unreadable", later)
    assert failure.advice.startswith("Stop the algorithm to close its positions.")


def test_failures_of_other_owners_are_not_listed(alice: User, bob: User) -> None:
    algorithm_in(alice, "error")
    assert services.find_failures(owner=bob, most=5) == []


def test_pages_of_an_algorithm_show_its_failure(browse: Browse, alice: User) -> None:
    algorithm = algorithm_in(alice, "error")
    client = browse(alice)
    for address in (f"/app/live/{algorithm.pk}", f"/app/algorithms/{algorithm.pk}"):
        page = client.get(address).content.decode()
        assert "no bars for an hour" in page
        assert "Start a live feed or a replay" in page
    start(algorithm)
    assert "no bars for an hour" not in client.get(f"/app/live/{algorithm.pk}").content.decode()


def test_status_lists_failures_with_their_owners(alice: User) -> None:
    algorithm = algorithm_in(alice, "error")
    with pytest.raises(CommandError, match=f"{algorithm.name} of {alice.email} is in error since"):
        call_command("status", stdout=StringIO())
