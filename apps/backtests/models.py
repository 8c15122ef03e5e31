"""Backtests: the frozen request, the state of the run, and the result."""

from collections.abc import Mapping
from datetime import datetime
from enum import StrEnum
from typing import Final, Self

from django.db import models
from django.db.models import Count, Exists, Min, OuterRef, Q, Value

from apps.core.database import IdField, StatusQuerySet, Transition, columns_of, is_id
from apps.core.errors import Code, ServiceError


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

# The id of a backtest that ends is notified on the first channel by a trigger (migration 0011), the
# id of one whose evidence is ready on the second.
BACKTEST_ENDED_CHANNEL: Final = "backtest_ended"
EVIDENCE_ENDED_CHANNEL: Final = "evidence_ended"


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
        """Return running backtests whose last heartbeat is older than `moment`. A divided study has
        none: its shards do.
        """
        return self.undivided().filter(status=BacktestStatus.RUNNING, heartbeat_at__lt=moment)

    def held_by(self, worker: str) -> Self:
        """Return what a worker runs, but for the shards of studies."""
        return self.undivided().filter(status=BacktestStatus.RUNNING, worker=worker)

    def attempt(self, backtest: "Backtest") -> Self:
        """Select the backtest only while this attempt is its current one."""
        return self.filter(pk=backtest.pk, attempt=backtest.attempt)

    def undivided(self) -> Self:
        """Leave out studies that are divided into shards, which are in the queue themselves."""
        shards = StudyShard.objects.filter(backtest=OuterRef("pk"), attempt=OuterRef("attempt"))
        return self.filter(~Exists(shards))

    def next_in_queue(self) -> "Backtest | None":
        """Return what a free worker does next; `shard_in_queue` is the shard if it is one.

        It is that of the user whose work fewest workers do, and among equals of the one who has
        used fewest seconds of them lately: a plain backtest, else a shard of a running study, else
        a queued study. A plain backtest that two shards went before since its user was served
        comes before all.
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

    `reproduces` is the completed backtest that this one runs again, as that was submitted.

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
    study_results = models.JSONField(null=True, db_column="findings")
    receipt = models.JSONField(null=True)
    error = models.JSONField(null=True)
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    heartbeat_at = models.DateTimeField(null=True, db_column="beat_at")
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

    # Set by `next_in_queue` alone.
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

    @property
    def has_ended(self) -> bool:
        return self.status in ENDED

    def __str__(self) -> str:
        return self.name or self.pk

    def update_running(self, **changes: object) -> bool:
        """Update the row; return False when the attempt is stale."""
        running = Backtest.objects.attempt(self).filter(status=BacktestStatus.RUNNING)
        return bool(running.update(**changes))


class ShardState(StrEnum):
    """The states of a shard; those of a study that has ended are deleted."""

    WAITING = "waiting"
    RUNNING = "running"
    DONE = "done"


class ShardQuerySet(models.QuerySet["StudyShard"]):
    """Reads of shards, and the selections that their workers write by."""

    def of(self, backtest: Backtest) -> Self:
        """Select the shards of this attempt at a study."""
        return self.filter(backtest=backtest, attempt=backtest.attempt)

    def held(self, shard: "StudyShard") -> Self:
        """Select the shard only while the worker that began this try still has it."""
        return self.filter(pk=shard.pk, tries=shard.tries, state=ShardState.RUNNING)

    def held_by(self, worker: str) -> Self:
        return self.filter(state=ShardState.RUNNING, worker=worker)

    def unfinished(self) -> Self:
        return self.exclude(state=ShardState.DONE)

    def stalled_since(self, moment: datetime) -> Self:
        """Return running shards whose last heartbeat is older than `moment`."""
        return self.filter(state=ShardState.RUNNING, heartbeat_at__lt=moment)


class StudyShard(models.Model):
    """A part of one attempt at a study, for any worker: `count` of its items from number `first`
    on, and the scores of these once it is done. The one without items, added when all others are
    done, is the conclusion.

    `tries` counts how often a worker began it, and every write of a worker names its try. `losses`
    counts the workers that were lost while they had it.
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
                name="study_shard_running_has_a_beat",
            ),
            models.CheckConstraint(
                condition=~Q(state=ShardState.DONE.value) | Q(count=0) | Q(result__isnull=False),
                name="study_shard_done_has_a_result",
            ),
        ]

    def __str__(self) -> str:
        return f"shard {self.number} of {self.backtest_id}"

    def update_running(self, **changes: object) -> bool:
        """Update the row; return False when another worker has it or the study has ended."""
        return bool(StudyShard.objects.held(self).update(**changes))


class BacktestResult(models.Model):
    """The equity curve of a completed backtest as one packed array (see `results.pack_array`), its
    number of trades, its breakdowns, which are stored so that reading them unpacks no array, and
    the hashes of its candles by month (see `engine.simulation.receipt`). `study_chart` is what the
    report draws of a study: the heat map of an optimization, the fan of a Monte Carlo.
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


# Seconds of workers that a user has used; half of them are forgotten every minute.
RECENT_SECONDS: Final = """
    seconds_used * power(0.5, least(extract(epoch FROM now() - used_at)::float8 / 60, 100))
