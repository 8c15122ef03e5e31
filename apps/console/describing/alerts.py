"""Alerts on the performance of an algorithm: all are shown and set in one form."""

from collections.abc import Mapping
from typing import Any, Final

from django.http import HttpRequest, HttpResponse

from apps.accounts.models import User
from apps.algorithms import services
from apps.algorithms.models import Algorithm
from apps.algorithms.serializers import AlertsSerializer, AlgorithmSerializer
from apps.console.gate import by_field, console_page, count_as, go_to, show
from apps.console.schema_forms import read_text
from apps.core import database
from apps.core.errors import InvalidInput

_CALLS: Final = "/api/algorithms"
# The metric, and the crossing that raises the alert.
_METRICS: Final = {
    "maxDrawdown": "Drawdown rises to (%)",
    "profitFactor": "Profit factor falls to",
    "winRate": "Win rate falls to (%)",
}


@console_page()
def alerts_page(request: HttpRequest, user: User, algorithm_id: str) -> HttpResponse:
    """Set all alerts: a metric without a threshold has none."""
    algorithm = services.read(owner=user, algorithm_id=algorithm_id)
    context: dict[str, Any] = {"algorithm": AlgorithmSerializer.render(algorithm), "tab": "words"}
    if request.method != "POST":
        context["alerts"] = alert_rows(algorithm)
        return show(request, "algorithm_alerts", context)
    count_as(request, _CALLS, user=user)
    typed = {metric: _typed_alert(request.POST, metric) for metric in _METRICS}
    body = {metric: alert for metric, alert in typed.items() if alert["threshold"] != ""}
    try:
        alerts = AlertsSerializer.read({"alerts": body})["alerts"]
        services.set_alerts(
            owner=user, algorithm_id=algorithm_id, alerts=alerts, now=database.now()
        )
    except InvalidInput as refusal:
        context |= {"alerts": alert_rows(algorithm, typed), "problems": by_field(refusal.faults)}
        return show(request, "algorithm_alerts", context, status=400)
    return go_to(request, f"/app/algorithms/{algorithm.pk}", "Alerts are saved.")


def alert_rows(
    algorithm: Algorithm, typed: Mapping[str, Mapping[str, object]] | None = None
) -> list[dict[str, object]]:
    """Return each metric with its alert, as typed or stored, and its value on paper."""
    alerts = algorithm.alerts if typed is None else typed
    traded = bool(algorithm.performance["totalTrades"])
    return [
        {
            "metric": metric,
            "label": label,
            "value": algorithm.performance[metric] if traded else None,
            "threshold": _shown(alerts.get(metric, {}).get("threshold", "")),
            "action": alerts.get(metric, {}).get("action"),
        }
        for metric, label in _METRICS.items()
    ]


def _shown(threshold: object) -> object:
    if isinstance(threshold, float) and threshold.is_integer():
        return int(threshold)
    return threshold


def _typed_alert(form: Mapping[str, str], metric: str) -> dict[str, object]:
    text = form.get(f"{metric}.threshold", "").removesuffix("%").strip()
    action = form.get(f"{metric}.action", "")
    return {"threshold": read_text({"type": "number"}, text), "action": action}
