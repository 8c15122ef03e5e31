"""Create, change, clone, delete and describe algorithms."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypedDict

from django.db import transaction
from django.db.models import Max, QuerySet

from apps.accounts.models import User
from apps.algorithms import configuration, lifecycle
from apps.algorithms.alert_readers import AlertReader, alert_readers
from apps.algorithms.algorithm_names import copy_of, number_in, numbered
from apps.algorithms.built_in_templates import (
    BUILT_IN_BY_ID,
    BUILT_IN_TEMPLATES,
    BuiltInTemplate,
)
from apps.algorithms.configuration import (
    STEPS,
    AlgorithmIncomplete,
    Configuration,
    to_fault,
    unfinished_steps,
)
from apps.algorithms.lifecycle import AlgorithmStatus, AlgorithmTransition
from apps.algorithms.models import Algorithm, StatusChange, Version
from apps.algorithms.performance.alerts import Alerts
from apps.algorithms.study_results import keep_monte_carlo, keep_walk_forward
from apps.algorithms.unsaved_steps import (
    drop_unsaved_steps,
    keep_unsaved_steps,
    purge,
    unsaved_steps,
)
from apps.algorithms.warnings import (
    names_without_alerts,
    read_symbols_without_candles,
    warnings_of,
)
from apps.core import audit, limits
from apps.core.audit import Action
from apps.core.errors import Code, Fault, InvalidInput, NotFound, ServiceError
from apps.core.limits import QuotaExceeded, Resource
from apps.core.requests import ANY_STATE, Expectation
from apps.engine.candles import TIMEFRAME_SECONDS, Sessions
from apps.engine.language import (
    Change,
    Reading,
    StepSummary,
    Strategy,
    read_strategy,
    summarize,
)
from apps.market.candles import SessionCoverage, coverage_until
from apps.market.rulebook import RuleSet, calendars_of, current_rule_set

__all__ = [
    "BUILT_IN_TEMPLATES",
    "CLONED",
    "MOST_VERSIONS",
    "STEPS",
    "AlertReader",
    "AlgorithmBusy",
    "AlgorithmIncomplete",
    "BuiltInTemplate",
    "Changes",
    "ConcurrentUpdate",
    "Configuration",
    "Review",
    "Summary",
    "WrongStatus",
    "alert_readers",
    "archive",
    "change_status",
    "clone",
    "create",
    "drop_unsaved_steps",
    "history",
    "keep_monte_carlo",
    "keep_unsaved_steps",
    "keep_walk_forward",
    "listed",
    "purge",
    "read",
    "review",
    "set_alerts",
    "summary",
    "templates",
    "to_fault",
    "unfinished_steps",
    "unsaved_steps",
    "update",
    "validate",
    "version_summary",
    "versions",
]

_LISTED: Final = (
    "id",
    "name",
    "status",
    "active",
    "strategy_type",
    "timeframe",
    "symbols",
    "total_trades",
    "win_rate",
    "total_profit",
    "profit_factor",
    "created_at",
    "updated_at",
)
"""The columns of a list; the steps are not among them and are not read for one."""
_SHOWN: Final = (*_LISTED, "description", "is_public", "owner__display_name", *STEPS.values())
"""The columns of a list of templates. It has only the names of their owners."""
CLONED: Final = (*STEPS.values(), "description", "walk_forward_config", "monte_carlo_config")
MOST_VERSIONS: Final = 200  # of one algorithm
_SYSTEM: Final = "system"
"""Who changed a status when no user did."""
RECORDED: Final = {
    AlgorithmTransition.ARCHIVE: Action.ALGORITHM_ARCHIVED,
    AlgorithmTransition.START: Action.ALGORITHM_STARTED,
    AlgorithmTransition.STOP: Action.ALGORITHM_STOPPED,
    AlgorithmTransition.PAUSE: Action.ALGORITHM_PAUSED,
    AlgorithmTransition.RESUME: Action.ALGORITHM_RESUMED,
    AlgorithmTransition.FAIL: Action.ALGORITHM_FAILED,
}
"""What a transition is on record as; a save that makes one is on record itself."""
AFTER_SAVE: Final = {
    AlgorithmTransition.COMPLETE: "all steps are complete",
    AlgorithmTransition.REOPEN: "a step is incomplete",
}
"""Why a save changes the status."""


class Changes(TypedDict, total=False):
    """The columns that a client may set; absent columns stay."""

    name: str
    description: str
    basic_info: dict[str, object]
    position_sizing: dict[str, object]
    entry_conditions: dict[str, object]
    exit_conditions: dict[str, object]
    risk_parameters: dict[str, object]
    execution_settings: dict[str, object]
    walk_forward_config: dict[str, object]
    monte_carlo_config: dict[str, object]
    is_template: bool
    is_public: bool


class AlgorithmBusy(ServiceError):
    """The algorithm is trading or may resume at any moment, so its description cannot change."""

    code = Code.FORBIDDEN
    message = "An algorithm that is {status} cannot be updated or deleted; stop it first."


class WrongStatus(ServiceError):
    """The table of transitions has none of this kind from the algorithm's status."""

    code = Code.UNPROCESSABLE_ENTITY
    message = "The algorithm is {currentStatus}; it would have to be {requiredStatus}."


