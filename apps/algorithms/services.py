"""What users do with what they have described."""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, TypedDict

from django.db import transaction
from django.db.models import Max, QuerySet

from apps.accounts.models import User
from apps.algorithms import lifecycle, steps
from apps.algorithms.lifecycle import Move, Status
from apps.algorithms.models import Algorithm, Version
from apps.algorithms.naming import number_in, numbered
from apps.algorithms.steps import STEPS, Configuration
from apps.core.errors import Code, Fault, InvalidInput, ServiceError
from apps.engine import strategy
from apps.symbols import services as symbols

LISTED: Final = (
    "id", "name", "status", "active", "strategy_type", "timeframe", "symbols",
    "total_trades", "win_rate", "total_profit", "profit_factor", "created_at", "updated_at",
)  # fmt: skip
"""The columns of a list; the steps are not among them and are not read for one."""


class Changes(TypedDict, total=False):
    """What a client may set, by column; what is absent stays."""

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
    """It trades, or may go on trading at any moment: its description stays as it is."""

    code = Code.FORBIDDEN
    message = "An algorithm that is {status} cannot be updated or deleted; stop it first."


def configuration(algorithm: Algorithm) -> Configuration:
    """The steps by their wire names, as they were sent: what a backtest freezes."""
    return {wire: getattr(algorithm, column) for wire, column in STEPS.items()}


@transaction.atomic
def create(*, owner: User, changes: Changes, now: datetime) -> Algorithm:
    """A new algorithm, a draft until all steps are complete. Raises InvalidInput."""
    algorithm = Algorithm(owner=owner, created_at=now, updated_at=now)
    algorithm.name = changes.get("name") or numbered(_next_number(owner))
    _apply(algorithm, changes)
    algorithm.save(force_insert=True)
    _keep_version(algorithm, now=now)
    return algorithm


def _next_number(owner: User) -> int:
    """One more than the owner's highest ever; the owner's row makes concurrent callers wait."""
    User.objects.select_for_update(no_key=True).get(pk=owner.pk)
    highest = Algorithm.objects.filter(owner=owner).aggregate(highest=Max("number"))["highest"]
    return (highest or 0) + 1


def read(*, owner: User, algorithm_id: str) -> Algorithm:
    """Raises AlgorithmNotFound."""
    return Algorithm.objects.owned_by(owner).fetch(algorithm_id)


@transaction.atomic
def update(*, owner: User, algorithm_id: str, changes: Changes, now: datetime) -> Algorithm:
    """Replace each field and step that is sent; the row's lock keeps concurrent updates whole.

    Raises AlgorithmNotFound, AlgorithmBusy, InvalidInput.
    """
    algorithm = _editable(owner, algorithm_id)
    before = configuration(algorithm)
    _apply(algorithm, changes)
    is_new_version = configuration(algorithm) != before
    algorithm.version += is_new_version
    _save(algorithm, [*changes, "number", "status", "version"], now=now)
    if is_new_version:
        _keep_version(algorithm, now=now)
    return algorithm


@transaction.atomic
def archive(*, owner: User, algorithm_id: str, now: datetime) -> None:
    """Gone for its owner from now on, kept for what refers to it.

    Raises AlgorithmNotFound, AlgorithmBusy.
    """
    algorithm = _editable(owner, algorithm_id)
    algorithm.status = lifecycle.MOVES[Move.ARCHIVE][1]
    _save(algorithm, ["status"], now=now)


def _editable(owner: User, algorithm_id: str) -> Algorithm:
    algorithm = Algorithm.objects.owned_by(owner).locked().fetch(algorithm_id)
    if not lifecycle.is_editable(Status(algorithm.status)):
        raise AlgorithmBusy(algorithmId=algorithm.pk, status=algorithm.status)
    return algorithm


def _apply(algorithm: Algorithm, changes: Changes) -> None:
    """Put the changes on the instance, and what follows from them."""
    for column, value in changes.items():
        setattr(algorithm, column, value)
    algorithm.number = max(algorithm.number or 0, number_in(algorithm.name)) or None
    if algorithm.is_public and not algorithm.is_template:
        raise InvalidInput(Fault("isPublic", "needs isTemplate to be true", value=True))
    sent = [wire for wire, column in STEPS.items() if column in changes]
    if sent:
        complete = steps.is_complete(configuration(algorithm), sent=sent)
        algorithm.status = lifecycle.after_save(Status(algorithm.status), complete=complete)


def _save(algorithm: Algorithm, columns: Iterable[str], *, now: datetime) -> None:
    algorithm.rev += 1
    algorithm.updated_at = now
    algorithm.save(update_fields=[*columns, "rev", "updated_at"])


def _keep_version(algorithm: Algorithm, *, now: datetime) -> None:
    algorithm.versions.create(
        number=algorithm.version, configuration=configuration(algorithm), created_at=now
    )


def versions(*, owner: User, algorithm_id: str) -> QuerySet[Version]:
    """Every configuration the algorithm has had, newest first, as of this moment: a save between
    the count and the page shifts neither. Raises AlgorithmNotFound.
    """
    algorithm = read(owner=owner, algorithm_id=algorithm_id)
    return algorithm.versions.filter(number__lte=algorithm.version).order_by("-number")


def listed(
    *, owner: User, status: str | None, strategy_type: str | None, ordering: Iterable[str]
) -> QuerySet[Algorithm, dict[str, Any]]:
    """The owner's algorithms as rows of LISTED. Any: the columns are of many types."""
    rows = Algorithm.objects.owned_by(owner)
    if status:
        rows = rows.filter(status=status)
    if strategy_type:
        rows = rows.filter(strategy_type=strategy_type)
    listed: QuerySet[Algorithm, dict[str, Any]] = rows.in_order(ordering).values(*LISTED)
    return listed


@dataclass(frozen=True, slots=True)
class Review:
    """What stands in the way of running a stored algorithm, and what is worth a second look."""

    missing: tuple[str, ...]
    errors: tuple[Fault, ...]
    warnings: tuple[Fault, ...]

    @property
    def valid(self) -> bool:
        return not self.errors


def validate(*, owner: User, algorithm_id: str, now: datetime) -> Review:
    """Judge the steps as they are stored. Raises AlgorithmNotFound."""
    found = strategy.read(configuration(read(owner=owner, algorithm_id=algorithm_id)))
    if found.strategy is None:
        errors = tuple(map(steps.told, found.faults + found.incomplete))
        return Review(found.missing, errors, ())
    warnings = tuple(map(steps.told, strategy.warnings(found.strategy)))
    return Review((), (), warnings + _doubts(found.strategy.basicInfo.symbols, now))


def _doubts(wanted: Iterable[str], now: datetime) -> tuple[Fault, ...]:
    """What the instrument master says against the symbols."""
    verdicts = symbols.check_all(symbols=wanted, now=now)
    return tuple(
        Fault(f"basicInfo.symbols[{index}]", f"{verdict.symbol} {reason}")
        for index, verdict in enumerate(verdicts)
        if (reason := _doubt(verdict))
    )


def _doubt(verdict: symbols.Verdict) -> str:
    if not verdict.tradable:
        return f"cannot be traded: {verdict.reason}"
    return "is an index: it can be simulated, not bought" if verdict.type == "index" else ""
