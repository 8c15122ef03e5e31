from django.apps import AppConfig


class MarketConfig(AppConfig):
    name = "apps.market"
    label = "market"
