"""Versions are written with the save that makes them: both or neither, and no number twice."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import IntegrityError, connection, transaction

from apps.accounts.models import User
from apps.algorithms import services
from apps.algorithms.models import Algorithm, Version
from tests import make
from tests.conftest import Api


def test_a_number_cannot_be_given_twice(alice: User) -> None:
    algorithm = make.algorithm(alice)
    with pytest.raises(IntegrityError), transaction.atomic():
        algorithm.versions.create(number=1, configuration={}, created_at=make.NOW)


def test_a_save_fails_if_its_version_cannot_be_stored(alice: User) -> None:
    algorithm = make.algorithm(alice)
    algorithm.versions.create(number=2, configuration={}, created_at=make.NOW)
    changes: services.Changes = {"name": "New", "basic_info": {"timeframe": "5m"}}
    with pytest.raises(IntegrityError):
        services.update(owner=alice, algorithm_id=algorithm.pk, changes=changes, now=make.NOW)
    stored = Algorithm.objects.get()
    assert (stored.name, stored.basic_info, stored.version) == (algorithm.name, {}, 1)


def test_a_version_does_not_follow_later_saves(alice: User) -> None:
    algorithm = make.algorithm(alice, **make.steps())
    [before] = Version.objects.values()
    services.update(
        owner=alice, algorithm_id=algorithm.pk, changes={"basic_info": {}}, now=make.NOW
    )
    assert Version.objects.values().get(number=1) == before


def test_archiving_adds_no_version_and_keeps_all(alice: User) -> None:
    algorithm = make.algorithm(alice)
    services.archive(owner=alice, algorithm_id=algorithm.pk, now=make.NOW)
    assert [version.number for version in algorithm.versions.all()] == [1]


def change(n: int) -> dict[str, object]:
    """Return the n-th change: one of the steps in turn, with a value that nobody else sends."""
    steps: tuple[dict[str, Any], ...] = (
        {"positionSizing": {"method": "fixed_quantity", "quantity": n + 1}},
        {"exitConditions": {"maxHoldingCandles": n + 1}},
        {"riskParameters": {"maxDailyLoss": n + 1}},
        {"executionSettings": {"initialCapital": 100_000 + n}},
    )
    return steps[n % len(steps)]


@pytest.mark.django_db(transaction=True)
def test_concurrent_updates_leave_no_gap_and_keep_each_saved_state(api: Api) -> None:
    owner = make.user()
    algorithm = make.algorithm(owner, **make.steps())
    clients = [api(owner) for _ in range(20)]

    def put(n: int) -> dict[str, Any]:
        try:
            response = clients[n].put(f"/api/trading/algorithms/{algorithm.pk}", change(n))
            assert response.status_code == 200, response.content
            answer: dict[str, Any] = response.json()
            return answer
        finally:
            connection.close()

    with ThreadPoolExecutor(20) as pool:
        answers = list(pool.map(put, range(20)))
    kept = {row.number: row.configuration for row in algorithm.versions.all()}
    assert sorted(kept) == list(range(1, 22))
    for answer in answers:
        assert kept[answer["version"]] == {name: answer[name] for name in make.steps()}
    algorithm.refresh_from_db()
    assert (algorithm.version, algorithm.configuration) == (21, kept[21])
