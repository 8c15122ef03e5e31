"""What operators see of the service's own operation."""

from django.contrib import admin

from apps.core.operator_pages import OperatorAdmin
from apps.ops.models import BackupRecord


@admin.register(BackupRecord)
class BackupRecordAdmin(OperatorAdmin):
    list_display = ("__str__", "begun_at", "taken_at", "size", "error")
    ordering = ("-id",)
