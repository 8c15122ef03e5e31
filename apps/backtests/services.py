"""Submit, read, cancel, rename and delete backtests; operators can cancel and retry any."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Final

from django.db import connection, transaction

from apps.accounts.models import User
from apps.algorithms.models import Algorithm
from apps.backtests.models import (
    Backtest,
    BacktestKind,
    BacktestQuerySet,
    BacktestStatus,
    BacktestTransition,
)
from apps.backtests.retention import purge
from apps.backtests.running import estimates, queries, queue, results, sufficient_history
from apps.backtests.running.estimates import estimate_seconds
from apps.backtests.running.queue import give_up_killed, requeue_stalled
from apps.backtests.running.results import engine_notes
from apps.backtests.running.sample_notices import notice_on_result
from apps.backtests.running.submissions import (
    OVERRIDES,
    STUDY_FIELDS,
    DateRange,
    StudyConfigs,
    override_steps,
    parse_steps,
    read_date_range,
    study_config,
)
from apps.core import audit, limits, requests
from apps.core.audit import Action
from apps.core.errors import Code, ServiceError
from apps.core.limits import Resource
from apps.core.times import day_in_india
from apps.engine.results import ClosedTrade, EquityPoint
from apps.engine.studies import WalkForwardConfig
from apps.market.rulebook import current_rule_set, require_tradable

__all__ = [
    "MAX_QUEUED",
    "MAX_QUEUED_PER_USER",
    "OVERRIDES",
    "STUDY_FIELDS",
    "BacktestAlreadyEnded",
    "BacktestNotFailed",
    "BacktestRunning",
    "QueueFull",
    "TooManyQueued",
    "backtests_of",
    "cancel",
    "cancel_for_operator",
    "compose",
    "delete",
    "engine_notes",
    "enqueue_new",
    "equity",
    "estimate_seconds",
    "give_up_killed",
    "notice_on_result",
    "purge",
    "read",
    "read_date_range",
    "requeue_stalled",
    "retry",
    "submit",
    "trades",
    "update_backtest",
]

# The most queued backtests of one user, and of all users together.
MAX_QUEUED_PER_USER: Final = 20
MAX_QUEUED: Final = 10_000
_RETRY_SECONDS: Final = 5


class TooManyQueued(ServiceError):
    """The user has the maximum number of queued backtests."""

    code = Code.TOO_MANY_REQUESTS
    message = "You already have {limit} queued backtests (the maximum). Try again when one has run."


class QueueFull(ServiceError):
    """All users together have more queued backtests than the workers can run soon."""

    code = Code.SERVICE_UNAVAILABLE
    message = "The queue of backtests is full; please try again later."


class BacktestRunning(ServiceError):
    """The backtest is queued or running; it can be changed or deleted after its end."""

    code = Code.BACKTEST_RUNNING
    message = "A backtest that is {currentStatus} cannot be changed or deleted; cancel it first."


class BacktestAlreadyEnded(ServiceError):
    """The backtest has ended and cannot be cancelled."""

    code = Code.UNPROCESSABLE_ENTITY
    message = "The backtest is {currentStatus}; only a queued or running one can be cancelled."


class BacktestNotFailed(ServiceError):
    """The backtest did not fail and cannot be retried."""

    code = Code.UNPROCESSABLE_ENTITY
    message = "The backtest is {currentStatus}; only a failed one can be tried again."


@limits.counted_by(Resource.BACKTESTS)
def _backtest_count(owner_id: str) -> int:
    return Backtest.objects.filter(owner_id=owner_id).count()


@limits.counted_by(Resource.BACKTEST_BYTES)
def _backtest_bytes(owner_id: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(queries.STORED_BYTES, {"owner": owner_id})
        return int(cursor.fetchone()[0])


@transaction.atomic
def submit(
    *,
    owner: User,
    algorithm_id: str,
    date_range: DateRange,
    kind: BacktestKind,
    name: str,
    overrides: Mapping[str, object],
    configs: StudyConfigs,
    seed: int,
    now: datetime,
) -> Backtest:
    """Freeze the algorithm in its present state and enqueue its simulation, in one transaction.

    `seed` is for random draws, unless the study has its own.
    """
    backtest = compose(
        owner=owner,
        algorithm_id=algorithm_id,
        date_range=date_range,
        kind=kind,
        overrides=overrides,
        configs=configs,
        now=now,
    )
    backtest.name = name
    backtest.request_id = requests.current_request_id()
    named_seed = (backtest.study or {}).get("seed")
    backtest.seed = seed if named_seed is None else named_seed
    enqueue_new(backtest, owner=owner, now=now)
    return backtest


def compose(
    *,
    owner: User,
    algorithm_id: str,
    date_range: DateRange,
    kind: BacktestKind,
    overrides: Mapping[str, object],
    configs: StudyConfigs,
    now: datetime,
) -> Backtest:
    """Return the backtest for submission, checked and not stored.

    Raises AlgorithmNotFound, AlgorithmIncomplete, InvalidInput, SymbolNotTradable,
    InsufficientHistory, TooLittleCoverage, TooFewStoredSessions, WindowsTooShort.
    """
    algorithm = Algorithm.objects.owned_by(owner).fetch(algorithm_id)
    stored = algorithm.configuration
    steps = override_steps(stored, overrides)
    strategy = parse_steps(steps, stored, overrides)
    config = study_config(
        kind,
        requested=configs,
        stored={
            "walkForwardConfig": algorithm.walk_forward_config,
            "monteCarloConfig": algorithm.monte_carlo_config,
        },
        steps=steps,
    )
    day = day_in_india(date_range.start)
    require_tradable(strategy, rule_set=current_rule_set(), day=day)
    sufficient_history.require_bars(strategy, date_range)
    sufficient_history.require_coverage(strategy, date_range, now=now)
    if isinstance(config, WalkForwardConfig):
        sufficient_history.require_sessions(strategy, date_range, config)
    return Backtest(
        owner=owner,
        algorithm=algorithm,
        algorithm_version=algorithm.version,
        kind=kind,
        configuration=steps,
        study=config and config.model_dump(mode="json", by_alias=True, exclude_none=True),
        symbols=list(strategy.basicInfo.symbols),
        timeframe=strategy.basicInfo.timeframe,
        start_date=date_range.start_date,
        end_date=date_range.end_date,
        start=date_range.start,
        end=date_range.end,
        initial_capital=round(strategy.executionSettings.initialCapital, 2),  # whole paise
        created_at=now,
    )


def enqueue_new(backtest: Backtest, *, owner: User, now: datetime, **details: object) -> None:
    """Save a backtest and enqueue it, within the caller's transaction.

    `details` join the audit. Raises TooMuchMemory, TooManyQueued, QueueFull, QuotaExceeded,
    TooManySeconds.
    """
    estimates.require_memory(backtest)
    _require_space_in_queue(owner)
    backtest.estimated_seconds = estimate_seconds(backtest)
    estimates.require_seconds(backtest, owner=owner)
    limits.check_room(owner.pk, Resource.BACKTESTS, Resource.BACKTEST_BYTES)
    backtest.status = BacktestStatus.QUEUED
    backtest.save(force_insert=True)
    queue.enqueue()
    audit.record(
        Action.BACKTEST_SUBMITTED,
        backtest,
        actor=audit.user(owner),
        now=now,
        algorithm=backtest.algorithm_id,
        version=backtest.algorithm_version,
        kind=backtest.kind,
        **details,
    )


def _require_space_in_queue(owner: User) -> None:
    """Lock the owner's row, so that concurrent submissions of a user wait for each other.

    Raises TooManyQueued, QueueFull.
    """
    User.objects.select_for_update(no_key=True).get(pk=owner.pk)
    queued = Backtest.objects.queued()
    if queued.owned_by(owner).count() >= MAX_QUEUED_PER_USER:
        raise TooManyQueued(limit=MAX_QUEUED_PER_USER, retryAfter=_RETRY_SECONDS)
    if queued.count() >= MAX_QUEUED:
        raise QueueFull(retryAfter=_RETRY_SECONDS)


def backtests_of(
    *, owner: User, algorithm_id: str | None, status: str | None, kind: str | None
) -> BacktestQuerySet:
    """Return the user's backtests, filtered by algorithm, status and kind if given."""
    return Backtest.objects.owned_by(owner).matching(
        algorithm_id=algorithm_id, status=status, kind=kind
    )


