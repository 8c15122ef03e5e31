"""What can be done with a backtest from outside: ask for one, read it, cancel, rename, delete; and
what operators can do with anybody's.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db import transaction

from apps.accounts.models import User
from apps.algorithms.models import Algorithm
from apps.algorithms.services import configuration
from apps.algorithms.steps import AlgorithmIncomplete, told, unfinished
from apps.backtests import asking, enough, results, turns
from apps.backtests.kinds import Kind
from apps.backtests.lifecycle import ENDED, Move, Status
from apps.backtests.models import Backtest
from apps.backtests.span import Span
from apps.core import audit, request_id
from apps.core.audit import Action
from apps.core.errors import Code, Fault, InvalidInput, ServiceError
from apps.engine.errors import Fault as EngineFault
from apps.engine.language import strategy as engine
from apps.engine.studies.configs import (
    Config,
    MonteCarloConfig,
    OptimizationConfig,
    WalkForwardConfig,
)

MOST_QUEUED: Final = 20
"""Of one user."""
MOST_WAITING: Final = 10_000
"""Of all users."""
RETRY_SECONDS: Final = 5

Steps = Mapping[str, Mapping[str, Any]]
"""Any: JSON as the client wrote it."""

# What a backtest may override of its algorithm, and where in the steps each stands.
OVERRIDES: Final[Mapping[str, tuple[str, str]]] = {
    "symbols": ("basicInfo", "symbols"),
    "timeframe": ("basicInfo", "timeframe"),
    "initialCapital": ("executionSettings", "initialCapital"),
    "slippage": ("executionSettings", "slippage"),
    "charges": ("executionSettings", "charges"),
}


class TooManyQueued(ServiceError):
    """The user's backtests that wait are as many as a user may have."""

    code = Code.TOO_MANY_REQUESTS
    message = "{limit} of your backtests are queued, which is the most; try again when one has run."


class QueueFull(ServiceError):
    """More wait, of all users together, than can be done soon."""

    code = Code.SERVICE_UNAVAILABLE
    message = "The queue of backtests is full; please try again later."


class BacktestRunning(ServiceError):
    """It waits or runs; only what has ended can be renamed or deleted."""

    code = Code.BACKTEST_RUNNING
    message = "A backtest that is {currentStatus} cannot be renamed or deleted; cancel it first."


class BacktestEnded(ServiceError):
    """There is nothing left to cancel."""

    code = Code.UNPROCESSABLE_ENTITY
    message = (
        "The backtest is {currentStatus}; only one that is queued or running can be cancelled."
    )


class BacktestNotFailed(ServiceError):
    """There is nothing to try again."""

    code = Code.UNPROCESSABLE_ENTITY
    message = "The backtest is {currentStatus}; only one that failed can be tried again."


@dataclass(frozen=True, slots=True)
class Submission:
    """What a client asked for; `overrides` and `configs` (of studies) by their wire names."""

    algorithm_id: str
    span: Span
    kind: Kind
    name: str
    overrides: Mapping[str, object]
    configs: asking.Sent


@transaction.atomic
def submit(*, owner: User, submission: Submission, seed: int, now: datetime) -> Backtest:
    """Freeze the algorithm as it is now and give its simulation a turn, both or neither.

    `seed` is for what is drawn at random, unless the study names its own.
    """
    algorithm = Algorithm.objects.owned_by(owner).fetch(submission.algorithm_id)
    stored = configuration(algorithm)
    steps = _overridden(stored, submission.overrides)
    strategy = _parsed(steps, stored, submission.overrides)
    config = asking.config_of(
        submission.kind, sent=submission.configs, own=_own_configs(algorithm), steps=steps
    )
    enough.require_data(strategy, submission.span)
    enough.require_coverage(strategy, submission.span, now=now)
    if isinstance(config, WalkForwardConfig):
        enough.require_sessions(strategy, submission.span, config)
    _require_room(owner)
    backtest = Backtest.objects.create(
        owner=owner,
        algorithm=algorithm,
        algorithm_version=algorithm.version,
        name=submission.name,
        kind=submission.kind,
        configuration=steps,
        study=config and config.model_dump(mode="json", by_alias=True, exclude_none=True),
        symbols=list(strategy.basicInfo.symbols),
        timeframe=strategy.basicInfo.timeframe,
        start_date=submission.span.start_text,
        end_date=submission.span.end_text,
        start=submission.span.start,
        end=submission.span.end,
        initial_capital=round(strategy.executionSettings.initialCapital, 2),  # whole paise
        seed=_seed_of(config, seed),
        request_id=request_id.current(),
        status=Status.QUEUED,
        created_at=now,
    )
    turns.grant()
    audit.record(
        Action.BACKTEST_SUBMITTED,
        backtest,
        actor=audit.user(owner),
        now=now,
        algorithm=algorithm.pk,
        version=algorithm.version,
        kind=backtest.kind,
    )
    return backtest


