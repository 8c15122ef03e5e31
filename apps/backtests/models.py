"""A backtest: what was asked, frozen; how far it is; what came of it."""

from datetime import datetime
from typing import Self

from django.db import models
from django.db.models import Count, F, Min, OuterRef, Q, Subquery

from apps.backtests.kinds import Kind
from apps.backtests.lifecycle import ENDED, MOVES, Move, Status
from apps.core.errors import Code, ServiceError
from apps.core.ids import IdField, is_id


class BacktestNotFound(ServiceError):
    """Unknown, malformed or somebody else's."""

    code = Code.BACKTEST_NOT_FOUND
    message = "There is no such backtest."


class BacktestQuerySet(models.QuerySet["Backtest"]):
    """Reads of backtests, and the one way in which their status changes."""

    def owned_by(self, owner: models.Model) -> Self:
        return self.filter(owner_id=owner.pk)

    def matching(self, *, algorithm_id: str | None, status: str | None, kind: str | None) -> Self:
        """Those for which each given filter holds."""
        wanted = {"algorithm_id": algorithm_id, "status": status, "kind": kind}
        return self.filter(**{name: value for name, value in wanted.items() if value is not None})

    def waiting(self) -> Self:
        return self.filter(status=Status.QUEUED)

    def ended(self) -> Self:
        return self.filter(status__in=ENDED)

    def waiting_since(self) -> datetime | None:
        """Since when the oldest that waits has done so."""
        oldest: datetime | None = self.waiting().aggregate(at=Min("created_at"))["at"]
        return oldest

    def count_by_status(self) -> dict[str, int]:
        rows = self.order_by().values_list("status").annotate(n=Count("*"))
        return dict(rows)

    def silent_since(self, moment: datetime) -> Self:
        """Those that run, as far as the database knows, and whose worker has not been heard of."""
        return self.filter(status=Status.RUNNING, beat_at__lt=moment)

    def attempt(self, backtest: "Backtest") -> Self:
        """The backtest as long as this very attempt is the one that counts."""
        return self.filter(pk=backtest.pk, attempt=backtest.attempt)

    def move(self, move: Move, **changes: object) -> bool:
        """One conditional UPDATE: whether there was one in a state that the move starts from."""
        sources, target = MOVES[move]
        return bool(self.filter(status__in=sources).update(status=target, **changes))

    def next_in_turn(self) -> "Backtest | None":
        """The oldest of the user who has the fewest running, and of those was served longest ago.

        So whoever submits a hundred delays another user's one by at most the one that runs.
        """
        oldest = self.waiting().order_by("owner", "created_at", "id").distinct("owner")
        running = self.filter(owner=OuterRef("owner"), status=Status.RUNNING).order_by()
        counted = running.values("owner").annotate(n=Count("*")).values("n")
        served = LastTurn.objects.filter(owner=OuterRef("owner")).values("taken_at")
        return (
            self.filter(pk__in=oldest.values("pk"))
            .annotate(running=Subquery(counted), served=Subquery(served))
            .order_by(
                F("running").asc(nulls_first=True),
                F("served").asc(nulls_first=True),
                "created_at",
                "id",
            )
            .first()
        )

    def fetch(self, backtest_id: str) -> "Backtest":
        """The one with this id; raises BacktestNotFound."""
        found = self.filter(pk=backtest_id).first() if is_id(backtest_id) else None
        if found is None:
            raise BacktestNotFound(backtestId=backtest_id)
        return found


