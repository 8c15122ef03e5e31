"""The present state of a user's algorithms, by a few statements for any number of them."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.db.models import Count, OuterRef, Subquery, Sum

from apps.accounts.models import User
from apps.algorithms.models import Algorithm
from apps.trading.activity.profits import profits_today
from apps.trading.models import Position, Signal
from apps.trading.models.money import ZERO


@dataclass(frozen=True, slots=True)
class LiveSummary:
    """The present state of an algorithm.

    The profits are in rupees, as `profits` defines them. `profit_today` is None before its run has
    entered today's session, `last_signal` before the first signal.
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
    profits = profits_today(last_signals, now=now)
    return {
        key: LiveSummary(
            key, name, status, net, profits.get(key), *held.get(key, (0, ZERO)), signals.get(signal)
        )
        for key, name, status, net, signal in rows
    }
