"""Admin pages that belong to no single app: the audit record, the jobs, the quiet start."""

import json
from datetime import datetime
from typing import Final

from django.contrib import admin
from django.contrib.auth import get_user_model
from django.db.models import OuterRef, QuerySet, Subquery
from django.http import HttpRequest
from django.utils.text import Truncator
from procrastinate.contrib.django.admin import ProcrastinateJobAdmin
from procrastinate.contrib.django.models import ProcrastinateJob

from apps.core import audit
from apps.core.audit import Action
from apps.core.jobs import quiet_start
from apps.core.models import AuditRecord, QuietStart
from apps.core.operator_pages import OperatorAdmin, operator_action

# Characters of the details of an audit record in the list.
_MOST_DETAILS: Final = 60

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
    list_display = ("at", "action", "performed_by", "performed_on", "address", "short_details")
    list_filter = (ActionFilter,)

    def get_queryset(self, request: HttpRequest) -> QuerySet[AuditRecord]:
        users = get_user_model().objects.filter(pk=OuterRef("actor"))
        rows: QuerySet[AuditRecord] = super().get_queryset(request)
        return rows.annotate(actor_email=Subquery(users.values("email")))

    @admin.display(description="by")
    def performed_by(self, record: AuditRecord) -> str:
        name = getattr(record, "actor_email", None) or record.actor
        return f"{record.actor_kind} {name}".strip()

    @admin.display(description="details")
    def short_details(self, record: AuditRecord) -> str:
        return Truncator(json.dumps(record.details, default=str)).chars(_MOST_DETAILS)

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
