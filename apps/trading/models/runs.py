"""Runs of algorithms, and the streams on which they are stepped bar by bar."""

from datetime import datetime
from enum import StrEnum
from typing import Self

from django.db import models
from django.db.models import F, Q

from apps.core.database import IdField
from apps.engine.candles import TIMEFRAMES
from apps.trading.models.accounts import Account


class EndReason(StrEnum):
    """The reason why a run takes no more entries."""

    STOPPED = "stopped"
    ERROR = "error"


class RunQuerySet(models.QuerySet["Run"]):
    def holding(self) -> Self:
        """Return the runs with reserved capital: live ones, and ended ones with open positions."""
        return self.filter(released_at=None)

    def live(self) -> Self:
        """Return the runs of algorithms that are active or paused."""
        return self.filter(ended_at=None)


class Run(models.Model):
    """The trading of an algorithm from one start to the next stop, by its steps at the start.

    It ends when it is stopped or fails. Its capital returns to the account when it also holds
    nothing, which may be later. From `close_requested_at` on, each position is closed at its
    symbol's next open.
    """

    id = IdField()
    # Its own index on the algorithm would repeat the one of the newest first.
    algorithm = models.ForeignKey(
        "algorithms.Algorithm", models.CASCADE, related_name="runs", db_index=False
    )
    account = models.ForeignKey(Account, models.CASCADE, related_name="runs")
    algorithm_version = models.PositiveIntegerField()
    configuration = models.JSONField(help_text="The steps by their wire names, as they were sent")
    mode = models.CharField(max_length=5, choices=[("paper", "paper"), ("live", "live")])
    capital = models.DecimalField(
        max_digits=18,
        decimal_places=2,
        help_text="Rupees of the account: the initial capital and the run's profit or loss",
    )
    started_at = models.DateTimeField()
    close_requested_at = models.DateTimeField(
        null=True,
        help_text="When its owner requested to close all positions",
    )
    ended_at = models.DateTimeField(null=True)
    end_reason = models.CharField(
        max_length=10, blank=True, choices=[(reason.value, reason.value) for reason in EndReason]
    )
    released_at = models.DateTimeField(null=True, help_text="When its capital was released")

    objects = RunQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["algorithm"],
                condition=Q(released_at=None),
                name="one_run_of_an_algorithm_holds_capital",
            ),
            models.CheckConstraint(
                condition=Q(ended_at=None, end_reason="")
                | Q(ended_at__isnull=False, end_reason__in=[r.value for r in EndReason]),
                name="an_ended_run_says_why",
            ),
            models.CheckConstraint(
                condition=Q(released_at=None) | Q(ended_at__isnull=False),
                name="a_run_keeps_its_capital_until_it_ends",
            ),
            models.CheckConstraint(condition=Q(capital__gte=0), name="run_owes_nothing"),
        ]
        indexes = [
            models.Index(F("algorithm"), F("started_at").desc(), name="runs_newest_first"),
        ]

    def __str__(self) -> str:
        return f"Run {self.pk}"

    def end(self, reason: EndReason, *, now: datetime) -> None:
        """Refuse entries from now on; an ended run keeps its reason and time."""
        if self.ended_at is None:
            self.ended_at, self.end_reason = now, reason


class BarStreamQuerySet(models.QuerySet["BarStream"]):
    def locked(self) -> Self:
        return self.select_for_update(no_key=True)


class BarStream(models.Model):
    """The bars of some symbols in a given order and timeframe, with or without those outside of
    sessions.

    All runs on these bars subscribe to the stream. Its runs see the same rows (engine rule 16), so
    a row is made once, and one transaction steps all runs by it. One runner at a time works on a
    stream: a lease raises `lease_token`, and every write names the token of its lease.

    `wake_at` is the time when the stream is due: bars have come, the grace period of a row is over,
    or bars may be missing. `segment_start` is the first row of the present segment, `row_time` the
    last row that stepped all runs; both are starts of bars in epoch seconds. The rows of a segment
    have no gaps: a stream that had no runs for a while begins a new segment.

    The conditions of its runs also read `read_symbols`: each with the timeframe in which the rows
    have its candles. `read_until` is the start of the newest of them in a row.
    """

    symbols = models.JSONField()
    timeframe = models.CharField(max_length=3, choices=[(name, name) for name in TIMEFRAMES])
    include_out_of_session = models.BooleanField(default=False)
    read_symbols = models.JSONField(
        default=dict, db_default={}, help_text="Timeframes keyed by symbol"
    )
    key = models.CharField(max_length=64, unique=True, help_text="SHA-256 of the fields above")
    segment_start = models.BigIntegerField(null=True)
    row_time = models.BigIntegerField(null=True)
    read_until = models.JSONField(
        default=dict, db_default={}, help_text="Epoch seconds keyed by read symbol"
    )
    wake_at = models.DateTimeField(null=True)
    lease_token = models.PositiveBigIntegerField(default=0)
    leased_until = models.DateTimeField(null=True)

    objects = BarStreamQuerySet.as_manager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(row_time=None)
                | Q(segment_start__isnull=False, row_time__gte=F("segment_start")),
                name="bar_stream_goes_forward",
            ),
        ]
        indexes = [
            models.Index(
                F("wake_at"), name="bar_streams_to_wake", condition=Q(wake_at__isnull=False)
            ),
        ]

    def __str__(self) -> str:
        return f"{self.timeframe} {', '.join(self.symbols)}"

    @property
    def read_series(self) -> list[tuple[str, str]]:
        """The symbols and timeframes of `read_symbols` in the order of rows."""
        return sorted(self.read_symbols.items())


