"""Stored market history: candle chunks, each a Parquet file in a column, with prices as traded; the
intraday buffer of newer bars; and the corporate actions for adjusting prices on reading.
"""

from datetime import datetime
from enum import StrEnum
from fractions import Fraction
from typing import Final

from django.db import models
from django.db.models import F, Q

from apps.core.times import moment, wire_time
from apps.engine.candles import TIMEFRAMES, Symbol

# Shares on either side of a split or bonus; real ones stay far below.
MOST_SHARES: Final = 10_000


class CandleChunk(models.Model):
    """The stored bars of one symbol and timeframe in one period of the calendar (engine rule 11).

    A period is an IST month up to 30m, a year for 1h and 4h, a decade for 1d and 1w. A chunk is
    replaced as a whole when bars are added; the `sha256` of its data is its version.
    """

    symbol = models.CharField(max_length=Symbol.MAX_LENGTH)
    timeframe = models.CharField(max_length=3, choices=[(name, name) for name in TIMEFRAMES])
    period_start = models.DateField(help_text="First day of the period, Asia/Kolkata")
    bars = models.PositiveIntegerField()
    first_time = models.DateTimeField(help_text="Start of the first bar")
    last_time = models.DateTimeField(help_text="Start of the last bar")
    days = models.BinaryField(
        help_text="One bit for each day of the period, set where there are bars"
    )
    data = models.BinaryField(help_text="Encoded by apps/market/candles/chunks.py")
    sha256 = models.CharField(max_length=64)
    synthetic = models.BooleanField(
        default=False,
        help_text="A generated sample: all bars, or those up to `generated_until` if it is set",
    )
    generated_until = models.DateTimeField(
        null=True,
        help_text="Start of the last generated bar, where bars of the market have joined a sample",
    )
    adjusted = models.BooleanField(
        default=False, help_text="Prices as their source adjusted them for splits, not as traded"
    )
    prices_known = models.BooleanField(
        default=False,
        db_default=False,
        help_text="Whether a source or a corporate action tells if they are adjusted",
    )
    updated_at = models.DateTimeField()

    class Meta:
        ordering = ["symbol", "timeframe", "period_start"]
        constraints = [
            models.UniqueConstraint(
                fields=["symbol", "timeframe", "period_start"], name="one_chunk_per_period"
            ),
            models.CheckConstraint(
                condition=Q(timeframe__in=list(TIMEFRAMES)), name="chunk_timeframe_is_known"
            ),
            models.CheckConstraint(condition=Q(bars__gte=1), name="chunk_holds_bars"),
            models.CheckConstraint(
                condition=Q(last_time__gte=F("first_time")), name="chunk_times_in_order"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.symbol} {self.timeframe} {self.period_start}"


class ReplacedChunk(models.Model):
    """A chunk as it was before the last load of its series changed it; `load_candles --undo` puts
    it back. Of a chunk that the load inserted only the period is known.
    """

    symbol = models.CharField(max_length=Symbol.MAX_LENGTH)
    timeframe = models.CharField(max_length=3)
    period_start = models.DateField()
    loaded_at = models.DateTimeField(help_text="Moment of the load, the same in all its series")
    bars = models.PositiveIntegerField(null=True)
    first_time = models.DateTimeField(null=True)
    last_time = models.DateTimeField(null=True)
    days = models.BinaryField(null=True)
    data = models.BinaryField(null=True)
    sha256 = models.CharField(max_length=64, null=True)
    synthetic = models.BooleanField(null=True)
    generated_until = models.DateTimeField(null=True)
    adjusted = models.BooleanField(null=True)
    prices_known = models.BooleanField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["symbol", "timeframe", "period_start", "loaded_at"],
                name="one_replaced_chunk_per_load",
            ),
        ]
        indexes = [models.Index(fields=["loaded_at"], name="replaced_chunks_by_load")]

    def __str__(self) -> str:
        return f"{self.symbol} {self.timeframe} {self.period_start} before {self.loaded_at}"


class BufferedCandle(models.Model):
    """A bar received from a feed, until compaction moves it into its chunk after the session.

    Readers see chunks and the buffer as one history; the buffered bar wins at a common time.
    """

    symbol = models.CharField(max_length=Symbol.MAX_LENGTH)
    timeframe = models.CharField(max_length=3, choices=[(name, name) for name in TIMEFRAMES])
    time = models.BigIntegerField(help_text="Start, epoch seconds")
    open = models.FloatField()
    high = models.FloatField()
    low = models.FloatField()
    close = models.FloatField()
    volume = models.FloatField()
    received_at = models.DateTimeField()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["symbol", "timeframe", "time"], name="one_buffered_candle_of_a_moment"
            ),
            models.CheckConstraint(
                condition=Q(timeframe__in=list(TIMEFRAMES)), name="buffered_timeframe_is_known"
            ),
            models.CheckConstraint(
                condition=Q(low__gt=0, low__lte=F("open"), open__lte=F("high"), volume__gte=0)
                & Q(low__lte=F("close"), close__lte=F("high")),
                name="buffered_prices_in_order",
            ),
        ]
        indexes = [
            # Runners look each second for the newest bars.
            models.Index(fields=["received_at"], name="buffered_candles_newest"),
        ]

    def __str__(self) -> str:
        return f"{self.symbol} {self.timeframe} {self.time}"


