"""The activity of runs: signals, orders, fills, positions, trades, daily losses."""

from enum import StrEnum
from typing import Self

from django.db import models
from django.db.models import F, Q
from django.utils.functional import cached_property

from apps.core.database import IdField
from apps.engine.candles import Symbol
from apps.trading.models.money import ZERO
from apps.trading.models.runs import Run


class OrderStatus(StrEnum):
    """The status of an order; all but `open` are final."""

    OPEN = "open"
    FILLED = "filled"
    CANCELLED = "cancelled"
    REJECTED = "rejected"


class Intent(StrEnum):
    """The effect of an order on a position."""

    ENTRY = "entry"
    ADD = "add"
    EXIT = "exit"


class Order(models.Model):
    """An order of a run.

    Its id is the client order id: a pure function of run, bar, symbol and slot (`client_order_id`),
    so a repetition after a crash is the same order. An entry is sized when it is filled (engine
    rule 6), so its quantity is null until then.
    """

    id = IdField()
    run = models.ForeignKey(Run, models.CASCADE, related_name="orders")
    algorithm = models.ForeignKey(
        "algorithms.Algorithm", models.CASCADE, related_name="orders", db_index=False
    )
    symbol = models.CharField(max_length=Symbol.MAX_LENGTH)
    side = models.CharField(max_length=4, choices=[("buy", "buy"), ("sell", "sell")])
    intent = models.CharField(max_length=5, choices=[(i.value, i.value) for i in Intent])
    type = models.CharField(max_length=6, choices=[(t, t) for t in ("market", "limit", "stop")])
    price = models.DecimalField(max_digits=18, decimal_places=4, null=True)
    quantity = models.BigIntegerField(null=True)
    status = models.CharField(
        max_length=9,
        default=OrderStatus.OPEN.value,
        choices=[(status.value, status.value) for status in OrderStatus],
    )
    reason = models.CharField(
        max_length=20, blank=True, help_text="Reason of an exit, or why the order was not filled"
    )
    bar_time = models.DateTimeField(help_text="Start of the bar that created the order")
    placed_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    cancel_requested_at = models.DateTimeField(
        null=True,
        help_text="When its owner requested the cancellation",
    )

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(status__in=[s.value for s in OrderStatus]), name="order_status_is_known"
            ),
            models.CheckConstraint(
                condition=Q(status=OrderStatus.OPEN.value, ended_at=None)
                | ~Q(status=OrderStatus.OPEN.value) & Q(ended_at__isnull=False),
                name="an_order_ends_once",
            ),
            models.CheckConstraint(
                condition=Q(quantity=None) | Q(quantity__gt=0), name="order_is_of_something"
            ),
        ]
        indexes = [
            models.Index(F("algorithm"), F("placed_at").desc(), F("id").desc(), name="orders_new"),
            models.Index(F("placed_at").desc(), name="orders_newest"),
            models.Index(F("run"), name="orders_open", condition=Q(status=OrderStatus.OPEN.value)),
        ]

    def __str__(self) -> str:
        return f"{self.side} {self.symbol} {self.status}"

    @cached_property
    def fill(self) -> "Fill | None":
        """The only fill: an order is filled at once or not at all."""
        return next(iter(self.fills.all()), None)


class Fill(models.Model):
    """An execution of an order, with its charges (engine rule 10)."""

    # Its own index on the order would repeat the constraint's.
    order = models.ForeignKey(Order, models.CASCADE, related_name="fills", db_index=False)
    number = models.PositiveSmallIntegerField(
        default=1, help_text="Number of the fill among those of the order, from 1"
    )
    quantity = models.BigIntegerField()
    price = models.DecimalField(max_digits=18, decimal_places=4)
    charges = models.DecimalField(max_digits=18, decimal_places=2)
    charges_by_kind = models.JSONField(help_text="Rupees, as text, by kind of charge")
    at = models.DateTimeField(help_text="Start of the bar in which it was filled")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["order", "number"], name="fills_of_an_order_count_up"),
            models.CheckConstraint(condition=Q(quantity__gt=0), name="fill_is_of_something"),
        ]

    def __str__(self) -> str:
        return f"{self.quantity} at {self.price}"


class PositionQuerySet(models.QuerySet["Position"]):
    def open(self) -> Self:
        return self.filter(closed_at=None)


class Position(models.Model):
    """A position of a run in one symbol, open or closed."""

    # Its own index on the run would repeat the constraint's for open positions.
    run = models.ForeignKey(Run, models.CASCADE, related_name="positions")
    symbol = models.CharField(max_length=Symbol.MAX_LENGTH)
    quantity = models.BigIntegerField(help_text="Negative for a short position")
    entry_price = models.DecimalField(max_digits=18, decimal_places=4)
    unrealised = models.DecimalField(
        max_digits=18, decimal_places=2, default=ZERO, help_text="Rupees, at the last mark"
    )
    fractions = models.DecimalField(
        max_digits=18,
        decimal_places=2,
        db_default=ZERO,
        help_text="Rupees won or lost on fractions of shares left by splits",
    )
    mark = models.DecimalField(max_digits=18, decimal_places=4, null=True, help_text="Last close")
    stop = models.DecimalField(max_digits=18, decimal_places=4, null=True)
    target = models.DecimalField(max_digits=18, decimal_places=4, null=True)
    opened_at = models.DateTimeField()
    closed_at = models.DateTimeField(null=True)
    close_requested_at = models.DateTimeField(
        null=True, help_text="When its owner requested the closing"
    )

    objects = PositionQuerySet.as_manager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["run", "symbol"],
                condition=Q(closed_at=None),
                name="one_open_position_of_a_symbol_in_a_run",
            ),
            models.CheckConstraint(condition=~Q(quantity=0), name="position_is_of_something"),
        ]

    def __str__(self) -> str:
        return f"{self.quantity} {self.symbol}"