class Backtest(models.Model):
    """One simulation job; `configuration`: the algorithm's steps then, overrides applied. `study`:
    what is asked beside one simulation, defaults applied; `findings`: what came of that.

    `attempt` counts how often a worker began it, and every write of a worker names its own: a
    worker that was given up on changes nothing any more. `beat_at`: when the worker that runs it
    was last heard of. `losses`: how many workers were lost while they ran it.
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
    start = models.BigIntegerField(help_text="first second of the range")
    end = models.BigIntegerField(help_text="first second after the range")
    initial_capital = models.DecimalField(max_digits=18, decimal_places=2)
    seed = models.BigIntegerField()
    request_id = models.CharField(max_length=128, help_text="of the request that asked for it")
    status = models.CharField(max_length=10, choices=[(s.value, s.value) for s in Status])
    progress = models.PositiveSmallIntegerField(default=0)
    attempt = models.PositiveIntegerField(default=0)
    losses = models.PositiveSmallIntegerField(default=0)
    performance = models.JSONField(null=True)
    findings = models.JSONField(null=True)
    receipt = models.JSONField(null=True)
    error = models.JSONField(null=True)
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    beat_at = models.DateTimeField(null=True)
    completed_at = models.DateTimeField(null=True, help_text="when it ended, however it ended")

    objects = BacktestQuerySet.as_manager()

    class Meta:
        indexes = [
            models.Index(fields=["owner", "-created_at", "-id"], name="backtest_of_owner"),
            models.Index(
                fields=["owner", "created_at", "id"],
                condition=Q(status=Status.QUEUED.value),
                name="backtest_waiting",
            ),
            models.Index(
                fields=["owner", "beat_at"],
                condition=Q(status=Status.RUNNING.value),
                name="backtest_running",
            ),
            models.Index(fields=["status"], name="backtest_by_status"),
        ]
        constraints = [
            models.CheckConstraint(
                condition=Q(status__in=[status.value for status in Status]),
                name="backtest_status_is_known",
            ),
            models.CheckConstraint(
                condition=Q(kind=Kind.BACKTEST.value, study__isnull=True)
                | Q(
                    kind__in=[kind.value for kind in Kind if kind is not Kind.BACKTEST],
                    study__isnull=False,
                ),
                name="backtest_study_is_of_its_kind",
            ),
            models.CheckConstraint(
                condition=Q(study__isnull=False, performance__isnull=False, findings__isnull=False)
                | (Q(study__isnull=True) | Q(performance__isnull=True)) & Q(findings__isnull=True),
                name="backtest_completed_study_has_findings",
            ),
            models.CheckConstraint(
                condition=Q(progress__lte=100), name="backtest_progress_in_percent"
            ),
            models.CheckConstraint(
                condition=Q(status=Status.COMPLETED.value, performance__isnull=False)
                | (~Q(status=Status.COMPLETED.value) & Q(performance__isnull=True)),
                name="backtest_completed_has_performance",
            ),
            models.CheckConstraint(
                condition=~Q(status=Status.RUNNING.value) | Q(beat_at__isnull=False),
                name="backtest_running_has_a_beat",
            ),
        ]

    def __str__(self) -> str:
        return self.name or self.pk


class BacktestResult(models.Model):
    """The curve of a completed backtest as one packed array (see `arrays`), how many trades it
    made, and its breakdowns: made once, so that reading a backtest does not unpack all of it.
    """

    backtest = models.OneToOneField(
        Backtest, on_delete=models.CASCADE, primary_key=True, related_name="result"
    )
    trades = models.PositiveIntegerField(help_text="how many there are")
    curve = models.BinaryField()
    breakdowns = models.TextField(
        null=True, help_text="JSON in the order of an answer; null of results older than it"
    )


class TradeBlock(models.Model):
    """Some of a result's trades, in the order of their exits: a page of them reads few blocks."""

    result = models.ForeignKey(BacktestResult, on_delete=models.CASCADE, related_name="blocks")
    first = models.PositiveIntegerField(help_text="the place of its first trade among all")
    data = models.BinaryField()
    excursions = models.BinaryField(
        null=True, help_text="of each of them (see results); null of results older than it"
    )
    fills = models.BinaryField(
        null=True, help_text="of each of them (see results); null of results older than it"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["result", "first"], name="trade_block_is_one")
        ]


class LastTurn(models.Model):
    """When a user was last served by the queue."""

    owner = models.OneToOneField(
        "accounts.User", on_delete=models.CASCADE, primary_key=True, related_name="+"
    )
    taken_at = models.DateTimeField()


class ReportPage(models.Model):
    """The report of a completed backtest as it was first made, so that it is made once.

    `made_with` changes with whatever else the page shows or is made with; a page that was made with
    something else is made again.
    """

    backtest = models.OneToOneField(
        Backtest, on_delete=models.CASCADE, primary_key=True, related_name="report_page"
    )
    made_with = models.CharField(max_length=64, help_text="SHA-256 (see report.pages)")
    html = models.BinaryField(help_text="compressed by zlib, without the script of the charts")
    size = models.PositiveIntegerField(help_text="bytes of html")
    made_at = models.DateTimeField()


class ReportLink(models.Model):
    """An address at which the report is read without a token; it opens nothing without its row."""

    id = IdField()
    backtest = models.ForeignKey(Backtest, on_delete=models.CASCADE, related_name="report_links")
    expires_at = models.DateTimeField(db_index=True)