class ConcurrentUpdate(ServiceError):
    """The row has changed since it was read. A caller with a lock on it never gets this error."""

    code = Code.CONFLICT
    message = "Another request has changed the algorithm at the same moment; read it and try again."


@limits.counted_by(Resource.ALGORITHMS)
def _algorithm_count(owner_id: str) -> int:
    return (
        Algorithm.objects.filter(owner_id=owner_id).exclude(status=AlgorithmStatus.ARCHIVED).count()
    )


@limits.counted_by(Resource.ACTIVE_ALGORITHMS)
def _active_count(owner_id: str) -> int:
    return Algorithm.objects.filter(owner_id=owner_id, active=True).count()


@transaction.atomic
def create(*, owner: User, changes: Changes, now: datetime) -> Algorithm:
    """Create an algorithm, a draft until all steps are complete.

    Raises InvalidInput, QuotaExceeded.
    """
    limits.require_room(owner.pk, Resource.ALGORITHMS)
    algorithm = Algorithm(owner=owner, created_at=now, updated_at=now)
    algorithm.name = changes.get("name") or numbered(_next_number(owner))
    _begin(algorithm, _apply(algorithm, changes), reason="created", now=now)
    actor = audit.user(owner)
    audit.record(Action.ALGORITHM_CREATED, algorithm, actor=actor, now=now, name=algorithm.name)
    return algorithm


def _next_number(owner: User) -> int:
    """Return the owner's next number; the caller has locked the owner's row."""
    highest = Algorithm.objects.filter(owner=owner).aggregate(highest=Max("number"))["highest"]
    return (highest or 0) + 1


@transaction.atomic
def clone(*, owner: User, algorithm_id: str, name: str | None, now: datetime) -> Algorithm:
    """Copy an algorithm of the owner, or a template, as a new algorithm of the owner.

    The description is copied; history and results are not. Raises AlgorithmNotFound, QuotaExceeded.
    """
    limits.require_room(owner.pk, Resource.ALGORITHMS)
    called, copied = _copied(owner, algorithm_id)
    algorithm = Algorithm(owner=owner, created_at=now, updated_at=now, **copied)
    algorithm.name = name or copy_of(called)
    algorithm.number = number_in(algorithm.name) or None
    _begin(
        algorithm,
        _transition_of_save(algorithm, sent=()),
        reason=f"cloned from {algorithm.source_id}",
        now=now,
    )
    details = {"name": algorithm.name, "from": algorithm.source_id}
    audit.record(Action.ALGORITHM_CLONED, algorithm, actor=audit.user(owner), now=now, **details)
    return algorithm


def _copied(owner: User, algorithm_id: str) -> tuple[str, dict[str, Any]]:
    """Return the name of an algorithm or template, and the columns of its copy."""
    template = BUILT_IN_BY_ID.get(algorithm_id)
    if template is not None:
        return template.name, {"cloned_template": template.id, **template.columns}
    source = Algorithm.objects.open_to(owner).fetch(algorithm_id)
    columns = {column: getattr(source, column) for column in CLONED}
    return source.name, {"cloned_from": source, **columns}


def _begin(
    algorithm: Algorithm, transition: AlgorithmTransition | None, *, reason: str, now: datetime
) -> None:
    """Store a draft, or the status that this transition leads to, with its version and history."""
    if transition is not None:
        algorithm.status = lifecycle.ALGORITHM_TRANSITIONS[transition][1]
    algorithm.save(force_insert=True)
    _keep_version(algorithm, now=now)
    _keep_change(algorithm, before=None, actor=algorithm.owner, reason=reason, now=now)


