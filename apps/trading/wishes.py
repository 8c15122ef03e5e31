"""What owners have asked for by hand and no row has acted on yet."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field

from apps.trading.models import Order, OrderStatus, Position


@dataclass(slots=True)
class Wishes:
    """Of one run: symbols whose positions are to be closed, and those whose waiting entries are not
    to be traded.
    """

    closing: set[str] = field(default_factory=set)
    cancelled: set[str] = field(default_factory=set)


NONE = Wishes()


def of(run_ids: Collection[str]) -> Mapping[str, Wishes]:
    """By run, of those that have any."""
    found: dict[str, Wishes] = defaultdict(Wishes)
    positions = Position.objects.open().filter(run__in=run_ids, close_asked_at__isnull=False)
    for run_id, symbol in positions.values_list("run_id", "symbol"):
        found[run_id].closing.add(symbol)
    orders = Order.objects.filter(
        run__in=run_ids, status=OrderStatus.OPEN, cancel_asked_at__isnull=False
    )
    for run_id, symbol in orders.values_list("run_id", "symbol"):
        found[run_id].cancelled.add(symbol)
    return found