def read(*, owner: User, backtest_id: str) -> Backtest:
    """Return the user's backtest. Raises BacktestNotFound."""
    return Backtest.objects.owned_by(owner).fetch(backtest_id)


@transaction.atomic
def cancel(*, owner: User, backtest_id: str, now: datetime) -> Backtest:
    """End a queued or running backtest; its worker notices within a second and writes no more.

    Raises BacktestNotFound, BacktestAlreadyEnded.
    """
    backtest = _cancel(_lock(owner, backtest_id), now=now)
    audit.record(Action.BACKTEST_CANCELLED, backtest, actor=audit.user(owner), now=now)
    return backtest


def _cancel(backtest: Backtest, *, now: datetime) -> Backtest:
    if not Backtest.objects.attempt(backtest).transition(
        BacktestTransition.CANCEL, completed_at=now
    ):
        raise BacktestAlreadyEnded(backtestId=backtest.pk, currentStatus=backtest.status)
    backtest.shards.all().delete()
    backtest.refresh_from_db()
    return backtest


@transaction.atomic
def update_backtest(
    *,
    owner: User,
    backtest_id: str,
    name: str | None = None,
    is_kept: bool | None = None,
    now: datetime,
) -> Backtest:
    """Rename a finished backtest, or mark it as kept; None changes nothing.

    Raises BacktestNotFound, BacktestRunning.
    """
    backtest = _lock_ended(owner, backtest_id)
    changes: dict[str, list[object]] = {}
    if name is not None:
        changes["name"] = [backtest.name, name]
        backtest.name = name
    if is_kept is not None:
        changes["kept"] = [backtest.is_kept, is_kept]
        backtest.is_kept = is_kept
        if is_kept:
            backtest.expires_at = None
    backtest.save(update_fields=["name", "is_kept", "expires_at"])
    action = Action.BACKTEST_KEPT if name is None else Action.BACKTEST_RENAMED
    audit.record(action, backtest, actor=audit.user(owner), now=now, **changes)
    return backtest


