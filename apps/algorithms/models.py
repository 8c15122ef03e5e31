"""Algorithms of users: their five steps, earlier versions, status history and performance."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Self

from django.db import models
from django.db.models import F, FloatField, IntegerField, JSONField, Q, TextField
from django.db.models.fields.json import KT, KeyTransform
from django.db.models.functions import Cast

from apps.algorithms.algorithm_names import MAX_NAME
from apps.algorithms.configuration import STEPS, Configuration
from apps.algorithms.lifecycle import (
    ALGORITHM_TRANSITIONS,
    AlgorithmStatus,
    AlgorithmTransition,
)
from apps.algorithms.performance import paper_performance
from apps.core.database import IdField, is_id
from apps.core.errors import Code, ServiceError

__all__ = [
    "ALGORITHM_TRANSITIONS",
    "Algorithm",
    "AlgorithmNotFound",
    "AlgorithmQuerySet",
    "AlgorithmStatus",
    "AlgorithmTransition",
    "StatusChange",
    "UnsavedSteps",
    "Version",
]


class AlgorithmNotFound(ServiceError):
    """No algorithm with this id belongs to the caller.

    Archived and malformed ids get the same answer.
    """

    code = Code.ALGORITHM_NOT_FOUND
    message = "No algorithm has the id {algorithmId}."


class AlgorithmQuerySet(models.QuerySet["Algorithm"]):
    def owned_by(self, owner: models.Model) -> Self:
        """Return the owner's algorithms without archived ones."""
        return self.exclude(status=AlgorithmStatus.ARCHIVED).filter(owner_id=owner.pk)

    def open_to(self, user: models.Model) -> Self:
        """Return the algorithms that the user may copy: their own, and every public template."""
        return self.exclude(status=AlgorithmStatus.ARCHIVED).filter(
            Q(owner_id=user.pk) | Q(is_template=True, is_public=True)
        )

    def locked(self) -> Self:
        """Lock the rows against changes until the transaction ends; other rows may refer
        to them.
        """
        return self.select_for_update(no_key=True)

    def in_order(self, columns: Iterable[str]) -> Self:
        """Sort by `column` or `-column`; unknown values come last in both directions."""
        return self.order_by(
            *(
                F(name[1:]).desc(nulls_last=True)
                if name.startswith("-")
                else F(name).asc(nulls_last=True)
                for name in columns
            )
        )

    def fetch(self, algorithm_id: str) -> "Algorithm":
        """Return the algorithm with this id. Raises AlgorithmNotFound."""
        algorithm = self.filter(pk=algorithm_id).first() if is_id(algorithm_id) else None
        if algorithm is None:
            raise AlgorithmNotFound(algorithmId=algorithm_id)
        return algorithm

    def original_of(self, algorithm_id: str) -> str:
        """Return the id of the first algorithm in the chain of clones; its own id if it is not a
        clone.
        """
        sources = self.values_list("cloned_from_id", flat=True)
        while source := sources.get(pk=algorithm_id):
            algorithm_id = source
        return algorithm_id


def _performance(name: str, kind: "models.Field[Any, Any]") -> models.GeneratedField:
    """Return a generated column with one field of the performance record."""
    return models.GeneratedField(
        expression=Cast(KT(f"performance__{name}"), kind), output_field=kind, db_persist=True
    )


