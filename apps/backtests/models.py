"""Backtests: the frozen request, the state of the run, and the result."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Final, Self

from django.db import models
from django.db.models import Count, Exists, Min, OuterRef, Q, Value

from apps.core.database import IdField, StatusQuerySet, Transition, is_id
from apps.core.errors import Code, ServiceError


class BacktestKind(StrEnum):
    """A single simulation, or a study of many."""

    BACKTEST = "backtest"
    WALK_FORWARD = "walk_forward"
    MONTE_CARLO = "monte_carlo"
    OPTIMIZATION = "optimization"


class BacktestStatus(StrEnum):
    """The states of a backtest, on the wire."""

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


# The states from which each transition may start, and the state it leads to.
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

# The id of a backtest that ends is notified on the first channel by a trigger (migration 0011), the
# id of one whose evidence is ready on the second.
BACKTEST_ENDED_CHANNEL: Final = "backtest_ended"
EVIDENCE_ENDED_CHANNEL: Final = "evidence_ended"


class BacktestNotFound(ServiceError):
    """The id is unknown or malformed, or belongs to another user."""

    code = Code.BACKTEST_NOT_FOUND
    message = "There is no such backtest."


class BacktestQuerySet(StatusQuerySet["Backtest"]):
    """Queries for backtests, and `transition`, the only way to change their status."""

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
        """Return running backtests with a last heartbeat before `moment`.

        Divided studies are left out: their shards have heartbeats.
        """
        return self.undivided().filter(status=BacktestStatus.RUNNING, heartbeat_at__lt=moment)

    def held_by(self, worker: str) -> Self:
        """Return the running backtests of a worker, without shards of studies."""
        return self.undivided().filter(status=BacktestStatus.RUNNING, worker=worker)

    def attempt(self, backtest: "Backtest") -> Self:
        """Select the backtest only while this attempt is its current one."""
        return self.filter(pk=backtest.pk, attempt=backtest.attempt)

    def undivided(self) -> Self:
        """Leave out studies that are divided into shards; the shards are in the queue
        themselves.
        """
        shards = StudyShard.objects.filter(backtest=OuterRef("pk"), attempt=OuterRef("attempt"))
        return self.filter(~Exists(shards))

    def fetch(self, backtest_id: str) -> "Backtest":
        """Return the backtest with this id. Raises BacktestNotFound."""
        backtest = self.filter(pk=backtest_id).first() if is_id(backtest_id) else None
        if backtest is None:
            raise BacktestNotFound(backtestId=backtest_id)
        return backtest


class Backtest(models.Model):
    """A simulation or a study, with its configuration frozen at submission.

    `configuration` holds the steps of the algorithm with the overrides applied, `study` the
    configuration of a study with its defaults, and `study_results` the results of the study.
    `reproduces` is the completed backtest that this one repeats, as it was submitted.

    `attempt` counts how often a worker began the backtest. Every write of a worker names its
    attempt, so a worker that was presumed lost cannot overwrite the work of the next one.
    `heartbeat_at` is the last report of the current worker, and `losses` counts the workers that
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
    reproduces = models.ForeignKey(
        "self", on_delete=models.SET_NULL, null=True, related_name="reproductions"
    )
    request_id = models.CharField(max_length=128, help_text="Id of the request that submitted it")
    status = models.CharField(max_length=10, choices=[(s.value, s.value) for s in BacktestStatus])
    progress = models.PositiveSmallIntegerField(default=0)
    attempt = models.PositiveIntegerField(default=0)
    losses = models.PositiveSmallIntegerField(default=0)
    estimated_seconds = models.FloatField(
        null=True,
        help_text="Seconds of one worker that it takes, by the speed of its kind, or as measured",
    )
    performance = models.JSONField(null=True)
    study_results = models.JSONField(null=True)
    receipt = models.JSONField(null=True)
    error = models.JSONField(null=True)
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    heartbeat_at = models.DateTimeField(null=True)
    worker = models.CharField(
        max_length=80, blank=True, db_default="", help_text="The process that began it last"
    )
    completed_at = models.DateTimeField(null=True, help_text="When it ended, whatever its status")
    is_kept = models.BooleanField(
        default=False, db_default=False, help_text="Whether its owner excludes it from retention"
    )
    expires_at = models.DateTimeField(
        null=True, help_text="When retention deletes it, as its owner was warned"
    )

    # Set only by `running.queue.next_in_queue`.
    shard_in_queue: int | None = None

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
                name="backtest_completed_study_has_results",
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
                name="backtest_running_has_a_heartbeat",
            ),
        ]

    @property
    def has_ended(self) -> bool:
        return self.status in ENDED

    def __str__(self) -> str:
        return self.name or self.pk

    def update_running(self, **changes: object) -> bool:
        """Update the row; return False if the attempt is stale."""
        running = Backtest.objects.attempt(self).filter(status=BacktestStatus.RUNNING)
        return bool(running.update(**changes))


