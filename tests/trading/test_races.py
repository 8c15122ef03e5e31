"""Concurrency: one start, no rupee reserved twice, no start after the switch is on."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from decimal import Decimal
from threading import Barrier
from typing import Any, TypeVar

import pytest
from django.db import connection, transaction
from django.db.models import Sum
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.algorithms.lifecycle import AlgorithmStatus
from apps.algorithms.models import Algorithm
from apps.core import audit
from apps.core.api.resources import idempotency
from apps.core.errors import ServiceError
from apps.trading import services
from apps.trading.models import Account, GlobalSwitch, KillSwitch, Posting, Run
from apps.webhooks.models import Event
from tests import make
from tests.conftest import Api
from tests.trading.algorithm_states import NOW, start, stopped_algorithm

pytestmark = [pytest.mark.django_db(transaction=True)]
StepOutcome = TypeVar("StepOutcome")
OLGA = audit.Actor(audit.ActorKind.OPERATOR, "0" * 24)
WAITING = """
    SELECT count(*) FROM pg_stat_activity WHERE pg_backend_pid() = ANY(pg_blocking_pids(pid))
"""
ROUNDS = [
    pytest.param(10, 1, id="quick"),
    pytest.param(50, 20, marks=[pytest.mark.slow, pytest.mark.timeout(600)], id="whole"),
]


@pytest.fixture(autouse=True)
def _longer_lock_timeout(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine fifty in turn take longer than the timeout of clients."""
    monkeypatch.setattr(idempotency, "WAIT", "60s")


def at_once(work: Callable[[int], StepOutcome], times: int) -> list[StepOutcome]:
    """Return the outcomes, begun together, each on a separate connection."""
    gate = Barrier(times)

    def step(n: int) -> StepOutcome:
        try:
            connection.ensure_connection()
            gate.wait()
            return work(n)
        finally:
            connection.close()

    with ThreadPoolExecutor(times) as pool:
        return list(pool.map(step, range(times)))


def refusal_of(work: Callable[[], object]) -> str:
    """Return the code of the refusal; empty without one."""
    try:
        work()
    except ServiceError as refusal:
        return refusal.code.value
    return ""


def starts(clients: Sequence[APIClient], algorithm: Algorithm, keys: Sequence[str]) -> list[Any]:
    path = f"/api/trading/algorithms/{algorithm.pk}/start"

    def send(n: int) -> Any:
        return clients[n].post(path, headers={"Idempotency-Key": keys[n]})

    return at_once(send, len(clients))


def assert_started_once(algorithm: Algorithm) -> None:
    assert Algorithm.objects.get(pk=algorithm.pk).status == "active"
    assert algorithm.status_changes.filter(after="active").count() == 1
    assert Event.objects.filter(algorithm_id=algorithm.pk).count() == 1
    assert algorithm.runs.count() == 1


@pytest.mark.parametrize(("clients", "rounds"), ROUNDS)
def test_of_many_concurrent_requests_with_one_key_one_starts_it(
    api: Api, alice: User, clients: int, rounds: int
) -> None:
    callers = [api(alice) for _ in range(clients)]
    for _ in range(rounds):
        algorithm = stopped_algorithm(alice, initialCapital=1)
        answers = starts(callers, algorithm, ["k"] * clients)
        assert {(answer.status_code, answer.content) for answer in answers} == {
            (200, answers[0].content)
        }
        assert sum("Idempotent-Replayed" not in answer for answer in answers) == 1
        assert_started_once(algorithm)


@pytest.mark.parametrize(("clients", "rounds"), ROUNDS)
def test_of_many_concurrent_requests_with_their_own_keys_one_starts_it(
    api: Api, alice: User, clients: int, rounds: int
) -> None:
    callers = [api(alice) for _ in range(clients)]
    for _ in range(rounds):
        algorithm = stopped_algorithm(alice, initialCapital=1)
        answers = starts(callers, algorithm, [f"k{n}" for n in range(clients)])
        codes = [answer.json().get("error", {}).get("code", "") for answer in answers]
        assert sorted(codes) == [""] + ["ALGORITHM_ALREADY_ACTIVE"] * (clients - 1)
        assert_started_once(algorithm)


def test_concurrent_starts_reserve_no_more_than_the_balance() -> None:
    owner = make.user()
    algorithms = [stopped_algorithm(owner, initialCapital=1_500_000) for _ in range(10)]

    def begin(n: int) -> str:
        return refusal_of(lambda: start(algorithms[n]))

    codes = at_once(begin, len(algorithms))
    assert sorted(codes) == [""] * 6 + ["INSUFFICIENT_BALANCE"] * 4
    assert_sums_up(owner)
    assert Account.objects.get().reserved == 9_000_000


def assert_sums_up(owner: User) -> None:
    """Assert that the reservation equals the capital of runs, and the balance equals the ledger."""
    account = Account.objects.get(owner=owner)
    held = account.runs.holding().aggregate(total=Sum("capital"))["total"]
    entered = Posting.objects.filter(entry__account=account, book="cash").aggregate(
        total=Sum("amount")
    )["total"]
    assert (account.reserved, account.balance) == (held or Decimal(0), entered)


