"""Performance alerts: what an owner wants to be told of, or to have acted on.

`maxDrawdown` calls when it rises to its threshold (in percent), the others when they fall to it.
"""

from collections.abc import Iterator, Mapping
from typing import Final, TypedDict

ALERT_METRICS: Final = ("maxDrawdown", "profitFactor", "winRate")
ACTIONS: Final = ("pause_algorithm", "send_notification")


class Alert(TypedDict):
    """At which value of the metric, and what then."""

    threshold: float
    action: str


Alerts = dict[str, Alert]
"""At most one for each metric."""


Figures = Mapping[str, float | None]


def raised(alerts: Alerts, before: Figures, after: Figures) -> Iterator[tuple[str, float, Alert]]:
    """(metric, its value, the alert) of those that call now and did not before.

    An alert calls once for each crossing, so one whose threshold is passed already when it is set
    waits for the next. Before the first trade nothing but a drawdown is known.
    """
    for metric, alert in alerts.items():
        value = _known(after, metric)
        if value is None or not _calls(metric, value, alert):
            continue
        earlier = _known(before, metric)
        if earlier is None or not _calls(metric, earlier, alert):
            yield metric, value, alert


def _known(figures: Figures, metric: str) -> float | None:
    is_known = metric == "maxDrawdown" or figures["totalTrades"]
    return figures[metric] if is_known else None


def _calls(metric: str, value: float, alert: Alert) -> bool:
    threshold = alert["threshold"]
    return value >= threshold if metric == "maxDrawdown" else value <= threshold