@transaction.atomic
def delete(*, owner: User, backtest_id: str, now: datetime) -> None:
    """Delete a backtest that has ended, with its result.

    Raises BacktestNotFound, BacktestRunning.
    """
    backtest = _lock_ended(owner, backtest_id)
    actor = audit.user(owner)
    audit.record(Action.BACKTEST_DELETED, backtest, actor=actor, now=now, name=backtest.name)
    backtest.delete()


def _lock_ended(owner: User, backtest_id: str) -> Backtest:
    backtest = _lock(owner, backtest_id)
    if not backtest.has_ended:
        raise BacktestRunning(backtestId=backtest.pk, currentStatus=backtest.status)
    return backtest


def _lock(owner: User, backtest_id: str) -> Backtest:
    """Return the user's backtest, locked until the transaction ends."""
    return Backtest.objects.owned_by(owner).select_for_update(no_key=True).fetch(backtest_id)


def trades(
    *, owner: User, backtest_id: str, symbol: str | None, rows: slice
) -> tuple[list[ClosedTrade], int]:
    """Return a page of the trades, or of a symbol's trades, in the order of their exits, and their
    total number; empty before the backtest is completed.

    Raises BacktestNotFound, InvalidInput.
    """
    backtest = read(owner=owner, backtest_id=backtest_id)
    if symbol is None:
        return results.trades_page(backtest, rows)
    return results.trades_page_of_symbol(backtest, symbol, rows)


def equity(*, owner: User, backtest_id: str, points: int) -> list[EquityPoint]:
    """Return the equity curve in at most `points` buckets, each with its low, high and drawdown
    (rule 15).
    """
    return results.equity_points(read(owner=owner, backtest_id=backtest_id), points)


def all_trades(*, owner: User, backtest_id: str, symbol: str | None) -> Iterator[list[ClosedTrade]]:
    """Return all trades, or all of a symbol, in blocks that are read one by one.

    Raises BacktestNotFound, InvalidInput.
    """
    backtest = read(owner=owner, backtest_id=backtest_id)
    index = None if symbol is None else results.symbol_index(symbol, backtest)
    return results.trade_blocks(backtest, index)


def whole_equity(*, owner: User, backtest_id: str) -> Iterator[list[EquityPoint]]:
    """Return the equity at every bar, in blocks. Raises BacktestNotFound."""
    return results.equity_blocks(read(owner=owner, backtest_id=backtest_id))


@transaction.atomic
def cancel_for_operator(
    *, backtest_id: str, operator: audit.Actor, reason: str, now: datetime
) -> Backtest:
    """Cancel any user's backtest. Raises BacktestNotFound, BacktestAlreadyEnded."""
    backtest = _cancel(Backtest.objects.select_for_update(no_key=True).fetch(backtest_id), now=now)
    audit.record(Action.BACKTEST_CANCELLED, backtest, actor=operator, now=now, reason=reason)
    return backtest


@transaction.atomic
def retry(*, backtest_id: str, operator: audit.Actor, reason: str, now: datetime) -> Backtest:
    """Queue any user's failed backtest again, and reset its count of lost workers.

    Raises BacktestNotFound, BacktestNotFailed.
    """
    backtest = Backtest.objects.select_for_update(no_key=True).fetch(backtest_id)
    before = {"error": backtest.error, "losses": backtest.losses}
    retried = Backtest.objects.attempt(backtest).transition(
        BacktestTransition.RETRY,
        error=None,
        progress=0,
        losses=0,
        started_at=None,
        completed_at=None,
    )
    if not retried:
        raise BacktestNotFailed(backtestId=backtest.pk, currentStatus=backtest.status)
    queue.enqueue()
    audit.record(
        Action.BACKTEST_RETRIED, backtest, actor=operator, now=now, reason=reason, before=before
    )
    backtest.refresh_from_db()
    return backtest