class BarRow(models.Model):
    """A row as it was used: later bars do not change it (engine rule 16)."""

    # Its own index on the stream would repeat the constraint's.
    stream = models.ForeignKey(BarStream, models.CASCADE, related_name="rows", db_index=False)
    time = models.BigIntegerField(help_text="Start of its bars, epoch seconds")
    bars = models.BinaryField(
        help_text="float64[symbols, 5]: open, high, low, close, volume; NaN without a bar"
    )
    read_candles = models.BinaryField(
        null=True,
        help_text=(
            "float64[candles, 7] of the stream's read symbols: index of the symbol, start, open,"
            " high, low, close, volume"
        ),
    )
    used_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["stream", "time"], name="one_row_of_a_stream_at_a_time"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.stream_id} {self.time}"


class RunState(models.Model):
    """The state of a run after its last row: the engine's saved state, equity and drawdown.

    It is advanced by one conditional UPDATE that names the previous row, so no row steps a run
    twice (`row_time` is null before the first). An ended run without positions has no state.
    """

    run = models.OneToOneField(Run, models.CASCADE, primary_key=True, related_name="state")
    stream = models.ForeignKey(
        BarStream,
        models.PROTECT,
        null=True,
        related_name="states",
        help_text="Null until a runner has assigned a stream",
    )
    read_symbols = models.JSONField(default=dict, db_default={}, help_text="Those of its stream")
    data = models.BinaryField(help_text="State of the engine, as it saves it")
    row_time = models.BigIntegerField(null=True)
    since = models.BigIntegerField(
        help_text="The market's time at the start; the run is stepped by rows that close later"
    )
    resumed_at = models.BigIntegerField(
        null=True, help_text="The market's time at the last resume, epoch seconds"
    )
    equity = models.FloatField(help_text="Rupees, at the close of the last row")
    peak = models.FloatField(help_text="The highest equity")
    drawdown = models.FloatField(default=0, help_text="Maximum drawdown in percent of the peak")
    drawdown_amount = models.FloatField(default=0, help_text="Maximum drawdown in rupees")

    def __str__(self) -> str:
        return f"State of {self.run_id}"


class SessionStart(models.Model):
    """The state of a run at the start of a session; the session can be simulated again from it."""

    # Its own index on the run would repeat the constraint's.
    run = models.ForeignKey(Run, models.CASCADE, related_name="sessions", db_index=False)
    day = models.DateField(help_text="Asia/Kolkata")
    first_row = models.BigIntegerField(
        help_text="Start of the first row of the session, epoch seconds"
    )
    data = models.BinaryField(help_text="State of the engine, as it saves it")
    equity = models.FloatField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "day"], name="a_run_enters_a_session_once"),
        ]

    def __str__(self) -> str:
        return f"{self.run_id} {self.day}"


class DriftReport(models.Model):
    """The comparison of a session's paper trading with its backtest; clean if it lists no
    difference.
    """

    # Its own index on the run would repeat the constraint's.
    run = models.ForeignKey(Run, models.CASCADE, related_name="drift", db_index=False)
    day = models.DateField(help_text="Asia/Kolkata")
    rows = models.PositiveIntegerField(help_text="Number of rows that were simulated again")
    total = models.PositiveIntegerField(
        help_text="Number of differences; the first of them are listed"
    )
    differences = models.JSONField()
    checked_at = models.DateTimeField()
    noticed_at = models.DateTimeField(
        null=True, help_text="When its owner was told of differences, once for a session"
    )
    through = models.BigIntegerField(
        null=True,
        help_text="Start of the last checked row of a session under way; null when it is over",
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["run", "day"], name="a_session_is_checked_once"),
        ]

    def __str__(self) -> str:
        return f"{self.run_id} {self.day}: {self.total}"
