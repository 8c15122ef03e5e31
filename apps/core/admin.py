"""Admin pages that belong to no single app: the audit record, the jobs, the quiet start."""

from datetime import datetime

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest
from procrastinate.contrib.django.admin import ProcrastinateJobAdmin
from procrastinate.contrib.django.models import ProcrastinateJob

from apps.core import audit
from apps.core.audit import Action
from apps.core.jobs import quiet_start
from apps.core.models import AuditRecord, QuietStart
from apps.core.operator_pages import OperatorAdmin, operator_action

admin.site.unregister(ProcrastinateJob)


class ActionFilter(admin.SimpleListFilter):
    title = "action"
    parameter_name = "action"

    def lookups(
        self,
        request: HttpRequest,
        model_admin: admin.ModelAdmin,  # type: ignore[type-arg]  # not generic at run time
    ) -> list[tuple[str, str]]:
        return [(action.value, action.value.replace("_", " ")) for action in Action]

    def queryset(
        self, request: HttpRequest, queryset: QuerySet[AuditRecord]
    ) -> QuerySet[AuditRecord]:
        return queryset.filter(action=self.value()) if self.value() else queryset


@admin.register(AuditRecord)
class AuditRecordAdmin(OperatorAdmin):
    searched = {"actor": "a user", "object_id": "the changed object", "request_id": "a request"}
    list_display = ("at", "action", "performed_by", "performed_on", "address", "details")
    list_filter = (ActionFilter,)

    @admin.display(description="by")
    def performed_by(self, record: AuditRecord) -> str:
        return f"{record.actor_kind} {record.actor}"

    @admin.display(description="done to")
    def performed_on(self, record: AuditRecord) -> str:
        return f"{record.object_type} {record.object_id}"


def _end(row: QuietStart, operator: audit.Actor, reason: str, now: datetime) -> None:
    quiet_start.end_quiet_start(operator=operator, reason=reason, now=now)


@admin.register(QuietStart)
class QuietStartAdmin(OperatorAdmin):
    """The quiet starts of this database: when it was restored, and when trading and sending
    resumed.
    """

    actions = (operator_action("end", "End the quiet start", _end),)
    list_display = ("__str__", "began_at", "snapshot_at", "ended_at")


@admin.register(ProcrastinateJob)
class JobAdmin(OperatorAdmin):
    """Jobs of the queue, read-only. The runs and backtests behind them have pages with actions."""

    list_display = ("id", "task_name", "queue_name", "status", "attempts", "scheduled_at", "args")
    list_filter = ("status",)
    inlines = ProcrastinateJobAdmin.inlines
