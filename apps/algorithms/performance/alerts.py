"""Performance alerts: a threshold of a metric, and the action when it is reached.

`maxDrawdown` alerts when it rises to its threshold (in percent), the other metrics when they fall
to it.
"""

from collections.abc import Iterator, Mapping
from typing import Final, TypedDict

ALERT_METRICS: Final = ("maxDrawdown", "profitFactor", "winRate")
ACTIONS: Final = ("pause_algorithm", "send_notification")
LARGEST_THRESHOLD: Final = 1e12


class Alert(TypedDict):
    """The threshold of a metric, and the action when it is reached."""

    threshold: float
    action: str


Alerts = dict[str, Alert]
"""At most one for each metric."""


Figures = Mapping[str, float | None]


def raised_alerts(
    alerts: Alerts, before: Figures, after: Figures
) -> Iterator[tuple[str, float, Alert]]:
    """Yield (metric, its value, the alert) for each alert that is raised now and was not before.

    An alert is raised once for each crossing: if the metric is past the threshold when the alert is
    set, the alert waits for the next crossing. Before the first trade only a drawdown is known.
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