class Replay(models.Model):
    """The market's time during a replay of history.

    The table has at most one row; without it the market's time is the current time.
    """

    SINGLETON_ID: Final = 1

    id = models.PositiveSmallIntegerField(primary_key=True, default=SINGLETON_ID, editable=False)
    start = models.BigIntegerField(help_text="Start of its first bars, epoch seconds")
    moment = models.BigIntegerField(help_text="Epoch seconds up to which bars are known")
    moved_at = models.DateTimeField(help_text="When the clock was last moved")

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(id=1), name="one_replay_at_most"),
            models.CheckConstraint(
                condition=Q(moment__gte=F("start")), name="a_replay_goes_forward"
            ),
        ]

    def __str__(self) -> str:
        return f"Replay at {wire_time(moment(self.moment))}"


class FeedKind(StrEnum):
    """A feed that brings bars as they close, or history as if it came in now."""

    LIVE = "live"
    REPLAY = "replay"


class Feed(models.Model):
    """The active feed. The table has one row, so only one feed is active; without a `kind` none is.

    A process leases the feed, and each of its writes names the `token` of the lease. A feed of a
    command is over when its lease expires. A replay requested from the console is played by a
    worker; after the worker was killed another one continues it.
    """

    SINGLETON_ID: Final = 1

    id = models.PositiveSmallIntegerField(primary_key=True, default=SINGLETON_ID, editable=False)
    kind = models.CharField(
        max_length=6, blank=True, choices=[(k.value, k.value) for k in FeedKind]
    )
    symbols = models.JSONField(default=list)
    timeframe = models.CharField(max_length=3, blank=True)
    start = models.BigIntegerField(null=True, help_text="Of a replay, epoch seconds")
    until = models.BigIntegerField(null=True, help_text="Of a replay, epoch seconds")
    speed = models.FloatField(
        null=True, help_text="Market seconds a second; null: as fast as it goes"
    )
    by_worker = models.BooleanField(default=False, help_text="Requested from the console")
    began_at = models.DateTimeField(null=True)
    token = models.PositiveBigIntegerField(default=0)
    leased_until = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.CheckConstraint(condition=Q(id=1), name="one_feed_at_most"),
            models.CheckConstraint(
                condition=Q(kind="") | Q(began_at__isnull=False, leased_until__isnull=False),
                name="an_active_feed_is_leased",
            ),
            models.CheckConstraint(
                condition=Q(speed=None) | Q(speed__gt=0), name="a_replay_goes_on"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.kind or 'no'} feed"

    def is_leased(self, now: datetime) -> bool:
        """Return whether a process brings its bars."""
        return bool(self.kind) and self.leased_until is not None and self.leased_until > now

    def is_active(self, now: datetime) -> bool:
        return self.by_worker or self.is_leased(now)

    @property
    def description(self) -> str:
        names = ", ".join(self.symbols[:3])
        more = f" and {len(self.symbols) - 3} more" if len(self.symbols) > 3 else ""
        return (
            f"a {self.kind} of {names}{more}"
            if self.kind == FeedKind.REPLAY
            else (f"a live feed of {names}{more}")
        )


class RuleSetVersion(models.Model):
    """A version of the market's rules. The newest row is in force; rows are never changed."""

    files = models.JSONField(help_text="The text of each file by its name")
    sha256 = models.CharField(max_length=64, help_text="SHA-256 of the files")
    source = models.CharField(max_length=200, help_text="Where they were loaded from")
    loaded_at = models.DateTimeField()

    class Meta:
        ordering = ["-pk"]

    def __str__(self) -> str:
        return f"{self.source} {self.sha256[:12]}"


class CandleFile(models.Model):
    """The report on an imported candle file. A file that changed nothing has a row too."""

    file = models.CharField(max_length=300, help_text="Name of the file, after that of its archive")
    sha256 = models.CharField(max_length=64, help_text="SHA-256 of the unpacked file")
    format = models.CharField(max_length=40)
    timeframe = models.CharField(max_length=3, choices=[(name, name) for name in TIMEFRAMES])
    instruments = models.PositiveIntegerField()
    rows = models.PositiveIntegerField()
    bars = models.PositiveIntegerField()
    report = models.JSONField(
        help_text="Rows left out by reason, and numbers of rows repaired, moved and shifted"
    )
    loaded_at = models.DateTimeField()

    class Meta:
        ordering = ["-pk"]
        constraints = [
            models.CheckConstraint(condition=Q(bars__lte=F("rows")), name="file_bars_are_rows")
        ]

    def __str__(self) -> str:
        return f"{self.file} {self.sha256[:12]}"


