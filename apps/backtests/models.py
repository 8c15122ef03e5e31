"""Backtests: the frozen request, the state of the run, and the result."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Final, Self

from django.db import models
from django.db.models import Count, Min, Q

from apps.core.errors import Code, ServiceError
from apps.core.ids import IdField, is_id
from apps.core.rows import columns_of
from apps.core.transitions import StatusQuerySet, Transition


class BacktestKind(StrEnum):
    """A single simulation, or a study that rests on many."""

    BACKTEST = "backtest"
    WALK_FORWARD = "walk_forward"
    MONTE_CARLO = "monte_carlo"
    OPTIMIZATION = "optimization"


class BacktestStatus(StrEnum):
    """The states of a backtest, as they are on the wire."""

    QUEUED = "queued"
    RUNNING = "running"
    COMPLETED = "completed"
    FAILED = "failed"
    CANCELLED = "cancelled"


class BacktestTransition(StrEnum):
    """The changes of a status."""

    BEGIN = "begin"
    COMPLETE = "complete"
    FAIL = "fail"
    REQUEUE = "requeue"
    CANCEL = "cancel"
    RETRY = "retry"


# The states that each transition starts from, and the one that it leads to.
BACKTEST_TRANSITIONS: Final[Mapping[BacktestTransition, Transition]] = {
    BacktestTransition.BEGIN: Transition((BacktestStatus.QUEUED,), BacktestStatus.RUNNING),
    BacktestTransition.COMPLETE: Transition((BacktestStatus.RUNNING,), BacktestStatus.COMPLETED),
    BacktestTransition.FAIL: Transition((BacktestStatus.RUNNING,), BacktestStatus.FAILED),
    BacktestTransition.REQUEUE: Transition((BacktestStatus.RUNNING,), BacktestStatus.QUEUED),
    BacktestTransition.CANCEL: Transition(
        (BacktestStatus.QUEUED, BacktestStatus.RUNNING), BacktestStatus.CANCELLED
    ),
    BacktestTransition.RETRY: Transition((BacktestStatus.FAILED,), BacktestStatus.QUEUED),
}

# A backtest that has ended may be renamed and deleted; only an operator can retry a failed one.
ENDED: Final = frozenset(
    {BacktestStatus.COMPLETED, BacktestStatus.FAILED, BacktestStatus.CANCELLED}
)


class BacktestNotFound(ServiceError):
    """The id is unknown, malformed or somebody else's."""

    code = Code.BACKTEST_NOT_FOUND
    message = "There is no such backtest."


class BacktestQuerySet(StatusQuerySet["Backtest"]):
    """Reads of backtests, and `transition`, the only way in which their status changes."""

    transitions = BACKTEST_TRANSITIONS

    def owned_by(self, owner: models.Model) -> Self:
        return self.filter(owner_id=owner.pk)

    def matching(self, *, algorithm_id: str | None, status: str | None, kind: str | None) -> Self:
        """Apply each filter that is not None."""
        filters = {"algorithm_id": algorithm_id, "status": status, "kind": kind}
        return self.filter(**{name: value for name, value in filters.items() if value is not None})

    def queued(self) -> Self:
        return self.filter(status=BacktestStatus.QUEUED)

    def ended(self) -> Self:
        return self.filter(status__in=ENDED)

    def queued_since(self) -> datetime | None:
        """Return when the oldest queued backtest was submitted."""
        oldest: datetime | None = self.queued().aggregate(at=Min("created_at"))["at"]
        return oldest

    def count_by_status(self) -> dict[str, int]:
        rows = self.order_by().values_list("status").annotate(n=Count("*"))
        return dict(rows)

    def stalled_since(self, moment: datetime) -> Self:
        """Return running backtests whose last heartbeat is older than `moment`."""
        return self.filter(status=BacktestStatus.RUNNING, heartbeat_at__lt=moment)

    def attempt(self, backtest: "Backtest") -> Self:
        """Select the backtest only while this attempt is its current one."""
        return self.filter(pk=backtest.pk, attempt=backtest.attempt)

    def next_in_queue(self) -> "Backtest | None":
        """Return the oldest backtest of the user who has the fewest running and, among equals, was
        served longest ago.

        A user who submits a hundred backtests delays another user's by at most the one that runs.
        """
        return next(iter(self.raw(NEXT_IN_QUEUE)), None)

    def fetch(self, backtest_id: str) -> "Backtest":
        """Return the backtest with this id. Raises BacktestNotFound."""
        backtest = self.filter(pk=backtest_id).first() if is_id(backtest_id) else None
        if backtest is None:
            raise BacktestNotFound(backtestId=backtest_id)
        return backtest