"""

# What a free worker does next, as `next_in_queue` describes it. As a queryset it would take several
# times as long to compile as to run, and each backtest waits for it.
NEXT_IN_QUEUE: Final = f"""
    WITH candidate AS (
        SELECT DISTINCT ON (owner_id) id, owner_id, created_at, kind, shard_id FROM (
            SELECT id, owner_id, created_at, kind, NULL::bigint AS shard_id,
                CASE kind WHEN 'backtest' THEN 0 ELSE 2 END AS place
            FROM backtests_backtest WHERE status = 'queued'
            UNION ALL
            SELECT study.id, study.owner_id, study.created_at, study.kind, shard.id, 1
            FROM backtests_backtest AS study CROSS JOIN LATERAL (
                SELECT id FROM backtests_studyshard
                WHERE backtest_id = study.id AND attempt = study.attempt AND state = 'waiting'
                ORDER BY number LIMIT 1
            ) AS shard
            WHERE study.status = 'running'
        ) AS work
        ORDER BY owner_id, place, created_at, id
    ), busy AS (
        SELECT owner_id, count(*) AS workers FROM (
            SELECT owner_id FROM backtests_backtest AS whole
            WHERE status = 'running' AND NOT EXISTS (
                SELECT FROM backtests_studyshard
                WHERE backtest_id = whole.id AND attempt = whole.attempt
            )
            UNION ALL
            SELECT owner_id FROM backtests_studyshard AS shard
            JOIN backtests_backtest AS study ON study.id = shard.backtest_id
            WHERE shard.state = 'running'
        ) AS running GROUP BY owner_id
    )
    SELECT {columns_of(Backtest, "backtest")}, candidate.shard_id AS shard_in_queue
    FROM candidate
    JOIN backtests_backtest AS backtest ON backtest.id = candidate.id
    LEFT JOIN backtests_lastturn AS served ON served.owner_id = candidate.owner_id
    LEFT JOIN busy ON busy.owner_id = candidate.owner_id
    ORDER BY coalesce(candidate.kind = 'backtest' AND (
            SELECT started_at FROM backtests_studyshard WHERE started_at IS NOT NULL
            ORDER BY started_at DESC OFFSET 1 LIMIT 1
        ) > greatest(candidate.created_at, served.taken_at), false) DESC,
        coalesce(busy.workers, 0), coalesce({RECENT_SECONDS}, 0),
        served.taken_at NULLS FIRST, candidate.created_at, candidate.id
    LIMIT 1
"""


class LastDispatch(models.Model):
    """When the queue last began work of a user, and how many seconds of workers the user had used
    by `used_at`, of which half are forgotten every minute.
    """

    owner = models.OneToOneField(
        "accounts.User", on_delete=models.CASCADE, primary_key=True, related_name="+"
    )
    taken_at = models.DateTimeField()
    seconds_used = models.FloatField(db_default=0.0)
    used_at = models.DateTimeField(null=True)

    class Meta:
        db_table = "backtests_lastturn"


class WorkSpeed(models.Model):
    """How many seconds of one worker backtests of a kind have taken, and for how many units of work
    (see `estimates`); what was measured long ago has little weight.
    """

    kind = models.CharField(max_length=20, primary_key=True)
    seconds = models.FloatField()
    units = models.FloatField()


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


class EvidenceStatus(StrEnum):
    """The states of evidence, as they are on the wire."""

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


# What a lost worker had begun is begun again.
EVIDENCE_TRANSITIONS: Final[Mapping[EvidenceTransition, Transition]] = {
    EvidenceTransition.BEGIN: Transition(
        (EvidenceStatus.QUEUED, EvidenceStatus.RUNNING), EvidenceStatus.RUNNING
    ),
    EvidenceTransition.COMPLETE: Transition((EvidenceStatus.RUNNING,), EvidenceStatus.READY),
    EvidenceTransition.FAIL: Transition((EvidenceStatus.RUNNING,), EvidenceStatus.FAILED),
    EvidenceTransition.RETRY: Transition((EvidenceStatus.FAILED,), EvidenceStatus.QUEUED),
}


class EvidenceQuerySet(StatusQuerySet["Evidence"]):
    """Evidence, whose status changes by `transition` alone."""

    transitions = EVIDENCE_TRANSITIONS


class Evidence(models.Model):
    """The evidence on a completed backtest, made by a job when it is first asked for.

    `document` has the verdict and the sections; `fills` are its fills as a packed array (see
    `results.pack_array`), which are charged by the rules of the day that is asked for.
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
    """What a user tried in one backtest or study: a ledger that outlives the backtest.

    `digest` is of the configuration, and of the sets of a study, so what is tried again over the
    same range is one row. `structure` is the hash of the steps without numbers, symbols and labels,
    and `original` the algorithm that the one of the run was cloned from at last. `tried` counts the
    distinct configurations; `ratios` those of them whose Sharpe ratio of so many `days` is known,
    of which there are the sum and the sum of squares. `selected` are the hashes of the
    configurations that an optimization ranks first, and `overfitting` is how likely that choice is
    overfitted, where it is known.
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
