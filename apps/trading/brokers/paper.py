"""The paper broker. Its order book is the database: orders and fills as they are stored.

At the next bar the engine's rules decide whether an order is filled, at which price and size.
Checks that an exchange makes earlier are made here: prices too far from the last one are refused
(`price_band`), and orders that come too fast wait.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from typing import Final
from zlib import crc32

from django.db import connection, transaction
from django.db.models import Count
from django.db.models.functions import TruncSecond

from apps.core import audit
from apps.core.times import day_in_india
from apps.engine.candles import Symbol
from apps.trading.models import BrokerHealth, BrokerState, Intent, Order, OrderStatus, queries

PAPER: Final = "paper"
PRICE_BAND: Final = "price_band"
# NSE and BSE, orders a second of one client and exchange without an algorithm's own registration
# (SEBI's circular of 2025-02-04 on retail algorithms).
MAX_PER_SECOND: Final = 10
_SECOND: Final = timedelta(seconds=1)

_LOCKS_OF_PACE: Final = 0x0BA0CE
_BUCKETS: Final = 256


@dataclass(frozen=True, slots=True)
class PriceBand:
    """The largest distance of an order's price from the last price, to either side, from a date on:
    a percentage of it, and at least an amount in rupees.
    """

    types: frozenset[str]
    since: date
    percent: float
    least: float = 0.0
    source: str = ""


_BSE: Final = "BSE notice 20251010-20 on order price bands, in force from 2025-12-01"
# Bands of contracts on indices; NSE and BSE have the same.
INDEX_BANDS: Final = (
    PriceBand(frozenset({"options"}), date(2025, 12, 1), 40.0, 20.0, _BSE),
    PriceBand(frozenset({"futures"}), date(2025, 12, 1), 2.0, 200.0, _BSE),
)
# Without a rule the band is a fifth of the last price, the widest that NSE and BSE set for a share
# without derivatives in a day; for others it is a bound of ours that catches bad data before it
# becomes a result.
DEFAULT_BAND: Final = PriceBand(frozenset(), date.min, 20.0)
_INDICES: Final = frozenset({"NIFTY", "BANKNIFTY", "FINNIFTY", "MIDCPNIFTY", "SENSEX", "BANKEX"})


@transaction.atomic(savepoint=False)
def place(orders: Sequence[Order], *, last: Mapping[str, float]) -> None:
    """Write new orders in the caller's transaction, so that an order commits with what made it.

    `last` are the last prices by symbol; an order too far from them is written as rejected. The
    pace holds over all that place orders at the same time, who wait for one another here. Exits
    come first.
    """
    for order in orders:
        _check(order, last)
    _pace([order for order in orders if order.status == OrderStatus.OPEN])
    Order.objects.bulk_create(orders)


def _check(order: Order, last: Mapping[str, float]) -> None:
    """Reject an order with a price too far from the last one; market orders have no price."""
    if order.price is None or order.intent == Intent.EXIT or order.symbol not in last:
        return
    day = day_in_india(int(order.bar_time.timestamp()))
    if is_outside_band(order.symbol, float(order.price), last=last[order.symbol], day=day):
        order.status, order.reason = OrderStatus.REJECTED, PRICE_BAND
        order.ended_at = order.placed_at


def is_outside_band(symbol: str, price: float, *, last: float, day: date) -> bool:
    """Return whether an order at `price` is refused; a price at the edge of the band is
    accepted.
    """
    parsed = Symbol.parse(symbol)
    bands = [
        band
        for band in INDEX_BANDS
        if parsed.root in _INDICES and parsed.type in band.types and band.since <= day
    ]
    band = max(bands, key=lambda band: band.since, default=DEFAULT_BAND)
    return abs(price - last) > max(last * band.percent / 100, band.least)


def _pace(orders: Sequence[Order]) -> None:
    """Set the times from which the orders count."""
    by_account: dict[str, list[Order]] = defaultdict(list)
    for order in sorted(orders, key=lambda order: order.intent != Intent.EXIT):
        by_account[order.run.account_id].append(order)
    if not by_account:
        return
    placed_by_account = _count_placed(by_account, since=min(order.placed_at for order in orders))
    for account, waiting in by_account.items():
        times = spread_by_second([order.placed_at for order in waiting], placed_by_account[account])
        for order, time in zip(waiting, times, strict=True):
            order.placed_at = time


def spread_by_second(placed: Iterable[datetime], counts: Counter[datetime]) -> list[datetime]:
    """Return the time from which each order counts, in order: no second gets more than
    MAX_PER_SECOND.

    A surplus order counts from the next second with room. `counts` are orders by calendar second,
    and is updated.
    """
    times = []
    for moment in placed:
        second = moment.replace(microsecond=0)
        while counts[second] >= MAX_PER_SECOND:
            second += _SECOND
        counts[second] += 1
        times.append(max(moment, second))
    return times


def _count_placed(accounts: Iterable[str], *, since: datetime) -> Mapping[str, Counter[datetime]]:
    """Return the orders of that second and later seconds, keyed by account.

    Accounts share some locks, which are taken last and held until the transaction ends.
    """
    buckets = sorted({crc32(account.encode()) % _BUCKETS for account in accounts})
    with connection.cursor() as cursor:
        cursor.execute(queries.LOCK_ORDER_PACE, [_LOCKS_OF_PACE, buckets])
    recent = Order.objects.filter(
        placed_at__gte=since.replace(microsecond=0), run__account__in=list(accounts)
    ).order_by()
    counts: dict[str, Counter[datetime]] = defaultdict(Counter)
    for account, second, count in recent.values_list(
        "run__account", TruncSecond("placed_at")
    ).annotate(Count("pk")):
        counts[account][second] = count
    return counts


def read_state() -> BrokerState:
    """Return the state that an operator has declared, else that all is well."""
    row = BrokerHealth.objects.filter(name=PAPER).first()
    return BrokerState(row.state) if row else BrokerState.OK


def health_row(*, now: datetime) -> BrokerHealth:
    """Return the stored health of the broker, created on first use."""
    state = {"state": BrokerState.OK.value, "since": now, "checked_at": now}
    return BrokerHealth.objects.get_or_create(name=PAPER, defaults=state)[0]


@transaction.atomic
def declare_health(
    row: BrokerHealth,
    *,
    state: BrokerState,
    operator: audit.Actor,
    reason: str,
    now: datetime,
) -> None:
    """Declare the state of a broker, in the audit record."""
    row.since = row.since if row.state == state.value else now
    row.state, row.checked_at = state.value, now
    row.detail = "" if state is BrokerState.OK else reason
    row.save()
    audit.record(
        audit.Action.BROKER_DECLARED,
        row,
        actor=operator,
        now=now,
        broker=row.name,
        state=state.value,
        reason=reason,
    )