class Algorithm(models.Model):
    """An algorithm, with its steps stored as sent.

    Values for lists, filters and sorting are generated columns, so they always agree with the
    steps, and a list need not read the steps.
    """

    id = IdField()
    owner = models.ForeignKey("accounts.User", models.CASCADE, related_name="algorithms")
    name = models.CharField(max_length=MAX_NAME)
    number = models.BigIntegerField(
        null=True, help_text="The highest n of the names Algorithm #n that it has had"
    )
    description = models.TextField(blank=True)
    status = models.CharField(
        max_length=8,
        default=AlgorithmStatus.DRAFT.value,
        choices=[(s.value, s.value) for s in AlgorithmStatus],
    )
    active = models.BooleanField(default=False)
    version = models.PositiveIntegerField(default=1)
    rev = models.PositiveBigIntegerField(default=1, help_text="Incremented by every write")

    basic_info = JSONField(default=dict)
    position_sizing = JSONField(default=dict)
    entry_conditions = JSONField(default=dict)
    exit_conditions = JSONField(default=dict)
    risk_parameters = JSONField(default=dict)
    execution_settings = JSONField(default=dict)

    performance = JSONField(default=paper_performance.new)
    performance_at = models.DateTimeField(
        null=True, help_text="When the performance last changed; null before the first change"
    )
    alerts = JSONField(default=dict, help_text="Performance alerts by metric, as they are sent")
    last_execution = JSONField(null=True)
    walk_forward_config = JSONField(null=True)
    walk_forward_results = JSONField(default=list)
    monte_carlo_config = JSONField(null=True)
    monte_carlo_results = JSONField(null=True)

    is_template = models.BooleanField(default=False)
    is_public = models.BooleanField(default=False)
    cloned_from = models.ForeignKey("self", models.SET_NULL, null=True, related_name="clones")
    cloned_template = models.CharField(
        max_length=24, null=True, help_text="Id of the built-in template that it is a copy of"
    )
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    strategy_type = models.GeneratedField(
        expression=KT("basic_info__strategyType"), output_field=TextField(), db_persist=True
    )
    timeframe = models.GeneratedField(
        expression=KT("basic_info__timeframe"), output_field=TextField(), db_persist=True
    )
    symbols = models.GeneratedField(
        expression=KeyTransform("symbols", "basic_info"), output_field=JSONField(), db_persist=True
    )
    total_trades = _performance("totalTrades", IntegerField())
    win_rate = _performance("winRate", FloatField())
    total_profit = _performance("totalProfit", FloatField())
    profit_factor = _performance("profitFactor", FloatField())

    objects = AlgorithmQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(status__in=[status.value for status in AlgorithmStatus]),
                name="algorithm_status_is_known",
            ),
            models.CheckConstraint(
                condition=Q(status=AlgorithmStatus.ACTIVE.value, active=True)
                | ~Q(status=AlgorithmStatus.ACTIVE.value) & Q(active=False),
                name="active_flag_follows_status",
            ),
            models.CheckConstraint(
                condition=Q(is_public=False) | Q(is_template=True),
                name="only_templates_are_public",
            ),
        ]
        indexes = [
            models.Index(
                F("owner"),
                F("created_at").desc(nulls_last=True),  # as `in_order` sorts
                F("id").desc(nulls_last=True),
                name="algorithms_newest_first",
                condition=~Q(status=AlgorithmStatus.ARCHIVED.value),
            ),
            models.Index(
                F("created_at").desc(nulls_last=True),
                F("id").desc(nulls_last=True),
                name="templates_newest_first",
                condition=Q(is_template=True) & ~Q(status=AlgorithmStatus.ARCHIVED.value),
            ),
        ]

    @property
    def configuration(self) -> Configuration:
        """Return the steps as sent, keyed by wire name; backtests and runs freeze this."""
        return {wire: getattr(self, column) for wire, column in STEPS.items()}

    @property
    def source_id(self) -> str | None:
        """The id of the algorithm, or of the built-in template, that it is a copy of."""
        return self.cloned_from_id or self.cloned_template

    @property
    def performance_updated_at(self) -> datetime:
        """The time of the last change of the performance, or of the creation."""
        return self.performance_at or self.created_at

    def __str__(self) -> str:
        return f"{self.name} ({self.pk})"


class StatusChange(models.Model):
    """A change in the history of an algorithm's status; the first row is its creation.

    A row is written with the change. The database refuses later changes to it.
    """

    # Its own index on the algorithm would repeat the history's.
    algorithm = models.ForeignKey(
        Algorithm, models.CASCADE, related_name="status_changes", db_index=False
    )
    before = models.CharField(max_length=8, null=True, help_text="Null for its creation")
    after = models.CharField(max_length=8)
    actor = models.CharField(max_length=24, help_text="Id of a user, or system")
    reason = models.TextField()
    at = models.DateTimeField()

    class Meta:
        indexes = [models.Index(F("algorithm"), F("id").desc(), name="history_newest_first")]

    def __str__(self) -> str:
        return f"{self.algorithm_id}: {self.before or 'made'}, {self.after}"


class Version(models.Model):
    """The steps of an algorithm under one of its version numbers, the current one included.

    A row is written with the save that makes the version, and never changes.
    """

    # Its own index on the algorithm would repeat the constraint's.
    algorithm = models.ForeignKey(
        Algorithm, models.CASCADE, related_name="versions", db_index=False
    )
    number = models.PositiveIntegerField()
    configuration = JSONField(help_text="The steps by their wire names, as they were sent")
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["algorithm", "number"], name="one_configuration_per_version"
            ),
        ]

    @property
    def is_current(self) -> bool:
        return self.number == self.algorithm.version

    def __str__(self) -> str:
        return f"Version {self.number} of {self.algorithm_id}"


class UnsavedSteps(models.Model):
    """The steps of an algorithm as an editor last sent them, complete or not, until they are saved
    or dropped.
    """

    algorithm = models.OneToOneField(
        Algorithm, models.CASCADE, primary_key=True, related_name="unsaved_steps"
    )
    configuration = JSONField(help_text="The steps by their wire names")
    version = models.PositiveIntegerField(help_text="The version from which the editor began")
    editor = models.CharField(max_length=24, help_text="Id of the opened page that sent them")
    changed_at = models.DateTimeField(db_index=True)

    def __str__(self) -> str:
        return f"Unsaved steps of {self.algorithm_id}"