def test_an_account_is_opened_once() -> None:
    owner = make.user()
    at_once(lambda n: services.read_account(owner=owner, now=NOW), 10)
    assert Account.objects.get().entries.count() == 1


@pytest.mark.parametrize(
    "rounds", [1, pytest.param(50, marks=[pytest.mark.slow, pytest.mark.timeout(600)])]
)
def test_moves_at_once_leave_neither_gap_nor_double(rounds: int) -> None:
    owner = make.user()
    algorithms = [stopped_algorithm(owner, initialCapital=1) for _ in range(3)]
    for algorithm in algorithms:  # the switch may refuse all starts of one in the race
        services.start(owner=owner, algorithm_id=algorithm.pk, now=NOW)

    def work(n: int) -> None:
        arguments = {"owner": owner, "algorithm_id": algorithms[n % 3].pk, "now": NOW}
        verbs: list[Callable[[], object]] = [
            lambda: services.start(**arguments),
            lambda: services.pause(**arguments),
            lambda: services.resume(**arguments),
            lambda: services.stop(**arguments, close_positions=True),
            lambda: services.engage_kill_switch(
                owner=owner, reason="", close_positions=False, now=NOW
            ),
            lambda: services.release_kill_switch(owner=owner, now=NOW),
        ]
        for turn in range(len(verbs)):
            refusal_of(verbs[(n + turn) % len(verbs)])

    for _ in range(rounds):
        at_once(work, 10)
    assert_sums_up(owner)
    for algorithm in algorithms:
        events = Event.objects.filter(algorithm_id=algorithm.pk).order_by("sequence")
        changes = algorithm.status_changes.exclude(before=None).order_by("id")
        assert [event.sequence for event in events] == list(range(1, len(events) + 1))
        assert [event.data["status"] for event in events] == [change.after for change in changes]
        assert len(events) > 0


def test_no_start_commits_after_the_switch_has() -> None:
    """The start has seen the switch off and continues slowly; the switch waits, and pauses it."""
    owner = make.user()
    algorithm = stopped_algorithm(owner)
    lay_switches(owner)
    sharing = Barrier(2)

    def work(n: int) -> None:
        if n:
            sharing.wait()
            services.engage_kill_switch(owner=owner, reason="", close_positions=False, now=NOW)
            assert Algorithm.objects.get().status == AlgorithmStatus.PAUSED
        else:
            with transaction.atomic():
                services.start(owner=owner, algorithm_id=algorithm.pk, now=NOW)
                sharing.wait()
                wait_until_somebody_waits()

    at_once(work, 2)
    assert KillSwitch.objects.get().active
    assert Event.objects.count() == 2


def lay_switches(owner: User) -> None:
    """Create the switches as a first start does, so that nobody waits for another to
    create them.
    """
    KillSwitch.objects.create(owner=owner)
    GlobalSwitch.objects.create()


def wait_until_somebody_waits() -> None:
    """Wait until another connection waits for a lock of this one, ten seconds at most."""
    late = time.monotonic() + 10
    with connection.cursor() as cursor:
        waiting = 0
        while not waiting:
            assert time.monotonic() < late, "nobody waits"
            cursor.execute(WAITING)
            waiting = cursor.fetchone()[0]


@pytest.mark.parametrize("of_all", [False, True])
def test_a_start_that_waits_for_the_switch_sees_it_on(of_all: bool) -> None:
    owner = make.user()
    algorithm = stopped_algorithm(owner)
    lay_switches(owner)
    turning = Barrier(2)

    def turn_on() -> str:
        with transaction.atomic():
            if of_all:
                services.engage_global_switch(operator=OLGA, reason="", now=NOW)
            else:
                services.engage_kill_switch(owner=owner, reason="", close_positions=False, now=NOW)
            turning.wait()
            wait_until_somebody_waits()
        return ""

    def begin() -> str:
        turning.wait()
        return refusal_of(lambda: start(algorithm))

    codes = at_once(lambda n: begin() if n else turn_on(), 2)
    assert codes == ["", "SERVICE_UNAVAILABLE" if of_all else "FORBIDDEN"]
    assert not Run.objects.exists()


def test_starts_of_one_user_do_not_wait_for_another() -> None:
    """They share only a shared lock on the operators' switch."""
    alice, bob = make.user("alice"), make.user("bob")
    algorithm, algorithm_of_bob = stopped_algorithm(alice), stopped_algorithm(bob)
    lay_switches(alice)
    with transaction.atomic():
        start(algorithm)
        with ThreadPoolExecutor(1) as pool:

            def begin() -> str:
                try:
                    with connection.cursor() as cursor:
                        cursor.execute("SET lock_timeout = '1s'")
                    return str(start(algorithm_of_bob).pk)
                finally:
                    connection.close()

            assert pool.submit(begin).result(timeout=30)