def _own_configs(algorithm: Algorithm) -> asking.Sent:
    return {
        "walkForwardConfig": algorithm.walk_forward_config,
        "monteCarloConfig": algorithm.monte_carlo_config,
    }


def _seed_of(config: Config | None, drawn: int) -> int:
    if isinstance(config, MonteCarloConfig | OptimizationConfig) and config.seed is not None:
        return config.seed
    return drawn


def _require_room(owner: User) -> None:
    """The owner's row makes concurrent submissions wait for each other."""
    User.objects.select_for_update(no_key=True).get(pk=owner.pk)
    waiting = Backtest.objects.waiting()
    if waiting.owned_by(owner).count() >= MOST_QUEUED:
        raise TooManyQueued(limit=MOST_QUEUED, retryAfter=RETRY_SECONDS)
    if waiting.count() >= MOST_WAITING:
        raise QueueFull(retryAfter=RETRY_SECONDS)


def _overridden(steps: Steps, overrides: Mapping[str, object]) -> dict[str, dict[str, Any]]:
    """Any: as of Steps."""
    changed = {name: dict(step) for name, step in steps.items()}
    for name, value in overrides.items():
        step, field = OVERRIDES[name]
        changed[step][field] = value
    return changed


def _parsed(steps: Steps, stored: Steps, overrides: Mapping[str, object]) -> engine.Strategy:
    """The strategy of the steps; a fault in an override, or by one, is the client's, anything else
    is the algorithm's.
    """
    reading = engine.read(steps)
    found = (*reading.faults, *reading.incomplete)
    faults = [fault for fault in (_of_override(one, overrides) for one in found) if fault]
    if reading.faults and not faults:
        faults = _by_override(stored, overrides)
    if faults:
        raise InvalidInput(*faults)
    if reading.strategy is None:
        raise AlgorithmIncomplete(missingFields=unfinished(reading))
    return reading.strategy


def _of_override(found: EngineFault, overrides: Iterable[str]) -> Fault | None:
    fault = told(found)
    for name in overrides:
        path = ".".join(OVERRIDES[name])
        if fault.field == path or fault.field.startswith(path + "["):
            return Fault(name + fault.field[len(path) :], fault.message, fault.value, fault.allowed)
    return None


def _by_override(stored: Steps, overrides: Mapping[str, object]) -> list[Fault]:
    """What an override makes wrong elsewhere: a timeframe that those of indicators are not longer
    than.
    """
    before = {fault.field for fault in engine.read(stored).faults}
    return [
        Fault(name, found.message, value)
        for name, value in overrides.items()
        for found in engine.read(_overridden(stored, {name: value})).faults
        if found.field not in before
    ]


def read(*, owner: User, backtest_id: str) -> Backtest:
    """Raises BacktestNotFound."""
    return Backtest.objects.owned_by(owner).fetch(backtest_id)


@transaction.atomic
def cancel(*, owner: User, backtest_id: str, now: datetime) -> Backtest:
    """End one that waits or runs; its worker notices within a second and writes nothing more.

    Raises BacktestNotFound, BacktestEnded.
    """
    backtest = _cancel(_locked(owner, backtest_id), now=now)
    audit.record(Action.BACKTEST_CANCELLED, backtest, actor=audit.user(owner), now=now)
    return backtest