class Backtest(models.Model):
    """A simulation or a study, with its configuration frozen at submission.

    `configuration` holds the steps of the algorithm with the overrides applied, `study` the
    configuration of a study with its defaults, and `study_results` what the study computed.

    `attempt` counts how often a worker began the backtest. Every write of a worker names its
    attempt, so a worker that was presumed lost cannot overwrite the work of the next one.
    `heartbeat_at` is when the current worker last reported, and `losses` counts the workers that
    were lost while they ran the backtest.
    """

    id = IdField()
    owner = models.ForeignKey("accounts.User", on_delete=models.CASCADE, related_name="+")
    algorithm = models.ForeignKey(
        "algorithms.Algorithm", on_delete=models.CASCADE, related_name="+"
    )
    algorithm_version = models.PositiveIntegerField()
    name = models.CharField(max_length=100, blank=True)
    kind = models.CharField(max_length=20)
    configuration = models.JSONField()
    study = models.JSONField(null=True)
    symbols = models.JSONField()
    timeframe = models.CharField(max_length=3)
    start_date = models.CharField(max_length=40)
    end_date = models.CharField(max_length=40)
    start = models.BigIntegerField(help_text="First second of the range, epoch seconds")
    end = models.BigIntegerField(help_text="First second after the range, epoch seconds")
    initial_capital = models.DecimalField(max_digits=18, decimal_places=2)
    seed = models.BigIntegerField()
    request_id = models.CharField(max_length=128, help_text="Id of the request that submitted it")
    status = models.CharField(max_length=10, choices=[(s.value, s.value) for s in BacktestStatus])
    progress = models.PositiveSmallIntegerField(default=0)
    attempt = models.PositiveIntegerField(default=0)
    losses = models.PositiveSmallIntegerField(default=0)
    performance = models.JSONField(null=True)
    study_results = models.JSONField(null=True, db_column="findings")
    receipt = models.JSONField(null=True)
    error = models.JSONField(null=True)
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    heartbeat_at = models.DateTimeField(null=True, db_column="beat_at")
    completed_at = models.DateTimeField(null=True, help_text="When it ended, whatever its status")

    objects = BacktestQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["owner", "-created_at", "-id"], name="backtest_of_owner"),
            models.Index(
                fields=["owner", "created_at", "id"],
                condition=Q(status=BacktestStatus.QUEUED.value),
                name="backtest_waiting",
            ),
            models.Index(
                fields=["owner", "heartbeat_at"],
                condition=Q(status=BacktestStatus.RUNNING.value),
                name="backtest_running",
            ),
            models.Index(fields=["status"], name="backtest_by_status"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(status__in=[status.value for status in BacktestStatus]),
                name="backtest_status_is_known",
            ),
            models.CheckConstraint(
                condition=Q(kind=BacktestKind.BACKTEST.value, study__isnull=True)
                | Q(
                    kind__in=[
                        kind.value for kind in BacktestKind if kind is not BacktestKind.BACKTEST
                    ],
                    study__isnull=False,
                ),
                name="backtest_study_is_of_its_kind",
            ),
            models.CheckConstraint(
                condition=Q(
                    study__isnull=False, performance__isnull=False, study_results__isnull=False
                )
                | (Q(study__isnull=True) | Q(performance__isnull=True))
                & Q(study_results__isnull=True),
                name="backtest_completed_study_has_findings",
            ),
            models.CheckConstraint(
                condition=Q(progress__lte=100), name="backtest_progress_in_percent"
            ),
            models.CheckConstraint(
                condition=Q(status=BacktestStatus.COMPLETED.value, performance__isnull=False)
                | (~Q(status=BacktestStatus.COMPLETED.value) & Q(performance__isnull=True)),
                name="backtest_completed_has_performance",
            ),
            models.CheckConstraint(
                condition=~Q(status=BacktestStatus.RUNNING.value) | Q(heartbeat_at__isnull=False),
                name="backtest_running_has_a_beat",
            ),
        ]

    def __str__(self) -> str:
        return self.name or self.pk


