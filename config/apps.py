from django.apps import AppConfig
from django.contrib.admin.apps import AdminConfig


class ServiceConfig(AppConfig):
    name = "config"
    label = "config"


class OperatorsConfig(AdminConfig):
    """Django's admin with a front door of our own."""

    default_site = "config.admin_site.OperatorSite"