def _cancel(backtest: Backtest, *, now: datetime) -> Backtest:
    if not Backtest.objects.attempt(backtest).move(Move.CANCEL, completed_at=now):
        raise BacktestEnded(backtestId=backtest.pk, currentStatus=backtest.status)
    backtest.refresh_from_db()
    return backtest


@transaction.atomic
def rename(*, owner: User, backtest_id: str, name: str, now: datetime) -> Backtest:
    """Raises BacktestNotFound, BacktestRunning."""
    backtest = _ended(owner, backtest_id)
    before, backtest.name = backtest.name, name
    backtest.save(update_fields=["name"])
    actor = audit.user(owner)
    audit.record(Action.BACKTEST_RENAMED, backtest, actor=actor, now=now, name=[before, name])
    return backtest


@transaction.atomic
def delete(*, owner: User, backtest_id: str, now: datetime) -> None:
    """It and its result, for good. Raises BacktestNotFound, BacktestRunning."""
    backtest = _ended(owner, backtest_id)
    actor = audit.user(owner)
    audit.record(Action.BACKTEST_DELETED, backtest, actor=actor, now=now, name=backtest.name)
    backtest.delete()


def _ended(owner: User, backtest_id: str) -> Backtest:
    backtest = _locked(owner, backtest_id)
    if backtest.status not in ENDED:
        raise BacktestRunning(backtestId=backtest.pk, currentStatus=backtest.status)
    return backtest


def _locked(owner: User, backtest_id: str) -> Backtest:
    """Nobody else moves it until the transaction ends."""
    return Backtest.objects.owned_by(owner).select_for_update(no_key=True).fetch(backtest_id)


def trades(
    *, owner: User, backtest_id: str, symbol: str | None, rows: slice
) -> tuple[list[dict[str, object]], int]:
    """Some of the trades, or of a symbol's, in the order of their exits, and how many there are.

    None before the backtest is completed. Raises BacktestNotFound, InvalidInput.
    """
    backtest = read(owner=owner, backtest_id=backtest_id)
    if symbol is None:
        return results.trades(backtest, rows)
    return results.trades_of(backtest, symbol, rows)


def equity(*, owner: User, backtest_id: str, points: int) -> list[dict[str, object]]:
    """The curve in at most `points` buckets that keep their low, high and drawdown (rule 15)."""
    return results.equity(read(owner=owner, backtest_id=backtest_id), points)


# --------------------------------------------------------------------------------- for operators


@transaction.atomic
def cancel_for_operator(
    *, backtest_id: str, operator: audit.Actor, reason: str, now: datetime
) -> Backtest:
    """Raises BacktestNotFound, BacktestEnded."""
    backtest = _cancel(_locked_of_anybody(backtest_id), now=now)
    audit.record(Action.BACKTEST_CANCELLED, backtest, actor=operator, now=now, reason=reason)
    return backtest


@transaction.atomic
def retry(*, backtest_id: str, operator: audit.Actor, reason: str, now: datetime) -> Backtest:
    """Queue one that failed, as it was asked for. Its attempts count on; the workers it has cost
    are forgiven. Raises BacktestNotFound, BacktestNotFailed.
    """
    backtest = _locked_of_anybody(backtest_id)
    before = {"error": backtest.error, "losses": backtest.losses}
    again = Backtest.objects.attempt(backtest).move(
        Move.RETRY, error=None, progress=0, losses=0, started_at=None, completed_at=None
    )
    if not again:
        raise BacktestNotFailed(backtestId=backtest.pk, currentStatus=backtest.status)
    turns.grant()
    audit.record(
        Action.BACKTEST_RETRIED, backtest, actor=operator, now=now, reason=reason, before=before
    )
    backtest.refresh_from_db()
    return backtest


def _locked_of_anybody(backtest_id: str) -> Backtest:
    return Backtest.objects.select_for_update(no_key=True).fetch(backtest_id)
