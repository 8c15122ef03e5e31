"""Every status with every transition: the table decides, and each change is recorded."""

from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise

import pytest
from django.db import DatabaseError, connection, transaction

from apps.accounts.models import User
from apps.algorithms import services
from apps.algorithms.lifecycle import AlgorithmStatus, AlgorithmTransition
from apps.algorithms.models import Algorithm, StatusChange
from tests import make

# Rows: where it stands. Columns: where each transition leads from there; "-" where it is refused.
TABLE = """
          complete reopen  archive  start   stop    pause  resume fail
draft     stopped  -       archived -       -       -      -      -
active    -        -       -        -       stopped paused -      error
paused    -        -       -        -       stopped -      active error
stopped   -        draft   archived active  -       -      -      -
error     -        -       archived active  stopped -      -      -
archived  -        -       -        -       -       -      -      -
"""
TRANSITIONS, *ROWS = [line.split() for line in TABLE.strip().splitlines()]
CELLS = [
    (status, transition, target)
    for status, *targets in ROWS
    for transition, target in zip(TRANSITIONS, targets, strict=True)
]
# The required status in an error message.
REQUIRED = {
    "complete": "draft",
    "reopen": "stopped",
    "archive": "stopped",
    "start": "stopped",
    "stop": "active",
    "pause": "active",
    "resume": "paused",
    "fail": "active",
}


def algorithm_in(owner: User, status: str) -> Algorithm:
    algorithm = make.algorithm(owner)
    Algorithm.objects.filter(pk=algorithm.pk).update(status=status, active=status == "active")
    return Algorithm.objects.get(pk=algorithm.pk)


def test_the_table_is_whole() -> None:
    assert len(CELLS) == len(AlgorithmStatus) * len(AlgorithmTransition)
    assert {(status, transition) for status, transition, _ in CELLS} == {
        (s, m) for s in AlgorithmStatus for m in AlgorithmTransition
    }


@pytest.mark.parametrize(("status", "transition", "target"), CELLS)
def test_a_move_leads_where_the_table_says(
    alice: User, status: str, transition: str, target: str
) -> None:
    algorithm = algorithm_in(alice, status)
    if target == "-":
        with pytest.raises(services.WrongStatus) as refusal:
            services.change_status(
                algorithm=algorithm,
                transition=AlgorithmTransition(transition),
                actor=alice,
                reason="asked",
                now=make.NOW,
            )
        assert refusal.value.details == {
            "algorithmId": algorithm.pk,
            "currentStatus": status,
            "requiredStatus": REQUIRED[transition],
        }
    else:
        services.change_status(
            algorithm=algorithm,
            transition=AlgorithmTransition(transition),
            actor=alice,
            reason="asked",
            now=make.NOW,
        )
    expected = status if target == "-" else target
    stored = Algorithm.objects.get(pk=algorithm.pk)
    assert (stored.status, stored.active) == (expected, expected == "active")
    assert stored.rev == (1 if target == "-" else 2)
    changes = list(algorithm.status_changes.order_by("id").values_list("before", "after"))
    assert changes == [(None, "draft")] + ([] if target == "-" else [(status, target)])


def test_a_move_says_who_why_and_when(alice: User) -> None:
    algorithm = algorithm_in(alice, "active")
    later = make.NOW.replace(hour=9)
    services.change_status(
        algorithm=algorithm,
        transition=AlgorithmTransition.FAIL,
        actor=None,
        reason="no bars for an hour",
        now=later,
    )
    change = algorithm.status_changes.latest("id")
    assert (change.actor, change.reason, change.at) == ("system", "no bars for an hour", later)
    algorithm.refresh_from_db()
    assert (algorithm.status, algorithm.updated_at) == ("error", later)


def test_of_two_readers_of_a_row_one_moves_it(alice: User) -> None:
    algorithm = algorithm_in(alice, "active")
    other = Algorithm.objects.get(pk=algorithm.pk)
    services.change_status(
        algorithm=algorithm,
        transition=AlgorithmTransition.PAUSE,
        actor=alice,
        reason="first",
        now=make.NOW,
    )
    with pytest.raises(services.ConcurrentUpdate):
        services.change_status(
            algorithm=other,
            transition=AlgorithmTransition.STOP,
            actor=alice,
            reason="second",
            now=make.NOW,
        )
    assert Algorithm.objects.get(pk=algorithm.pk).status == "paused"
    assert not StatusChange.objects.filter(reason="second").exists()


@pytest.mark.django_db(transaction=True)
def test_concurrent_saves_leave_one_unbroken_history() -> None:
    owner = make.user()
    algorithm = make.algorithm(owner, **make.steps())

    def save(n: int) -> None:
        changes: services.Changes = {"basic_info": make.steps()["basicInfo"] if n % 2 else {}}
        try:
            services.update(owner=owner, algorithm_id=algorithm.pk, changes=changes, now=make.NOW)
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(save, range(24)))
    changes = list(algorithm.status_changes.order_by("id"))
    assert changes[0].before is None
    assert all(earlier.after == other.before for earlier, other in pairwise(changes))
    algorithm.refresh_from_db()
    assert changes[-1].after == algorithm.status
    assert algorithm.rev == 25


def test_the_history_is_never_rewritten(alice: User) -> None:
    algorithm = make.algorithm(alice)
    with pytest.raises(DatabaseError, match="never rewritten"), transaction.atomic():
        algorithm.status_changes.update(reason="nothing happened")
    with pytest.raises(DatabaseError, match="never rewritten"), transaction.atomic():
        algorithm.status_changes.get().save()
    assert algorithm.status_changes.get().reason == "created"


def test_the_history_goes_with_its_algorithm(alice: User) -> None:
    make.algorithm(alice).delete()
    assert not StatusChange.objects.exists()


def test_a_page_of_the_history_is_read_off_an_index(alice: User) -> None:
    rows = make.algorithm(alice).status_changes.order_by("-id")
    with connection.cursor() as cursor:
        for scan in ("enable_seqscan", "enable_bitmapscan", "enable_sort"):
            cursor.execute(f"SET LOCAL {scan} = off")
    plan = rows[:20].explain()
    assert "history_newest_first" in plan
    assert "Sort" not in plan
