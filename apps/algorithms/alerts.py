"""Performance alerts: what an owner wants to be told of, or to have acted on.

`maxDrawdown` calls when it rises to its threshold (in percent), the others when they fall to it.
"""

from typing import Final, TypedDict

METRICS: Final = ("maxDrawdown", "profitFactor", "winRate")
ACTIONS: Final = ("pause_algorithm", "send_notification")


class Alert(TypedDict):
    """At which value of the metric, and what then."""

    threshold: float
    action: str


Alerts = dict[str, Alert]
"""At most one for each metric."""
