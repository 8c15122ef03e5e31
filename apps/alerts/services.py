"""The verbs of alerts, as other apps call them."""

from apps.alerts.series import alert_times, close_reading, first_alerts

__all__ = ["alert_times", "close_reading", "first_alerts"]
