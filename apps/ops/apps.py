from django.apps import AppConfig
from django.contrib.admin.apps import AdminConfig


class OpsConfig(AppConfig):
    name = "apps.ops"


class OperatorsConfig(AdminConfig):
    """Django's admin with a front door of our own."""

    default_site = "apps.ops.admin_site.OperatorSite"
