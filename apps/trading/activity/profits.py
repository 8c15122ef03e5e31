"""The profit of paper trading, defined once for the API and all pages.

- Open profit: open positions at their last prices, before charges.
- Net profit: closed trades, after charges.
- Total: the gain of equity since the runs began. It is net profit and open profit, less the charges
  already paid for open positions.
- Today: the part of the total gained since the session opened.
"""

from collections.abc import Collection, Mapping
from datetime import date, datetime
from decimal import Decimal
from itertools import groupby
from operator import itemgetter
from typing import Final

from django.db.models import F, Sum, Window
from django.db.models.functions import Coalesce, Lead

from apps.accounts.models import User
from apps.core.times import INDIA
from apps.market.services import market_moment
from apps.trading.booking.profit_of_day import EQUITY_NOW
from apps.trading.models import EntryKind, LedgerEntry, Position, SessionStart
from apps.trading.models.money import ZERO, rupees

_GAINED: Final = EQUITY_NOW - F("equity")
# Sessions of all runs in a list of days.
_MOST_SESSIONS: Final = 5_000


def open_profit(*, owner: User) -> Decimal:
    """Return the open profit of all runs of a user."""
    positions = Position.objects.open().filter(run__account=owner.pk)
    return positions.aggregate(total=Sum("unrealised", default=ZERO))["total"]  # type: ignore[no-any-return]


def profits_today(algorithm_ids: Collection[str], *, now: datetime) -> Mapping[str, Decimal]:
    """Return today's profit keyed by algorithm; without algorithms whose runs have not entered
    today's session.
    """
    today = market_moment(now=now).astimezone(INDIA).date()
    sessions = SessionStart.objects.filter(day=today, run__algorithm__in=list(algorithm_ids))
    rows = sessions.order_by().values("run__algorithm").annotate(gained=Sum(_GAINED))
    return {row["run__algorithm"]: rupees(row["gained"]) for row in rows}


def total_profit(*, algorithm_id: str) -> Decimal:
    """Return the total profit of an algorithm's runs."""
    sessions = SessionStart.objects.filter(run__algorithm=algorithm_id)
    first = sessions.order_by("run", "day").distinct("run").annotate(gained=_GAINED)
    return rupees(sum(first.values_list("gained", flat=True)))


def profits_by_day(*, owner: User) -> list[tuple[date, float]]:
    """Return the profit of each day of the user's account since its last reset, in order: on the
    last day what it has gained so far, before that until the next session began.
    """
    sessions = SessionStart.objects.filter(run__account=owner.pk)
    resets = LedgerEntry.objects.filter(account=owner.pk, kind=EntryKind.RESET).order_by("-at")
    if reset := resets.values_list("at", flat=True).first():
        sessions = sessions.filter(run__started_at__gte=reset)
    next_equity = Window(Lead("equity"), partition_by="run", order_by="day")
    rows = sessions.annotate(gained=Coalesce(next_equity, EQUITY_NOW) - F("equity"))
    newest = list(rows.order_by("-day").values_list("day", "gained")[:_MOST_SESSIONS])
    days = [
        (day, sum(gained for _, gained in group))
        for day, group in groupby(reversed(newest), key=itemgetter(0))
    ]
    # Of the oldest day some runs may be missing.
    return days[1:] if len(newest) == _MOST_SESSIONS else days
