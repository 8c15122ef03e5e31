"""What users do with their algorithms: start, pause, resume and stop them.

Locks are taken in this order: kill switches, user, account, algorithms by their ids, what belongs
to them, events.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.db import transaction

from apps.accounts.models import User
from apps.algorithms.models import (
    ALGORITHM_TRANSITIONS,
    Algorithm,
    AlgorithmStatus,
    AlgorithmTransition,
)
from apps.algorithms.services import (
    AlgorithmIncomplete,
    Configuration,
    WrongStatus,
    unfinished_steps,
)
from apps.core import limits
from apps.core.errors import Code, Fault, ServiceError
from apps.core.limits import Resource
from apps.engine.language import Strategy, read_strategy
from apps.market.services import feed_warning, market_moment
from apps.trading.models import Account, EndReason, Run
from apps.trading.models.money import rupees
from apps.trading.runs import bar_streams, capital, kill_switches, start_checks
from apps.trading.runs.start_checks import StartRequest
from apps.trading.runs.status_changes import apply_change


class AlreadyActive(ServiceError):
    """The algorithm is already trading."""

    code = Code.ALGORITHM_ALREADY_ACTIVE
    message = "The algorithm is active already."


@dataclass(frozen=True, slots=True)
class StartResult:
    """A started algorithm, with warnings."""

    algorithm: Algorithm
    warnings: tuple[Fault, ...]


@transaction.atomic
def start(*, owner: User, algorithm_id: str, now: datetime) -> StartResult:
    """Start a run of the algorithm's present steps, with its share of the account.

    Raises AlgorithmNotFound, AlreadyActive, WrongStatus, AlgorithmIncomplete, then the errors of
    the kill switches, `start_checks` and `capital`.
    """
    kill_switch_rows = kill_switches.share_user_switch(owner), kill_switches.share_global_switch()
    account = capital.account_of(owner, now=now)
    algorithm = _locked(owner, algorithm_id)
    _require_startable(algorithm)
    request = StartRequest(algorithm, _strategy_of(algorithm.configuration), resumed=None)
    kill_switches.require_off(*kill_switch_rows)
    market_now = market_moment(now=now)
    warnings = start_checks.check_symbols(request, now=market_now)
    start_checks.check_loss(request, now=market_now)
    start_checks.check_positions(request)
    required = rupees(request.strategy.executionSettings.initialCapital)
    limits.check_room(owner.pk, Resource.ACTIVE_ALGORITHMS)
    capital.reserve(account, required)
    start_checks.check_broker(request)
    run = _begin_run(request, account, required, now)
    bar_streams.subscribe(run, request.strategy, since=int(market_now.timestamp()))
    apply_change(
        AlgorithmTransition.START, algorithm, run=run, actor=owner, reason="started", now=now
    )
    return StartResult(algorithm, (*warnings, *_feed_warnings(request, now=now)))


def _feed_warnings(request: StartRequest, *, now: datetime) -> Iterator[Fault]:
    """Yield a warning if no feed brings the prices of the traded symbols."""
    if warning := feed_warning(request.strategy.basicInfo.symbols, now=now):
        yield Fault("basicInfo.symbols", warning)


def _locked(owner: User, algorithm_id: str) -> Algorithm:
    return Algorithm.objects.owned_by(owner).locked().fetch(algorithm_id)


def _require_startable(algorithm: Algorithm) -> None:
    if algorithm.status == AlgorithmStatus.ACTIVE:
        raise AlreadyActive(algorithmId=algorithm.pk, currentStatus=algorithm.status)
    if algorithm.status not in ALGORITHM_TRANSITIONS[AlgorithmTransition.START][0]:
        missing = unfinished_steps(read_strategy(algorithm.configuration))
        raise _wrong_status(algorithm, AlgorithmTransition.START, missingFields=missing)


def _wrong_status(
    algorithm: Algorithm, transition: AlgorithmTransition, **details: object
) -> WrongStatus:
    """Return the error of the transition, for checks before it."""
    return WrongStatus(
        algorithmId=algorithm.pk,
        currentStatus=algorithm.status,
        requiredStatus=ALGORITHM_TRANSITIONS[transition][0][0],
        **details,
    )


def _strategy_of(configuration: Configuration) -> Strategy:
    """Read the steps, which may be invalid by now. Raises AlgorithmIncomplete."""
    reading = read_strategy(configuration)
    if reading.strategy is None:
        raise AlgorithmIncomplete(missingFields=unfinished_steps(reading))
    return reading.strategy


def _begin_run(request: StartRequest, account: Account, required: Decimal, now: datetime) -> Run:
    algorithm = request.algorithm
    return Run.objects.create(
        algorithm=algorithm,
        account=account,
        algorithm_version=algorithm.version,
        configuration=algorithm.configuration,
        mode=request.strategy.executionSettings.mode,
        capital=required,
        started_at=now,
    )


@transaction.atomic
def resume(*, owner: User, algorithm_id: str, now: datetime) -> StartResult:
    """Resume a paused algorithm, with its capital and positions.

    Raises AlgorithmNotFound, WrongStatus, then the errors of the kill switches and `start_checks`.
    """
    kill_switch_rows = kill_switches.share_user_switch(owner), kill_switches.share_global_switch()
    algorithm = _locked(owner, algorithm_id)
    if algorithm.status not in ALGORITHM_TRANSITIONS[AlgorithmTransition.RESUME][0]:
        raise _wrong_status(algorithm, AlgorithmTransition.RESUME)
    run = algorithm.runs.live().get()
    kill_switches.require_off(*kill_switch_rows)
    request = StartRequest(algorithm, _strategy_of(run.configuration), resumed=run)
    market_now = market_moment(now=now)
    warnings = start_checks.check_symbols(request, now=market_now)
    start_checks.check_loss(request, now=market_now)
    start_checks.check_positions(request)
    start_checks.check_broker(request)
    run.close_requested_at = None
    run.save(update_fields=["close_requested_at"])
    bar_streams.note_resume(run, at=int(market_now.timestamp()))
    apply_change(
        AlgorithmTransition.RESUME, algorithm, run=run, actor=owner, reason="resumed", now=now
    )
    return StartResult(algorithm, (*warnings, *_feed_warnings(request, now=now)))


@transaction.atomic
def pause(*, owner: User, algorithm_id: str, now: datetime) -> Algorithm:
    """Stop the algorithm's entries; its positions keep their exits.

    Raises AlgorithmNotFound, WrongStatus.
    """
    algorithm = _locked(owner, algorithm_id)
    run = algorithm.runs.live().first()
    apply_change(
        AlgorithmTransition.PAUSE, algorithm, run=run, actor=owner, reason="paused", now=now
    )
    return algorithm


@transaction.atomic
def stop(*, owner: User, algorithm_id: str, close_positions: bool, now: datetime) -> Algorithm:
    """End the algorithm's run.

    Its capital is released when it holds nothing: at once, after its positions are closed or,
    without `close_positions`, after their exits. Raises AlgorithmNotFound, WrongStatus.
    """
    account = capital.account_of(owner, now=now)
    algorithm = _locked(owner, algorithm_id)
    run = algorithm.runs.holding().first()
    if run is not None:
        run.close_requested_at = (run.close_requested_at or now) if close_positions else None
        _end(run, EndReason.STOPPED, account, now)
    apply_change(
        AlgorithmTransition.STOP, algorithm, run=run, actor=owner, reason="stopped", now=now
    )
    return algorithm


def stop_all(*, owner: User, now: datetime) -> None:
    """Stop every algorithm that can be stopped, each in its own transaction, and close its
    positions.
    """
    stoppable = ALGORITHM_TRANSITIONS[AlgorithmTransition.STOP][0]
    running = Algorithm.objects.owned_by(owner).filter(status__in=stoppable)
    for algorithm_id in running.order_by("pk").values_list("pk", flat=True):
        with suppress(WrongStatus):  # it was stopped in the meantime
            stop(owner=owner, algorithm_id=algorithm_id, close_positions=True, now=now)


@transaction.atomic
def fail(*, algorithm: Algorithm, reason: str, now: datetime) -> Algorithm:
    """Put the algorithm in error; its positions keep their exits. Raises WrongStatus."""
    account = capital.account_of(algorithm.owner, now=now)
    locked = _locked(algorithm.owner, algorithm.pk)
    run = locked.runs.live().first()
    if run is not None:
        _end(run, EndReason.ERROR, account, now)
    apply_change(AlgorithmTransition.FAIL, locked, run=run, actor=None, reason=reason, now=now)
    return locked


def _end(run: Run, reason: EndReason, account: Account, now: datetime) -> None:
    run.end(reason, now=now)
    if not run.positions.open().exists():
        capital.release_capital(account, run, now=now)
        bar_streams.unsubscribe(run, now=now)
    run.save(update_fields=["close_requested_at", "ended_at", "end_reason", "released_at"])


def release_run(*, run: Run, now: datetime) -> None:
    """Release the capital of an ended run that holds nothing. The caller has locked the account."""
    capital.release_capital(run.account, run, now=now)
    bar_streams.unsubscribe(run, now=now)
    run.save(update_fields=["released_at"])
