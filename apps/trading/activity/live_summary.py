"""The present state of a user's algorithms, by a few statements for any number of them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal

from django.db.models import Count, F, FloatField, OuterRef, Subquery, Sum
from django.db.models.functions import Cast, Coalesce

from apps.accounts.models import User
from apps.algorithms.models import Algorithm
from apps.core.times import INDIA
from apps.market.services import market_moment
from apps.trading.models import Position, SessionStart, Signal
from apps.trading.models.money import ZERO, rupees


@dataclass(frozen=True, slots=True)
class LiveSummary:
    """The present state of an algorithm.

    `net_profit` is of its closed trades, in rupees. `profit_today` is the gain of its equity since
    its run entered today's session, None before that. `last_signal` is None before the first
    signal.
    """

    algorithm_id: str
    name: str
    status: str
    net_profit: float
    profit_today: Decimal | None
    open_positions: int
    unrealised: Decimal
    last_signal: Signal | None


def live_summaries(
    *, owner: User, algorithm_ids: Collection[str], now: datetime
) -> Mapping[str, LiveSummary]:
    """Return the state of each of these algorithms that belongs to the owner."""
    algorithms = Algorithm.objects.owned_by(owner).filter(pk__in=list(algorithm_ids))
    newest = Signal.objects.filter(algorithm=OuterRef("pk")).order_by("-bar_time", "-pk")
    rows = algorithms.annotate(signal=Subquery(newest.values("pk")[:1])).values_list(
        "pk", "name", "status", "performance__netProfit", "signal"
    )
    last_signals = {key: signal for key, *_, signal in rows}
    signals = Signal.objects.in_bulk([key for key in last_signals.values() if key is not None])
    positions = Position.objects.open().filter(run__algorithm__in=list(last_signals)).order_by()
    held = {
        key: (count, unrealised)
        for key, count, unrealised in positions.values("run__algorithm").values_list(
            "run__algorithm", Count("pk"), Sum("unrealised")
        )
    }
    today = market_moment(now=now).astimezone(INDIA).date()
    profits = _profits_of(today, last_signals)
    return {
        key: LiveSummary(
            key, name, status, net, profits.get(key), *held.get(key, (0, ZERO)), signals.get(signal)
        )
        for key, name, status, net, signal in rows
    }


def _profits_of(day: date, algorithm_ids: Collection[str]) -> Mapping[str, Decimal]:
    """Return the gain in equity since the session's start, keyed by algorithm.

    An ended run without positions has no state; its result is in its capital.
    """
    sessions = SessionStart.objects.filter(day=day, run__algorithm__in=list(algorithm_ids))
    gained = Coalesce(F("run__state__equity"), Cast("run__capital", FloatField())) - F("equity")
    rows = sessions.order_by().values("run__algorithm").annotate(gained=Sum(gained))
    return {row["run__algorithm"]: rupees(row["gained"]) for row in rows}
