"""Writing down what has happened."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from django.db import connection, transaction

from apps.webhooks.event_types import EventType
from apps.webhooks.models import Event

NEXT: Final = """
    INSERT INTO webhooks_sequence AS counted (algorithm_id, last) VALUES (%s, 1)
    ON CONFLICT (algorithm_id) DO UPDATE SET last = counted.last + 1
    RETURNING last
"""


@transaction.atomic(savepoint=False)
def write(
    type: EventType,
    *,
    owner_id: str,
    algorithm_id: str,
    data: Mapping[str, object],
    now: datetime,
    backtest_id: str = "",
) -> Event:
    """An event in the transaction of the change that it tells of; call it last.

    From here to the commit nobody else writes an event of this algorithm, so its places have
    neither gaps nor doubles, and one that can be seen has none before it that cannot. Whoever
    writes for several algorithms does so in the order of their ids.
    """
    return Event.objects.create(
        type=type,
        owner_id=owner_id,
        algorithm_id=algorithm_id,
        backtest_id=backtest_id,
        sequence=_next_place(algorithm_id),
        created_at=now,
        data=dict(data),
    )


def _next_place(algorithm_id: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(NEXT, [algorithm_id])
        place: int = cursor.fetchone()[0]
    return place
