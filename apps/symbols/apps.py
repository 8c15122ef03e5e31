from django.apps import AppConfig


class SymbolsConfig(AppConfig):
    name = "apps.symbols"
    label = "symbols"