def read(*, owner: User, algorithm_id: str) -> Algorithm:
    """Return the owner's algorithm. Raises AlgorithmNotFound."""
    return Algorithm.objects.owned_by(owner).fetch(algorithm_id)


@transaction.atomic
def update(
    *,
    owner: User,
    algorithm_id: str,
    changes: Changes,
    now: datetime,
    expected: Expectation = ANY_STATE,
) -> Algorithm:
    """Replace each field and step that is sent; the row's lock prevents lost updates.

    Raises AlgorithmNotFound, AlgorithmBusy, PreconditionFailed, InvalidInput.
    """
    algorithm = _editable(owner, algorithm_id, expected)
    before, called = algorithm.configuration, algorithm.name
    transition = _apply(algorithm, changes)
    is_new_version = algorithm.configuration != before
    algorithm.version += is_new_version
    if transition is not None:
        _change_status(algorithm, transition, actor=owner, reason=AFTER_SAVE[transition], now=now)
    _write(algorithm, [*changes, "number", "version", "status"], now=now)
    if is_new_version:
        _keep_version(algorithm, now=now)
    renamed = {"name": [called, algorithm.name]} if algorithm.name != called else {}
    details = {"fields": sorted(changes), "version": algorithm.version, **renamed}
    audit.record(Action.ALGORITHM_UPDATED, algorithm, actor=audit.user(owner), now=now, **details)
    return algorithm


@transaction.atomic
def archive(
    *, owner: User, algorithm_id: str, now: datetime, expected: Expectation = ANY_STATE
) -> None:
    """Hide the algorithm from its owner, and keep it for rows that refer to it.

    Raises AlgorithmNotFound, AlgorithmBusy, PreconditionFailed.
    """
    algorithm = _editable(owner, algorithm_id, expected)
    change_status(
        algorithm=algorithm,
        transition=AlgorithmTransition.ARCHIVE,
        actor=owner,
        reason="deleted",
        now=now,
    )


@transaction.atomic
def change_status(
    *,
    algorithm: Algorithm,
    transition: AlgorithmTransition,
    actor: User | None,
    reason: str,
    now: datetime,
) -> None:
    """Change the status by the table of transitions, and write the change to the history.

    The caller has read `algorithm` in this transaction, `locked()`. Without an `actor` the service
    itself makes the change. Raises WrongStatus, ConcurrentUpdate.
    """
    before = algorithm.status
    _change_status(algorithm, transition, actor=actor, reason=reason, now=now)
    _write(algorithm, ["status", "active"], now=now)
    by = audit.SYSTEM
    if actor is not None:
        # A user who changes another user's algorithm acts as an operator.
        by = audit.user(actor) if actor.pk == algorithm.owner_id else audit.operator(actor)
    action = RECORDED.get(transition, Action.ALGORITHM_UPDATED)
    status = [before, algorithm.status]
    audit.record(action, algorithm, actor=by, now=now, status=status, reason=reason)


def _change_status(
    algorithm: Algorithm,
    transition: AlgorithmTransition,
    *,
    actor: User | None,
    reason: str,
    now: datetime,
) -> None:
    """Set the new status on the instance, and write the change to the history."""
    sources, target = lifecycle.ALGORITHM_TRANSITIONS[transition]
    before = AlgorithmStatus(algorithm.status)
    if before not in sources:
        raise WrongStatus(algorithmId=algorithm.pk, currentStatus=before, requiredStatus=sources[0])
    algorithm.status, algorithm.active = target, target is AlgorithmStatus.ACTIVE
    _keep_change(algorithm, before=before, actor=actor, reason=reason, now=now)


def _editable(owner: User, algorithm_id: str, expected: Expectation) -> Algorithm:
    algorithm = Algorithm.objects.owned_by(owner).locked().fetch(algorithm_id)
    if not lifecycle.is_editable(AlgorithmStatus(algorithm.status)):
        raise AlgorithmBusy(algorithmId=algorithm.pk, status=algorithm.status)
    expected.check(algorithm.rev)
    return algorithm


def _apply(algorithm: Algorithm, changes: Changes) -> AlgorithmTransition | None:
    """Set the changes on the instance; return the transition of its status, if any."""
    for column, value in changes.items():
        setattr(algorithm, column, value)
    algorithm.number = max(algorithm.number or 0, number_in(algorithm.name)) or None
    if algorithm.is_public and not algorithm.is_template:
        raise InvalidInput(Fault("isPublic", "needs isTemplate to be true", value=True))
    sent = [wire for wire, column in STEPS.items() if column in changes]
    return _transition_of_save(algorithm, sent=sent) if sent else None