class CorporateAction(models.Model):
    """A corporate action after which prices do not compare with earlier ones.

    From `ex_date` on `shares_before` old shares are `shares_after` new ones: for a split and a
    bonus for every holder, for rights only for holders who pay `issue_price` for each new share. A
    demerger takes a part of the price: `price_factor` is the remaining share. Stored candles stay
    as traded; earlier prices are adjusted when read.
    """

    class Kind(models.TextChoices):
        SPLIT = "split"
        BONUS = "bonus"
        RIGHTS = "rights"
        DEMERGER = "demerger"

    symbol = models.CharField(max_length=Symbol.MAX_LENGTH)
    ex_date = models.DateField(help_text="First day on which it is in the price")
    kind = models.CharField(max_length=8, choices=Kind.choices)
    shares_before = models.PositiveIntegerField()
    shares_after = models.PositiveIntegerField()
    issue_price = models.DecimalField(
        max_digits=12, decimal_places=4, null=True, blank=True, help_text="Rupees, of rights"
    )
    price_factor = models.DecimalField(
        max_digits=12,
        decimal_places=10,
        null=True,
        blank=True,
        help_text="What is left of the price, of a demerger; empty where it is not known",
    )
    source = models.CharField(max_length=200)
    loaded_at = models.DateTimeField()

    class Meta:
        ordering = ["symbol", "ex_date", "kind"]
        constraints = [
            models.UniqueConstraint(
                fields=["symbol", "ex_date", "kind"], name="one_action_of_a_kind_per_day"
            ),
            models.CheckConstraint(
                condition=Q(kind__in=["split", "bonus", "rights", "demerger"]),
                name="action_kind_is_known",
            ),
            models.CheckConstraint(
                condition=Q(shares_before__range=(1, MOST_SHARES))
                & Q(shares_after__range=(1, MOST_SHARES)),
                name="action_shares_are_few",
            ),
            models.CheckConstraint(
                condition=Q(kind="split") & ~Q(shares_after=F("shares_before"))
                | Q(kind__in=["bonus", "rights"], shares_after__gt=F("shares_before"))
                | Q(kind="demerger", shares_after=F("shares_before")),
                name="action_changes_the_number",
            ),
            models.CheckConstraint(
                condition=Q(issue_price=None) | Q(kind="rights", issue_price__gt=0),
                name="rights_alone_are_paid_for",
            ),
            models.CheckConstraint(
                condition=Q(price_factor=None)
                | Q(kind="demerger", price_factor__gt=0, price_factor__lt=1),
                name="demergers_alone_have_a_factor",
            ),
        ]

    def __str__(self) -> str:
        return f"{self.symbol} {self.kind} {self.terms} on {self.ex_date}"

    @property
    def share_ratio(self) -> Fraction:
        """Return the shares that every holder gets for one, without a payment."""
        if self.kind in (self.Kind.RIGHTS, self.Kind.DEMERGER):
            return Fraction(1)
        return Fraction(self.shares_after, self.shares_before)

    @property
    def terms(self) -> str:
        """The ratio as announced: a split counts all shares, a bonus and rights only the new ones;
        for a demerger its factor.
        """
        if self.kind == self.Kind.DEMERGER:
            return "of unknown size" if self.price_factor is None else f"{self.price_factor:f}"
        new = self.shares_after
        if self.kind in (self.Kind.BONUS, self.Kind.RIGHTS):
            new -= self.shares_before
        return f"{new}:{self.shares_before}"


class Dividend(models.Model):
    """A dividend for holders before `ex_date`; it changes no price."""

    symbol = models.CharField(max_length=Symbol.MAX_LENGTH)
    ex_date = models.DateField(help_text="First day on which a buyer does not get it")
    amount = models.DecimalField(
        max_digits=12, decimal_places=4, help_text="Rupees a share, as announced"
    )
    source = models.CharField(max_length=200)
    loaded_at = models.DateTimeField()

    class Meta:
        ordering = ["symbol", "ex_date"]
        constraints = [
            models.UniqueConstraint(fields=["symbol", "ex_date"], name="one_dividend_per_day"),
            models.CheckConstraint(condition=Q(amount__gt=0), name="dividend_is_something"),
        ]

    def __str__(self) -> str:
        return f"{self.symbol} {self.amount} on {self.ex_date}"