class Trade(models.Model):
    """A position from entry to exit, in the form of a backtest's trade."""

    id = IdField()
    run = models.ForeignKey(Run, models.CASCADE, related_name="trades")
    algorithm = models.ForeignKey(
        "algorithms.Algorithm", models.CASCADE, related_name="trades", db_index=False
    )
    symbol = models.CharField(max_length=Symbol.MAX_LENGTH)
    side = models.CharField(max_length=5, choices=[("long", "long"), ("short", "short")])
    quantity = models.BigIntegerField()
    entry_time = models.DateTimeField()
    entry_price = models.DecimalField(max_digits=18, decimal_places=4)
    exit_time = models.DateTimeField()
    exit_price = models.DecimalField(max_digits=18, decimal_places=4)
    exit_reason = models.CharField(max_length=20)
    gross_profit = models.DecimalField(max_digits=18, decimal_places=2)
    charges = models.DecimalField(max_digits=18, decimal_places=2)
    profit = models.DecimalField(max_digits=18, decimal_places=2, help_text="After charges")
    return_percentage = models.FloatField()
    bars = models.PositiveIntegerField()

    class Meta:
        indexes = [
            models.Index(F("algorithm"), F("exit_time").desc(), F("id").desc(), name="trades_new"),
        ]

    def __str__(self) -> str:
        return f"{self.side} {self.symbol} {self.profit}"


class PerformanceTotals(models.Model):
    """The totals of all trades of an algorithm, so that one more costs the same after a million.

    Returns are fractions of the entry's value. `return_mean` and `return_squares` (the sum of
    squared differences from it) are updated by Welford's method (1962).
    """

    algorithm = models.OneToOneField(
        "algorithms.Algorithm", models.CASCADE, primary_key=True, related_name="performance_totals"
    )
    trades = models.PositiveBigIntegerField(default=0)
    won = models.PositiveBigIntegerField(default=0)
    lost = models.PositiveBigIntegerField(default=0)
    profit = models.DecimalField(max_digits=18, decimal_places=2, default=ZERO)
    loss = models.DecimalField(max_digits=18, decimal_places=2, default=ZERO)
    return_mean = models.FloatField(default=0)
    return_squares = models.FloatField(default=0)

    class Meta:
        verbose_name_plural = "performance totals"
        constraints = [
            models.CheckConstraint(
                condition=Q(trades__gte=F("won") + F("lost")), name="a_trade_counts_once"
            ),
        ]

    def __str__(self) -> str:
        return f"{self.trades} trades of {self.algorithm_id}"

    def add(self, trade: Trade) -> None:
        """Add a trade. A trade without profit or loss counts as neither won nor lost."""
        self.trades += 1
        self.won += trade.profit > 0
        self.lost += trade.profit < 0
        self.profit += max(trade.profit, ZERO)
        self.loss += max(-trade.profit, ZERO)
        away = trade.return_percentage / 100 - self.return_mean
        self.return_mean += away / self.trades
        self.return_squares += away * (trade.return_percentage / 100 - self.return_mean)


class Signal(models.Model):
    """The result of a run's conditions at the close of a bar, and whether it was followed."""

    # Its own index on the run would repeat the constraint's.
    run = models.ForeignKey(Run, models.CASCADE, related_name="signals", db_index=False)
    algorithm = models.ForeignKey(
        "algorithms.Algorithm", models.CASCADE, related_name="signals", db_index=False
    )
    symbol = models.CharField(max_length=Symbol.MAX_LENGTH)
    bar_time = models.DateTimeField(help_text="Start of the bar at whose close it arose")
    side = models.CharField(max_length=5, choices=[("long", "long"), ("short", "short")])
    action = models.CharField(max_length=5, choices=[("entry", "entry"), ("exit", "exit")])
    followed = models.BooleanField()
    reason = models.CharField(
        max_length=20, blank=True, help_text="Why the signal was not executed"
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["run", "bar_time", "symbol", "action", "side"], name="one_signal_of_a_bar"
            ),
            models.CheckConstraint(
                condition=Q(followed=True) | ~Q(reason=""), name="a_signal_not_followed_says_why"
            ),
        ]
        indexes = [
            models.Index(F("algorithm"), F("bar_time").desc(), F("id").desc(), name="signals_new"),
        ]

    def __str__(self) -> str:
        return f"{self.action} {self.side} {self.symbol}"


class DailyLoss(models.Model):
    """The loss of an algorithm on one date in Asia/Kolkata, against the limit of that day."""

    algorithm = models.ForeignKey(
        "algorithms.Algorithm", models.CASCADE, related_name="daily_losses", db_index=False
    )
    day = models.DateField()
    loss = models.DecimalField(max_digits=18, decimal_places=2, help_text="Rupees; 0 or more")
    limit = models.DecimalField(max_digits=18, decimal_places=2)
    breached_at = models.DateTimeField(null=True, help_text="When the loss reached the limit")

    class Meta:
        verbose_name_plural = "daily losses"
        constraints = [
            models.UniqueConstraint(fields=["algorithm", "day"], name="one_loss_of_a_day"),
            models.CheckConstraint(condition=Q(loss__gte=0), name="daily_loss_is_not_below_zero"),
        ]

    def __str__(self) -> str:
        return f"{self.algorithm_id} {self.day}: {self.loss} of {self.limit}"
