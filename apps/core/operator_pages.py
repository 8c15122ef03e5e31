"""Base classes of the admin's pages: read-only, with every change audited.

Forms add, edit and delete nothing unless a page allows it. An operator acts on an object through an
AdminAction, a page that asks for the reason.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import reduce
from operator import or_
from typing import Any, ClassVar, Final

from django import forms
from django.contrib import admin, messages
from django.contrib.admin.utils import unquote
from django.core.paginator import Paginator
from django.db.models import Model, Q, QuerySet
from django.forms import Form
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path, reverse
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


@dataclass(frozen=True, slots=True)
class AdminAction:
    """An action of operators on one object.

    `do(object, operator, reason, now)` calls a service, which writes the audit record and raises
    ServiceError if the action is not possible. An action that concerns every user has a text in
    `typed`, which the operator must type first.
    """

    name: str
    label: str
    do: Callable[[Any, audit.Actor, str, datetime], object]
    offered: Callable[[Any], bool]
    typed: str = ""

    def form(self, data: QueryDict | None) -> Form:
        return TypedForm(self.typed, data) if self.typed else ReasonForm(data)


class ReasonForm(Form):
    reason = forms.CharField(max_length=200, help_text="It is put on record with your name.")


class TypedForm(ReasonForm):
    """The form of an action that a stray click must not trigger."""

    confirmation = forms.CharField(max_length=50, strip=False)

    def __init__(self, wanted: str, data: QueryDict | None) -> None:
        super().__init__(data)
        self._wanted = wanted
        self.fields["confirmation"].help_text = f"Type {wanted} to confirm."

    def clean_confirmation(self) -> str:
        if self.cleaned_data["confirmation"] != self._wanted:
            raise forms.ValidationError(f"Type {self._wanted}, as it stands here.")
        return self._wanted


class AuditedAdmin(admin.ModelAdmin):  # type: ignore[type-arg]  # not generic at run time
    """A page with actions. Every change by a form is audited; the history of an object is its audit
    records.
    """

    object_actions: ClassVar[Sequence[AdminAction]] = ()
    change_form_template = "operators/change_form.html"

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

    def get_urls(self) -> list[URLPattern]:
        """Add the address `<id>/do/<action>/` of the object's actions."""
        name = f"{self.opts.app_label}_{self.opts.model_name}_action"
        view = self.admin_site.admin_view(self.action_view)
        return [path("<path:object_id>/do/<str:action>/", view, name=name), *super().get_urls()]

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """Offer the actions that are possible for the object now."""
        shown = context["original"]
        context["object_actions"] = [
            action for action in self.object_actions if shown and action.offered(shown)
        ]
        return super().render_change_form(request, context, *args, **kwargs)

    def action_view(self, request: HttpRequest, object_id: str, action: str) -> HttpResponse:
        """Ask for the reason, then do it."""
        chosen = next((known for known in self.object_actions if known.name == action), None)
        obj = self.get_object(request, unquote(object_id))
        if chosen is None or obj is None:
            raise Http404
        change_page = reverse(
            f"admin:{self.opts.app_label}_{self.opts.model_name}_change", args=[obj.pk]
        )
        form = chosen.form(request.POST if request.method == "POST" else None)
        if not form.is_valid():
            context = {
                **self.admin_site.each_context(request),
                "title": f"{chosen.label}: {obj}",
                "action": chosen,
                "object": obj,
                "back": change_page,
                "form": form,
                "opts": self.opts,
            }
            return TemplateResponse(request, "operators/action.html", context)
        try:
            chosen.do(obj, acting_operator(request), form.cleaned_data["reason"], timezone.now())
            messages.success(request, f"Done. {chosen.label}: {obj}.")
        except ServiceError as refusal:
            messages.error(request, str(refusal))
        return redirect(change_page)


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
