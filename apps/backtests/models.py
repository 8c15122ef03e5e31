"""A backtest: what was asked, frozen; how far it is; what came of it."""

from typing import Self

from django.db import models

from apps.backtests.lifecycle import MOVES, Move, Status
from apps.core.errors import Code, ServiceError
from apps.core.ids import IdField, is_id


class BacktestNotFound(ServiceError):
    """Unknown, malformed or somebody else's."""

    code = Code.BACKTEST_NOT_FOUND
    message = "There is no such backtest."


class BacktestQuerySet(models.QuerySet["Backtest"]):
    """Reads of backtests."""

    def owned_by(self, owner: models.Model) -> Self:
        return self.filter(owner_id=owner.pk)

    def matching(self, *, algorithm_id: str | None, status: str | None, kind: str | None) -> Self:
        """Those for which each given filter holds."""
        wanted = {"algorithm_id": algorithm_id, "status": status, "kind": kind}
        return self.filter(**{name: value for name, value in wanted.items() if value is not None})

    def fetch(self, backtest_id: str) -> "Backtest":
        found = self.filter(pk=backtest_id).first() if is_id(backtest_id) else None
        if found is None:
            raise BacktestNotFound(backtestId=backtest_id)
        return found


class Backtest(models.Model):
    """One simulation job; `configuration`: the algorithm's steps then, overrides applied."""

    id = IdField()
    owner = models.ForeignKey("accounts.User", on_delete=models.CASCADE, related_name="+")
    algorithm = models.ForeignKey(
        "algorithms.Algorithm", on_delete=models.CASCADE, related_name="+"
    )
    algorithm_version = models.PositiveIntegerField()
    name = models.CharField(max_length=100, blank=True)
    kind = models.CharField(max_length=20)
    configuration = models.JSONField()
    symbols = models.JSONField()
    timeframe = models.CharField(max_length=3)
    start_date = models.CharField(max_length=40)
    end_date = models.CharField(max_length=40)
    start = models.BigIntegerField(help_text="first second of the range")
    end = models.BigIntegerField(help_text="first second after the range")
    initial_capital = models.DecimalField(max_digits=18, decimal_places=2)
    seed = models.BigIntegerField()
    status = models.CharField(max_length=10, choices=[(s, s) for s in Status])
    progress = models.PositiveSmallIntegerField(default=0)
    attempt = models.PositiveIntegerField(default=0)
    performance = models.JSONField(null=True)
    receipt = models.JSONField(null=True)
    error = models.JSONField(null=True)
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True)
    completed_at = models.DateTimeField(null=True)

    objects = BacktestQuerySet.as_manager()

    class Meta:
        indexes = [models.Index(fields=["owner", "-created_at", "-id"], name="backtest_of_owner")]
        constraints = [
            models.CheckConstraint(
                condition=models.Q(progress__lte=100), name="backtest_progress_in_percent"
            ),
            models.CheckConstraint(
                condition=models.Q(status=Status.COMPLETED, performance__isnull=False)
                | (~models.Q(status=Status.COMPLETED) & models.Q(performance__isnull=True)),
                name="backtest_completed_has_performance",
            ),
        ]

    def __str__(self) -> str:
        return self.name or self.pk

    def move(self, move: Move, *, attempt: int, **changes: object) -> bool:
        """One conditional UPDATE: whether this attempt was in the state the move starts from."""
        source, target = MOVES[move]
        rows = Backtest.objects.filter(pk=self.pk, status=source, attempt=attempt)
        return bool(rows.update(status=target, **changes))

    def report_progress(self, percent: int, *, attempt: int) -> bool:
        """Whether this attempt is still the one that runs."""
        rows = Backtest.objects.filter(pk=self.pk, status=Status.RUNNING, attempt=attempt)
        return bool(rows.update(progress=percent))


class BacktestResult(models.Model):
    """Trades and curve of a completed backtest, each a column block (see `arrays`)."""

    backtest = models.OneToOneField(
        Backtest, on_delete=models.CASCADE, primary_key=True, related_name="result"
    )
    trades = models.BinaryField()
    curve = models.BinaryField()
