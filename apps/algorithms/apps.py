from django.apps import AppConfig


class AlgorithmsConfig(AppConfig):
    name = "apps.algorithms"
    label = "algorithms"
