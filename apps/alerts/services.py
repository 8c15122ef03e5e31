"""The verbs of alerts, as views and other apps call them."""

from apps.alerts.hooks import (
    address_of,
    change_hook,
    create_hook,
    digest_of_secret,
    end_hook,
    hooks_of,
    last_received,
    messages_of,
    read_hook,
    received_alerts,
    received_names,
    refused_messages,
    rotate_hook_secret,
)
from apps.alerts.receiving import receive_message
from apps.alerts.series import TimesByName, alert_times, close_reading, first_alerts

__all__ = [
    "TimesByName",
    "address_of",
    "alert_times",
    "change_hook",
    "close_reading",
    "create_hook",
    "digest_of_secret",
    "end_hook",
    "first_alerts",
    "hooks_of",
    "last_received",
    "messages_of",
    "read_hook",
    "receive_message",
    "received_alerts",
    "received_names",
    "refused_messages",
    "rotate_hook_secret",
]