class BacktestResult(models.Model):
    """The equity curve of a completed backtest as one packed array (see `results.pack_array`), its
    number of trades, and its breakdowns, which are stored so that reading them unpacks no array.
    """

    backtest = models.OneToOneField(
        Backtest, on_delete=models.CASCADE, primary_key=True, related_name="result"
    )
    trades = models.PositiveIntegerField(help_text="Number of trades")
    curve = models.BinaryField()
    breakdowns = models.TextField(
        null=True, help_text="JSON in the order of the response; null for older results"
    )


class TradeBlock(models.Model):
    """A part of a result's trades, in the order of their exits: a page reads few blocks."""

    result = models.ForeignKey(BacktestResult, on_delete=models.CASCADE, related_name="blocks")
    first = models.PositiveIntegerField(
        help_text="Index of its first trade among those of the result"
    )
    data = models.BinaryField()
    excursions = models.BinaryField(
        null=True, help_text="Excursions of each trade (see results); null for older results"
    )
    fills = models.BinaryField(
        null=True, help_text="Fill quality of each trade (see results); null for older results"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["result", "first"], name="trade_block_is_one")
        ]


# The next backtest to run, as `next_in_queue` describes it. As a queryset it would take several
# times as long to compile as to run, and each backtest waits for it.
NEXT_IN_QUEUE: Final = f"""
    SELECT {columns_of(Backtest, "backtest")} FROM backtests_backtest AS backtest WHERE id = (
        SELECT oldest.id FROM (
            SELECT DISTINCT ON (owner_id) id, owner_id, created_at FROM backtests_backtest
            WHERE status = 'queued' ORDER BY owner_id, created_at, id
        ) AS oldest
        LEFT JOIN backtests_lastturn AS served ON served.owner_id = oldest.owner_id
        ORDER BY (
            SELECT count(*) FROM backtests_backtest AS running
            WHERE running.owner_id = oldest.owner_id AND running.status = 'running'
        ), served.taken_at NULLS FIRST, oldest.created_at, oldest.id
        LIMIT 1
    )
"""


class LastDispatch(models.Model):
    """When the queue last began a backtest of a user."""

    owner = models.OneToOneField(
        "accounts.User", on_delete=models.CASCADE, primary_key=True, related_name="+"
    )
    taken_at = models.DateTimeField()

    class Meta:
        db_table = "backtests_lastturn"


class ReportPage(models.Model):
    """The cached report page of a completed backtest.

    `made_with` is a fingerprint of the names on the page and of the code that renders it; when it
    differs, the page is rendered again.
    """

    backtest = models.OneToOneField(
        Backtest, on_delete=models.CASCADE, primary_key=True, related_name="report_page"
    )
    made_with = models.CharField(max_length=64, help_text="SHA-256 (see report.page_cache)")
    html = models.BinaryField(help_text="Compressed by zlib, without the script of the charts")
    size = models.PositiveIntegerField(help_text="Bytes of html")
    made_at = models.DateTimeField()


class ReportLink(models.Model):
    """A link at which the report can be read without a token, until it expires or is recalled."""

    id = IdField()
    backtest = models.ForeignKey(Backtest, on_delete=models.CASCADE, related_name="report_links")
    expires_at = models.DateTimeField(db_index=True)
