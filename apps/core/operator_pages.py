"""Base classes of the admin's pages: read-only, with every change audited.

Forms add, edit and delete nothing unless a page allows it. An operator acts on rows by an action of
their list, which asks for the reason.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from functools import reduce
from operator import or_
from typing import Any, ClassVar, Final

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.helpers import ActionForm
from django.contrib.admin.utils import unquote
from django.core.paginator import Paginator
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.functional import cached_property

from apps.core import audit
from apps.core.audit import Action
from apps.core.errors import ServiceError

MOST_COUNTED: Final = 10_000


class BoundedPaginator(Paginator):  # type: ignore[type-arg]  # not generic at run time
    """Count at most MOST_COUNTED rows: a table of millions is searched and filtered instead."""

    @cached_property
    def count(self) -> int:
        rows = self.object_list
        assert isinstance(rows, QuerySet), "the admin lists rows of the database"
        return rows.order_by()[:MOST_COUNTED].count()


class ReasonForm(ActionForm):
    """The action to take on the chosen rows of a list, and why."""

    reason = forms.CharField(max_length=200, required=False)


# What a service does: `do(row, operator, reason, now)`. It writes the audit record, and raises
# ServiceError when it is not possible.
OperatorVerb = Callable[[Any, audit.Actor, str, datetime], object]


def operator_action(name: str, label: str, do: OperatorVerb) -> Callable[..., None]:
    """Return an action for the `actions` of a page: it asks for a reason."""

    @admin.action(description=label)
    def act(page: AuditedAdmin, request: HttpRequest, chosen: QuerySet[Any]) -> None:
        reason = request.POST.get("reason", "").strip()
        if not reason:
            messages.error(request, "Write the reason too: it is put on record with your name.")
            return
        for row in chosen:
            try:
                do(row, acting_operator(request), reason, timezone.now())
                messages.success(request, f"Done. {label}: {row}.")
            except ServiceError as refusal:
                messages.error(request, f"{row}: {refusal}")

    act.__name__ = name
    return act


class AuditedAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not generic at run time
    """A page with actions. Every change by a form is audited; the history of an object is its audit
    records.
    """

    action_form = ReasonForm

    def construct_change_message(
        self, request: HttpRequest, form: Any, formsets: Any, add: bool = False
    ) -> list[dict[str, Any]]:
        """Add the values before and after to the names of the changed fields."""
        message: list[dict[str, Any]] = super().construct_change_message(
            request, form, formsets, add
        )
        for part in message:
            if "changed" in part:
                part["changed"]["values"] = {
                    name: _change(form, name) for name in form.changed_data
                }
        return message

    def log_addition(self, request: HttpRequest, obj: Model, message: Any) -> Any:
        self._record(request, Action.ADMIN_ADDED, obj, {})
        return super().log_addition(request, obj, message)

    def log_change(self, request: HttpRequest, obj: Model, message: Any) -> Any:
        values = [part["changed"].get("values", {}) for part in message if "changed" in part]
        self._record(request, Action.ADMIN_CHANGED, obj, values[0] if values else {})
        return super().log_change(request, obj, message)

    def log_deletions(self, request: HttpRequest, queryset: QuerySet[Any]) -> Any:
        for deleted in queryset:
            self._record(request, Action.ADMIN_DELETED, deleted, {})
        return super().log_deletions(request, queryset)

    def _record(
        self, request: HttpRequest, action: Action, subject: Model, details: Mapping[str, object]
    ) -> None:
        operator = acting_operator(request)
        audit.record(action, subject, actor=operator, now=timezone.now(), **details)

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: Any = None
    ) -> HttpResponse:
        """Show the audit records of the object instead of Django's own history."""
        return redirect(f"{reverse('admin:core_auditrecord_changelist')}?q={unquote(object_id)}")


def _change(form: Any, name: str) -> object:
    """Return the field's value before and after; a password is never shown."""
    if "password" in name:
        return "changed"
    return [form.initial.get(name), form.cleaned_data.get(name)]


def acting_operator(request: HttpRequest) -> audit.Actor:
    """Return the operator who uses the admin, as the actor of an audit record."""
    user = request.user
    assert isinstance(user, Model), "the admin opens to users alone"
    return audit.operator(user)


class ReadOnlyInline(admin.TabularInline):  # type: ignore[type-arg]  # not generic at run time
    """Rows that belong to an object, shown on its page."""

    extra = 0
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class OperatorAdmin(AuditedAdmin):
    """A read-only page with lists that stay fast at any size.

    A search looks for the whole term in the indexed columns `searched`, a mapping of columns to
    descriptions. If a row belongs to a user, `user_field` names the field, and the user's e-mail
    address finds it too.
    """

    class Media:
        css: ClassVar = {"all": ["operators/lists.css"]}

    searched: ClassVar[Mapping[str, str]] = {}
    user_field: ClassVar[str] = ""
    ordering = ("-pk",)
    list_per_page = 50
    paginator = BoundedPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    @property
    def search_help_text(self) -> str:  # type: ignore[override]  # said by what is searched
        names = " or ".join(self.searched.values())
        email = " An e-mail address finds the rows of its user." if self.user_field else ""
        return f"The id of {names}.{email}"

    def get_search_fields(self, request: HttpRequest) -> list[str]:
        return [*self.searched]

    def matching(self, term: str) -> Q:
        """Return the filter of a search."""
        if self.user_field and "@" in term:
            return Q(**{f"{self.user_field}__email": term.lower()})
        return reduce(or_, (Q(**{column: term}) for column in self.searched), Q())

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Search by `matching`; Django would look for each word anywhere in each column."""
        term = search_term.strip()
        return (queryset.filter(self.matching(term)) if term else queryset), False


class SymbolAdmin(OperatorAdmin):
    """Rows of an instrument, found by its whole symbol."""

    searched = {"symbol": "an instrument"}
    search_help_text = "A whole symbol, such as NSE:RELIANCE."

    def matching(self, term: str) -> Q:
        return Q(symbol=term.upper())