class ShardState(StrEnum):
    """The states of a shard. Shards of a study are deleted when it ends."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"


class ShardQuerySet(models.QuerySet["StudyShard"]):
    """Queries for shards, and the selections for writes of their workers."""

    def of(self, backtest: Backtest) -> Self:
        """Select the shards of this attempt at a study."""
        return self.filter(backtest=backtest, attempt=backtest.attempt)

    def held(self, shard: "StudyShard") -> Self:
        """Select the shard only while the worker of this try still holds it."""
        return self.filter(pk=shard.pk, tries=shard.tries, state=ShardState.RUNNING)

    def held_by(self, worker: str) -> Self:
        return self.filter(state=ShardState.RUNNING, worker=worker)

    def unfinished(self) -> Self:
        return self.exclude(state=ShardState.DONE)

    def stalled_since(self, moment: datetime) -> Self:
        """Return running shards with a last heartbeat before `moment`."""
        return self.filter(state=ShardState.RUNNING, heartbeat_at__lt=moment)


class StudyShard(models.Model):
    """A part of one attempt at a study, for any worker: `count` of its items from number `first`
    on, with their scores once it is done. A shard without items is the conclusion, added when all
    others are done. `tries` counts how often a worker began it, and every write of a worker names
    its try. `losses` counts the workers that were lost while they had it.
    """

    backtest = models.ForeignKey(Backtest, on_delete=models.CASCADE, related_name="shards")
    attempt = models.PositiveIntegerField()
    number = models.PositiveIntegerField(help_text="Its place among the shards of the attempt")
    first = models.PositiveIntegerField(help_text="Number of its first set or path")
    count = models.PositiveIntegerField(help_text="Sets or paths; 0 for the conclusion")
    state = models.CharField(max_length=7, choices=[(s.value, s.value) for s in ShardState])
    tries = models.PositiveSmallIntegerField(default=0)
    losses = models.PositiveSmallIntegerField(default=0)
    started_at = models.DateTimeField(null=True)
    heartbeat_at = models.DateTimeField(null=True)
    worker = models.CharField(
        max_length=80, blank=True, db_default="", help_text="The process that began it last"
    )
    result = models.BinaryField(null=True, help_text="Scores (see results.pack_array)")

    objects = ShardQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(
                fields=["backtest", "attempt", "number"],
                condition=Q(state=ShardState.WAITING.value),
                name="study_shard_waiting",
            ),
            models.Index(
                fields=["heartbeat_at"],
                condition=Q(state=ShardState.RUNNING.value),
                name="study_shard_running",
            ),
            models.Index(fields=["started_at"], name="study_shard_started"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["backtest", "attempt", "number"], name="study_shard_is_one"
            ),
            models.CheckConstraint(
                condition=Q(state__in=[state.value for state in ShardState]),
                name="study_shard_state_is_known",
            ),
            models.CheckConstraint(
                condition=~Q(state=ShardState.RUNNING.value) | Q(heartbeat_at__isnull=False),
                name="study_shard_running_has_a_heartbeat",
            ),
            models.CheckConstraint(
                condition=~Q(state=ShardState.DONE.value) | Q(count=0) | Q(result__isnull=False),
                name="study_shard_done_has_a_result",
            ),
        ]

    def __str__(self) -> str:
        return f"shard {self.number} of {self.backtest_id}"

    def update_running(self, **changes: object) -> bool:
        """Update the row; return False if another worker has it or the study has ended."""
        return bool(StudyShard.objects.held(self).update(**changes))


class BacktestResult(models.Model):
    """The equity curve of a completed backtest as one packed array (see `results.pack_array`), its
    number of trades, its breakdowns, stored so that reading them unpacks no array, and the hashes
    of its candles by month (see `engine.simulation.receipt`). `study_chart` is the report's chart
    of a study: the heat map of an optimization, the fan of a Monte Carlo.
    """

    backtest = models.OneToOneField(
        Backtest, on_delete=models.CASCADE, primary_key=True, related_name="result"
    )
    trades = models.PositiveIntegerField(help_text="Number of trades")
    curve = models.BinaryField()
    breakdowns = models.TextField(
        null=True, help_text="JSON in the order of the response; null for older results"
    )
    candle_series = models.JSONField(null=True, help_text="Null for older results")
    study_chart = models.JSONField(null=True, help_text="Null for others, and for older results")


class TradeBlock(models.Model):
    """A block of a result's trades, in the order of their exits: a page reads few blocks."""

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


class LastDispatch(models.Model):
    """The last time when the queue began work of a user, and the seconds of workers the user had
    used by `used_at`, which halve every minute.
    """

    owner = models.OneToOneField(
        "accounts.User", on_delete=models.CASCADE, primary_key=True, related_name="+"
    )
    taken_at = models.DateTimeField()
    seconds_used = models.FloatField(db_default=0.0)
    used_at = models.DateTimeField(null=True)


