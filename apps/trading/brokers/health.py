"""Whether brokers can be reached, as operators say."""

from datetime import datetime

from django.db import transaction

from apps.core import audit
from apps.trading.brokers.paper import PAPER
from apps.trading.models import BrokerHealth, BrokerState


def paper(*, now: datetime) -> BrokerHealth:
    """The row of the broker on paper."""
    row, _ = BrokerHealth.objects.get_or_create(
        name=PAPER, defaults={"state": BrokerState.OK.value, "since": now, "checked_at": now}
    )
    return row


@transaction.atomic
def declare(
    *, name: str, state: BrokerState, operator: audit.Actor, reason: str, now: datetime
) -> BrokerHealth:
    """Let a broker count as this, on record."""
    row = _keep(name, state, "" if state is BrokerState.OK else reason, now)
    audit.record(
        audit.Action.BROKER_DECLARED,
        row,
        actor=operator,
        now=now,
        broker=name,
        state=state.value,
        reason=reason,
    )
    return row


def _keep(name: str, state: BrokerState, detail: str, now: datetime) -> BrokerHealth:
    fresh = {"state": state.value, "since": now, "checked_at": now, "detail": detail}
    row, is_new = BrokerHealth.objects.get_or_create(name=name, defaults=fresh)
    if not is_new:
        row.since = row.since if row.state == state.value else now
        row.state, row.detail, row.checked_at = state.value, detail, now
        row.save()
    return row
