"""What owners have asked for by hand and no row has acted on yet."""

from collections import defaultdict
from collections.abc import Collection, Mapping
from datetime import datetime

from apps.trading.models import Order, OrderStatus, Position


def closing(run_ids: Collection[str]) -> Mapping[str, Mapping[str, datetime]]:
    """By run, the symbols whose positions are to be closed, and since when."""
    found: dict[str, dict[str, datetime]] = defaultdict(dict)
    wanted = Position.objects.open().filter(run__in=run_ids, close_requested_at__isnull=False)
    for run_id, symbol, since in wanted.values_list("run_id", "symbol", "close_requested_at"):
        assert since is not None
        found[run_id][symbol] = since
    return found


def cancelled(run_ids: Collection[str]) -> Mapping[str, Collection[str]]:
    """By run, the symbols whose waiting entries are not to be traded."""
    found: dict[str, set[str]] = defaultdict(set)
    wanted = Order.objects.filter(
        run__in=run_ids, status=OrderStatus.OPEN, cancel_requested_at__isnull=False
    )
    for run_id, symbol in wanted.values_list("run_id", "symbol"):
        found[run_id].add(symbol)
    return found
