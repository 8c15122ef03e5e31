"""The series of received alerts, as conditions read them.

A live run must not miss an alert that later appears to have come in time: a backtest would count
it. So a receipt and a reading both lock the row of the user's `AlertClock`: a reading waits for
the receipts under way, and a later receipt gets a later time.
"""

from collections.abc import Collection, Mapping
from datetime import datetime, timedelta
from typing import TypeAlias

import numpy as np
from django.db import transaction
from django.db.models import BigIntegerField, F, Func, Min, Q
from numpy.typing import NDArray

from apps.alerts.models import AlertClock, ReceivedAlert
from apps.core.times import moment
from apps.market.services import replayed_until

# Epoch seconds by the name of the alerts.
TimesByName: TypeAlias = Mapping[str, NDArray[np.int64]]

_MOMENT_LATER = timedelta(microseconds=1)
# Epoch seconds, rounded up. The database computes them: of many alerts it is ten times faster.
_SECOND = Func(
    F("received_at"),
    template="ceil(extract(epoch FROM %(expressions)s))::bigint",
    output_field=BigIntegerField(),
)


def time_of_receipt(owner_id: str, *, now: datetime) -> datetime:
    """Return the market's time at which an alert comes in, later than all that was read.

    In a replay that is just after its moment, since the bars that end then may be closed. It locks
    the user's clock until the transaction ends.
    """
    clock = AlertClock.objects.select_for_update(no_key=True).get(pk=owner_id)
    replayed = replayed_until()
    if replayed is not None:
        return moment(replayed) + _MOMENT_LATER
    read_until = clock.read_until
    return now if read_until is None or read_until < now else read_until + _MOMENT_LATER


@transaction.atomic
def close_reading(*, owner_ids: Collection[str], until: int) -> None:
    """Let no alert of these users be received any more at the moment `until` (epoch seconds) or
    before it, and wait for those that are being received.

    In a replay the wait is enough: an alert comes just after its moment.
    """
    end = moment(until)
    clocks = AlertClock.objects.filter(pk__in=owner_ids).order_by("pk")
    behind = [
        clock.pk
        for clock in clocks.select_for_update(no_key=True)
        if clock.read_until is None or clock.read_until < end
    ]
    if behind and replayed_until() is None:
        AlertClock.objects.filter(pk__in=behind).update(read_until=end)


def alert_times(
    *,
    owner_id: str,
    names: Collection[str],
    symbols: Collection[str],
    until: int,
    since: int | None = None,
) -> Mapping[str, TimesByName]:
    """Return when alerts of these names came for each symbol: i8 epoch seconds, in order.

    They came after `since` and by `until`. Alerts without a symbol came for each. A time is rounded
    up: an alert came by the end of a bar just where its second is not later.
    """
    if not names:
        return {symbol: {} for symbol in symbols}
    alerts = ReceivedAlert.objects.filter(
        Q(symbol="") | Q(symbol__in=symbols),
        owner_id=owner_id,
        name__in=names,
        received_at__lte=moment(until),
    )
    if since is not None:
        alerts = alerts.filter(received_at__gt=moment(since))
    times: dict[str, dict[str, list[int]]] = {
        symbol: {name: [] for name in names} for symbol in symbols
    }
    rows = alerts.order_by("received_at").values_list("name", "symbol", _SECOND)
    for name, about, second in rows:
        for symbol in [about] if about else symbols:
            times[symbol][name].append(second)
    return {
        symbol: {name: np.array(seconds, np.int64) for name, seconds in by_name.items()}
        for symbol, by_name in times.items()
    }


def first_alerts(*, owner_id: str, names: Collection[str]) -> Mapping[str, datetime]:
    """Return when the first alert of each name came, for any symbol; without those that never
    came.
    """
    alerts = ReceivedAlert.objects.filter(owner_id=owner_id, name__in=names)
    return dict(alerts.values_list("name").annotate(first=Min("received_at")))
