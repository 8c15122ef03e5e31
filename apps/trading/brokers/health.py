"""Whether brokers can be reached, as they report it, or as an operator says."""

from datetime import datetime

from django.db import transaction

from apps.core import audit
from apps.trading.brokers.paper import PAPER
from apps.trading.brokers.protocol import Broker, Health
from apps.trading.models import BrokerHealth, BrokerState


def ask(broker: Broker, *, now: datetime) -> BrokerHealth:
    """Ask the broker, and keep what it says; `since` is when its state became what it is."""
    return _keep(broker.name, broker.health(), now)


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
    row = _keep(name, Health(state, "" if state is BrokerState.OK else reason), now)
    details = {"broker": name, "state": state.value, "reason": reason}
    audit.record(
        audit.Action.BROKER_DECLARED, actor=operator, subject=row, details=details, now=now
    )
    return row


def _keep(name: str, health: Health, now: datetime) -> BrokerHealth:
    fresh = {"state": health.state.value, "since": now, "checked_at": now, "detail": health.detail}
    row, made = BrokerHealth.objects.get_or_create(name=name, defaults=fresh)
    if not made:
        row.since = row.since if row.state == health.state.value else now
        row.state, row.detail, row.checked_at = health.state.value, health.detail, now
        row.save()
    return row