def _transition_of_save(
    algorithm: Algorithm, *, sent: Collection[str]
) -> AlgorithmTransition | None:
    """Return the transition of a save, if any.

    Raises InvalidInput for errors in the `sent` steps.
    """
    complete = configuration.is_complete(algorithm.configuration, sent=sent)
    return lifecycle.after_save(AlgorithmStatus(algorithm.status), complete=complete)


def _write(algorithm: Algorithm, columns: Iterable[str], *, now: datetime) -> None:
    """Update the row only if it is unchanged since it was read. Raises ConcurrentUpdate."""
    rev_read = algorithm.rev
    algorithm.rev, algorithm.updated_at = rev_read + 1, now
    values = {column: getattr(algorithm, column) for column in (*columns, "rev", "updated_at")}
    if not Algorithm.objects.filter(pk=algorithm.pk, rev=rev_read).update(**values):
        raise ConcurrentUpdate(algorithmId=algorithm.pk)


def _keep_version(algorithm: Algorithm, *, now: datetime) -> None:
    """Raises QuotaExceeded."""
    if algorithm.version > MOST_VERSIONS:
        raise QuotaExceeded(resource="versions", limit=MOST_VERSIONS, used=algorithm.version - 1)
    algorithm.versions.create(
        number=algorithm.version, configuration=algorithm.configuration, created_at=now
    )


def _keep_change(
    algorithm: Algorithm,
    *,
    before: AlgorithmStatus | None,
    actor: User | None,
    reason: str,
    now: datetime,
) -> None:
    algorithm.status_changes.create(
        before=before,
        after=algorithm.status,
        actor=actor.pk if actor else _SYSTEM,
        reason=reason,
        at=now,
    )


@transaction.atomic
def set_alerts(*, owner: User, algorithm_id: str, alerts: Alerts, now: datetime) -> Algorithm:
    """Replace all alerts.

    They are not part of the description, so every status allows it, and version, ETag and time of
    update stay. Raises AlgorithmNotFound.
    """
    algorithm = Algorithm.objects.owned_by(owner).locked().fetch(algorithm_id)
    algorithm.alerts = alerts
    algorithm.save(update_fields=["alerts"])
    actor = audit.user(owner)
    audit.record(Action.ALGORITHM_UPDATED, algorithm, actor=actor, now=now, fields=["alerts"])
    return algorithm


def history(*, owner: User, algorithm_id: str) -> QuerySet[StatusChange]:
    """Return the changes of the status, newest first. Raises AlgorithmNotFound."""
    return read(owner=owner, algorithm_id=algorithm_id).status_changes.order_by("-id")


def templates(*, viewer: User) -> QuerySet[Algorithm, dict[str, Any]]:
    """Return public templates of all users and the viewer's own, newest first, as rows of SHOWN.

    Built-in templates (BUILT_IN_TEMPLATES) follow them.
    """
    rows = Algorithm.objects.open_to(viewer).filter(is_template=True)
    shown: QuerySet[Algorithm, dict[str, Any]] = rows.in_order(("-created_at", "-pk")).values(
        *_SHOWN
    )
    return shown


def versions(*, owner: User, algorithm_id: str) -> QuerySet[Version]:
    """Return the versions of the algorithm at this moment, newest first.

    A save between the count and the page shifts neither. Raises AlgorithmNotFound.
    """
    algorithm = read(owner=owner, algorithm_id=algorithm_id)
    return algorithm.versions.filter(number__lte=algorithm.version).order_by("-number")


@dataclass(frozen=True, slots=True)
class Summary:
    """A version of an algorithm in words.

    `changes` are the sentences that differ from the version `since`.
    """

    algorithm_id: str
    version: int
    steps: tuple[StepSummary, ...]
    since: int | None = None
    changes: tuple[Change, ...] = ()


def summary(*, owner: User, algorithm_id: str) -> Summary:
    """Describe the stored algorithm in words. Raises AlgorithmNotFound."""
    algorithm = read(owner=owner, algorithm_id=algorithm_id)
    return Summary(algorithm.pk, algorithm.version, summarize(algorithm.configuration))


