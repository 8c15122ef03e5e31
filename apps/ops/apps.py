from django.apps import AppConfig
from django.contrib.admin.apps import AdminConfig


class OpsConfig(AppConfig):
    name = "apps.ops"


class OperatorAdminConfig(AdminConfig):
    """Django's admin with the service's own admin site."""

    default_site = "apps.ops.admin_site.OperatorSite"