class WorkSpeed(models.Model):
    """The seconds of one worker for backtests of a kind, and their units of work (see `estimates`);
    old measurements have little weight.
    """

    kind = models.CharField(max_length=20, primary_key=True)
    seconds = models.FloatField()
    units = models.FloatField()


class ReportPage(models.Model):
    """The cached report page of a completed backtest.

    `made_with` is a fingerprint of the names on the page and of the code that renders it; if it
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
    """A link that shows the report without a token, until it expires or is recalled."""

    id = IdField()
    backtest = models.ForeignKey(Backtest, on_delete=models.CASCADE, related_name="report_links")
    expires_at = models.DateTimeField(db_index=True)


class EvidenceStatus(StrEnum):
    """The states of evidence, on the wire."""

    QUEUED = "queued"
    RUNNING = "running"
    READY = "ready"
    FAILED = "failed"


class EvidenceTransition(StrEnum):
    """The changes of a status of evidence."""

    BEGIN = "begin"
    COMPLETE = "complete"
    FAIL = "fail"
    RETRY = "retry"


# Evidence that a lost worker had begun is begun again.
EVIDENCE_TRANSITIONS: Final[Mapping[EvidenceTransition, Transition]] = {
    EvidenceTransition.BEGIN: Transition(
        (EvidenceStatus.QUEUED, EvidenceStatus.RUNNING), EvidenceStatus.RUNNING
    ),
    EvidenceTransition.COMPLETE: Transition((EvidenceStatus.RUNNING,), EvidenceStatus.READY),
    EvidenceTransition.FAIL: Transition((EvidenceStatus.RUNNING,), EvidenceStatus.FAILED),
    EvidenceTransition.RETRY: Transition((EvidenceStatus.FAILED,), EvidenceStatus.QUEUED),
}


class EvidenceQuerySet(StatusQuerySet["Evidence"]):
    """Queries for evidence, and `transition`, the only way to change its status."""

    transitions = EVIDENCE_TRANSITIONS


class Evidence(models.Model):
    """The evidence on a completed backtest, made by a job on the first request.

    `document` has the verdict and the sections; `fills` are its fills as a packed array (see
    `results.pack_array`), which are charged by the rules of the requested day.
    """

    backtest = models.OneToOneField(
        Backtest, on_delete=models.CASCADE, primary_key=True, related_name="evidence"
    )
    status = models.CharField(max_length=10, choices=[(s.value, s.value) for s in EvidenceStatus])
    document = models.JSONField(null=True)
    fills = models.BinaryField(null=True)
    error = models.JSONField(null=True)
    requested_at = models.DateTimeField()
    completed_at = models.DateTimeField(null=True, help_text="When it was ready, or failed")

    objects = EvidenceQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(
                    status=EvidenceStatus.READY.value, document__isnull=False, fills__isnull=False
                )
                | ~Q(status=EvidenceStatus.READY.value) & Q(document__isnull=True),
                name="evidence_ready_has_a_document",
            ),
        ]

    @property
    def has_ended(self) -> bool:
        return self.status in (EvidenceStatus.READY, EvidenceStatus.FAILED)


class TrialRecord(models.Model):
    """The configurations that a user tried in one backtest or study: a ledger that outlives the
    backtest.

    `digest` is of the configuration, and of the sets of a study, so a repetition over the same
    range is the same row. `structure` is the hash of the steps without numbers, symbols and labels,
    and `original` the first algorithm in the chain of clones. `tried` counts the distinct
    configurations. `ratios` counts the configurations with a known Sharpe ratio over so many
    `days`, stored with their sum and sum of squares. `selected` are the hashes of the
    configurations that an optimization ranks first, and `overfitting` is the probability that this
    choice is overfitted, if known.
    """

    owner = models.ForeignKey("accounts.User", on_delete=models.CASCADE, related_name="+")
    backtest_id = models.CharField(max_length=24, help_text="It may have been deleted since")
    digest = models.CharField(max_length=64)
    structure = models.CharField(
        max_length=64, db_default="", help_text="Empty of what was deleted before it was kept"
    )
    original = models.CharField(max_length=24, db_default="", help_text="As structure")
    symbols = models.JSONField(help_text="Sorted")
    start = models.BigIntegerField(help_text="First second of the range, epoch seconds")
    end = models.BigIntegerField(help_text="First second after the range, epoch seconds")
    tried = models.PositiveIntegerField()
    ratios = models.PositiveIntegerField()
    ratio_sum = models.FloatField()
    ratio_square_sum = models.FloatField()
    days = models.PositiveIntegerField(null=True)
    selected = models.JSONField(db_default=Value([], models.JSONField()))
    overfitting = models.JSONField(null=True, help_text="See engine.studies.overfitting")
    created_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["owner", "digest", "start", "end"], name="trial_of_a_range_is_one"
            )
        ]