def version_summary(
    *, owner: User, algorithm_id: str, number: int, since: int | None = None
) -> Summary:
    """Describe a version in words, with its differences from the version `since`.

    Raises AlgorithmNotFound, NotFound for the version, InvalidInput for `since`.
    """
    rows = versions(owner=owner, algorithm_id=algorithm_id)
    version = rows.filter(number=number).first()
    if version is None:
        raise NotFound
    steps = summarize(version.configuration)
    if since is None:
        return Summary(algorithm_id, number, steps)
    earlier = rows.filter(number=since).first()
    if earlier is None:
        raise InvalidInput(Fault("since", "is not a version of this algorithm", since))
    return Summary(
        algorithm_id, number, steps, since, Change.between(summarize(earlier.configuration), steps)
    )


def listed(
    *,
    owner: User,
    statuses: Collection[str] = (),
    strategy_type: str | None = None,
    ordering: tuple[str, ...],
) -> QuerySet[Algorithm, dict[str, Any]]:
    """Return the owner's algorithms as rows of `_LISTED`, with these statuses or, without
    any, all.
    """
    rows = Algorithm.objects.owned_by(owner).in_order(ordering)
    if statuses:
        rows = rows.filter(status__in=statuses)
    if strategy_type:
        rows = rows.filter(strategy_type=strategy_type)
    listed_rows: QuerySet[Algorithm, dict[str, Any]] = rows.values(*_LISTED)
    return listed_rows


@dataclass(frozen=True, slots=True)
class Review:
    """The problems that keep a stored algorithm from running, and warnings."""

    missing: tuple[str, ...]
    errors: tuple[Fault, ...]
    warnings: tuple[Fault, ...]
    coverage: tuple[SessionCoverage, ...] = ()

    @property
    def valid(self) -> bool:
        return not self.errors


def validate(*, owner_id: str, steps: Configuration, now: datetime) -> Review:
    """Review steps, the stored history of their symbols, and the owner's alerts."""
    reading = read_strategy(steps)
    if reading.strategy is None:
        return _unfinished(reading)
    basic, rule_set = reading.strategy.basicInfo, current_rule_set()
    calendars = calendars_of(basic.symbols, rule_set=rule_set)
    return Review(
        missing=(),
        errors=(),
        warnings=_warnings(
            reading.strategy, owner_id, now=now, rule_set=rule_set, calendars=calendars
        ),
        coverage=(
            *coverage_until(now, calendars=calendars, timeframe=basic.timeframe),
            *_coverage_of_read_symbols(reading.strategy, rule_set, now=now),
        ),
    )


def _coverage_of_read_symbols(
    strategy: Strategy, rule_set: RuleSet, *, now: datetime
) -> Iterator[SessionCoverage]:
    """Yield the coverage of the symbols that conditions read beside the traded ones, each in the
    shortest timeframe that they read.
    """
    for symbol, timeframes in strategy.read_symbols.items():
        if symbol not in strategy.basicInfo.symbols:
            shortest = min(timeframes, key=TIMEFRAME_SECONDS.__getitem__)
            calendars = calendars_of([symbol], rule_set=rule_set)
            yield from coverage_until(now, calendars=calendars, timeframe=shortest)


def missing_data(strategy: Strategy, *, owner_id: str) -> list[Fault]:
    """Return the warnings of read symbols without candles, and of alerts that never came."""
    return [
        *read_symbols_without_candles(strategy),
        *names_without_alerts(strategy, owner_id=owner_id),
    ]


def review(*, algorithm: Algorithm, now: datetime) -> Review:
    """Check the steps alone and, if they are complete, against masters and rules at `now`."""
    reading = read_strategy(algorithm.configuration)
    if reading.strategy is None:
        return _unfinished(reading)
    owner_id, rule_set = str(algorithm.owner_id), current_rule_set()
    return Review((), (), _warnings(reading.strategy, owner_id, now=now, rule_set=rule_set))


def _unfinished(reading: Reading) -> Review:
    errors = tuple(map(to_fault, reading.errors + reading.incomplete))
    return Review(tuple(unfinished_steps(reading)), errors, ())


def _warnings(
    complete: Strategy,
    owner_id: str,
    *,
    now: datetime,
    rule_set: RuleSet,
    calendars: Mapping[str, Sessions] | None = None,
) -> tuple[Fault, ...]:
    """Return the warnings of the strategy alone, then those of masters and market rules."""
    return (
        *map(to_fault, complete.warnings),
        *warnings_of(complete, owner_id=owner_id, now=now, rule_set=rule_set, calendars=calendars),
    )
