"""Events: written with the change they report, read in the order of commits, mailed, deleted.

Other apps import only these names.
"""

from apps.webhooks.event_types import (
    EventType,
    render_body,
)
from apps.webhooks.events.feed import (
    EVENTS_CHANNEL,
    events_after,
    last_position,
    latest_events,
)
from apps.webhooks.events.notices import (
    notices_of,
    update_notices,
)
from apps.webhooks.events.outbox import (
    EventPayload,
    write_event,
    write_events,
)
from apps.webhooks.events.texts import EVENT_LABELS

__all__ = [
    "EVENTS_CHANNEL",
    "EVENT_LABELS",
    "EventPayload",
    "EventType",
    "events_after",
    "last_position",
    "latest_events",
    "notices_of",
    "render_body",
    "update_notices",
    "write_event",
    "write_events",
]
