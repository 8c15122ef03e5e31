from django.apps import AppConfig


class BacktestsConfig(AppConfig):
    name = "apps.backtests"
    label = "backtests"
