"""Differences on the wire."""

from datetime import UTC, datetime

from apps.core.times import moment, wire_time
from apps.engine.figures.fields import round_for_wire
from apps.trading.drift.services import Drift
from apps.trading.models import DriftReport


def drift_out(drift: Drift) -> dict[str, object]:
    return {
        "date": drift.day.isoformat() if drift.day else None,
        "status": _status(drift),
        "through": _through(drift),
        "rows": sum(report.rows for report in drift.reports),
        "total": sum(report.total for report in drift.reports),
        "differences": [one for report in drift.reports for one in _differences(report)],
    }


def _status(drift: Drift) -> str:
    if drift.waiting:
        return "waiting"
    return "checked" if drift.reports else "no_session"


def _through(drift: Drift) -> str | None:
    """Of the run that has come least far."""
    times = [report.through for report in drift.reports if report.through is not None]
    return wire_time(moment(min(times))) if times else None


def _differences(report: DriftReport) -> list[dict[str, object]]:
    checked = wire_time(report.checked_at)
    return [
        {
            **round_for_wire(one),
            "reason": one.get("reason"),  # reports of before it was told have none
            "runId": report.run_id,
            "time": wire_time(datetime.fromtimestamp(one["time"], tz=UTC)),
            "checkedAt": checked,
        }
        for one in report.differences
    ]
