"""The summary of a user's day, written once all markets of the day's runs have closed."""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

import numpy as np
from django.db import transaction
from django.db.models import Count, Exists, OuterRef, Sum

from apps.algorithms.models import Algorithm
from apps.core.times import day_in_india, day_number, midnight, moment
from apps.engine.candles import DAY
from apps.market.rulebook import calendars_of
from apps.market.services import market_time
from apps.trading.booking.profit_of_day import runs_of
from apps.trading.models import DaySummary, Fill, Position, SessionStart, Trade
from apps.trading.models.money import ZERO, rupees
from apps.webhooks.events import EventType, write_event

# The time after the close in which the last bars are booked.
GRACE_SECONDS: Final = 300


@dataclass(slots=True)
class DayFigures:
    """The figures of an algorithm's day, in rupees."""

    trades: int = 0
    net_profit: Decimal = ZERO
    charges: Decimal = ZERO
    profit_today: float = 0.0
    open_positions: int = 0

    def add(self, other: "DayFigures") -> None:
        self.trades += other.trades
        self.net_profit += other.net_profit
        self.charges += other.charges
        self.profit_today += other.profit_today
        self.open_positions += other.open_positions

    def wire(self) -> dict[str, Any]:
        return {
            "trades": self.trades,
            "netProfit": float(self.net_profit),
            "charges": float(self.charges),
            "profitToday": float(rupees(self.profit_today)),
            "openPositions": self.open_positions,
        }


@dataclass(slots=True)
class DayOfAccount:
    """The symbols and algorithms that a user's runs traded on a day."""

    symbols: set[str] = field(default_factory=set)
    algorithm_ids: set[str] = field(default_factory=set)


def write_due_summaries(*, now: datetime) -> int:
    """Write the summaries of today and yesterday, by the market's time, that are due; return their
    number.

    Earlier days stay without one: nobody reads them late.
    """
    market_now = market_time(now=now)
    today = day_in_india(market_now)
    count = 0
    for day in (today - timedelta(days=1), today):
        accounts = _unsent(day)
        symbols = {symbol for account in accounts.values() for symbol in account.symbols}
        closes = _closes(symbols, day)
        due = {
            account_id: account
            for account_id, account in accounts.items()
            if max(closes[symbol] for symbol in account.symbols) + GRACE_SECONDS <= market_now
        }
        figures = _figures(day, {key for account in due.values() for key in account.algorithm_ids})
        for account_id, account in sorted(due.items()):
            count += _write(
                account_id, day, {key: figures[key] for key in account.algorithm_ids}, now
            )
    return count


def _unsent(day: date) -> Mapping[str, DayOfAccount]:
    """Return the users whose runs entered the session and who have no summary yet."""
    sent = DaySummary.objects.filter(account=OuterRef("run__account"), day=day)
    sessions = SessionStart.objects.filter(~Exists(sent), day=day)
    accounts: dict[str, DayOfAccount] = defaultdict(DayOfAccount)
    for account_id, algorithm_id, symbols in sessions.values_list(
        "run__account_id", "run__algorithm_id", "run__configuration__basicInfo__symbols"
    ):
        accounts[account_id].symbols |= set(symbols)
        accounts[account_id].algorithm_ids.add(algorithm_id)
    return accounts


def _closes(symbols: Iterable[str], day: date) -> Mapping[str, int]:
    """Return when each symbol's market closes on the day, by holidays and special sessions too."""
    number = np.array([day_number(day)], np.int32)
    calendars = calendars_of(sorted(symbols))
    return {name: int(own.trading_hours(number)[1][0]) for name, own in calendars.items()}


def _figures(day: date, algorithm_ids: set[str]) -> Mapping[str, DayFigures]:
    figures = {algorithm_id: DayFigures() for algorithm_id in algorithm_ids}
    if not figures:
        return figures
    start = midnight(day)
    within = moment(start), moment(start + DAY)
    trades = Trade.objects.filter(
        algorithm__in=algorithm_ids, exit_time__gte=within[0], exit_time__lt=within[1]
    )
    for key, number, profit in (
        trades.order_by().values_list("algorithm").annotate(Count("pk"), Sum("profit"))
    ):
        figures[key].trades, figures[key].net_profit = number, profit
    fills = Fill.objects.filter(
        order__algorithm__in=algorithm_ids, at__gte=within[0], at__lt=within[1]
    )
    for key, charges in fills.order_by().values_list("order__algorithm").annotate(Sum("charges")):
        figures[key].charges = charges
    held = Position.objects.open().filter(run__algorithm__in=algorithm_ids)
    for key, number in held.order_by().values_list("run__algorithm").annotate(Count("pk")):
        figures[key].open_positions = number
    for run in runs_of([day], algorithm_ids):
        figures[run.algorithm_id].profit_today += run.equity - run.started_with
    return figures


@transaction.atomic
def _write(account_id: str, day: date, figures: Mapping[str, DayFigures], now: datetime) -> bool:
    """Write the summary, unless another worker has."""
    _, is_new = DaySummary.objects.get_or_create(
        account_id=account_id, day=day, defaults={"sent_at": now}
    )
    if not is_new:
        return False
    algorithms = Algorithm.objects.filter(pk__in=list(figures)).order_by("name", "pk")
    total = DayFigures()
    for of_algorithm in figures.values():
        total.add(of_algorithm)
    data = {
        "day": day.isoformat(),
        **total.wire(),
        "algorithms": [
            {"algorithmId": key, "algorithmName": name, **figures[key].wire()}
            for key, name in algorithms.values_list("pk", "name")
        ],
    }
    write_event(
        EventType.DAY_SUMMARY, owner_id=account_id, algorithm_id=account_id, data=data, now=now
    )
    return True
