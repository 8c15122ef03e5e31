"""What all pages of the admin have in common: they show, and whatever they change is on record.

Nothing is added, edited or deleted by a form unless a page says so. What an operator may do to a
thing is a verb of its own, with a page that asks for the reason.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
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
    """Counts no further than MOST_COUNTED: in a table of millions one searches and filters."""

    @cached_property
    def count(self) -> int:
        rows = self.object_list
        assert isinstance(rows, QuerySet), "the admin lists rows of the database"
        return rows.order_by()[:MOST_COUNTED].count()


@dataclass(frozen=True, slots=True)
class Verb:
    """Something an operator may do to one thing.

    `do(thing, operator, reason, now)` calls a service, which puts it on record and raises
    ServiceError when it cannot be done. Any: each page has a model of its own. What concerns
    everybody has words that must be `typed` first.
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
    """For what a stray click must not do."""

    confirmation = forms.CharField(max_length=50, strip=False)

    def __init__(self, wanted: str, data: QueryDict | None) -> None:
        super().__init__(data)
        self._wanted = wanted
        self.fields["confirmation"].help_text = f"Type {wanted} to confirm."

    def clean_confirmation(self) -> str:
        if self.cleaned_data["confirmation"] != self._wanted:
            raise forms.ValidationError(f"Type {self._wanted}, as it stands here.")
        return self._wanted


class OnRecord(admin.ModelAdmin):  # type: ignore[type-arg]  # not generic at run time
    """What its forms change is on record; the history of a thing is what is on record of it."""

    def construct_change_message(
        self, request: HttpRequest, form: Any, formsets: Any, add: bool = False
    ) -> list[dict[str, Any]]:
        """Django names the fields alone; here each has its values before and after. Any: as Django
        has it.
        """
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
        for thing in queryset:
            self._record(request, Action.ADMIN_DELETED, thing, {})
        return super().log_deletions(request, queryset)

    def _record(
        self, request: HttpRequest, action: Action, thing: Model, details: Mapping[str, object]
    ) -> None:
        by = operator_of(request)
        audit.record(action, actor=by, subject=thing, details=details, now=timezone.now())

    def history_view(
        self, request: HttpRequest, object_id: str, extra_context: Any = None
    ) -> HttpResponse:
        """Any: as Django has it."""
        return redirect(f"{reverse('admin:core_auditrecord_changelist')}?q={unquote(object_id)}")


def _change(form: Any, name: str) -> object:
    """Any: each page has a form of its own."""
    if "password" in name:
        return "changed"
    return [form.initial.get(name), form.cleaned_data.get(name)]


def operator_of(request: HttpRequest) -> audit.Actor:
    user = request.user
    assert isinstance(user, Model), "the admin opens to users alone"
    return audit.operator(user)


class Shown(admin.TabularInline):  # type: ignore[type-arg]  # not generic at run time
    """What belongs to a thing, on its page, to be looked at."""

    extra = 0
    can_delete = False

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class OperatorAdmin(OnRecord):
    """A page to look at, with verbs; its lists stay quick however many rows there are."""

    verbs: ClassVar[Sequence[Verb]] = ()

    list_per_page = 50
    paginator = BoundedPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    change_form_template = "operators/thing.html"

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def matching(self, term: str) -> Q:
        """What a search finds, by columns with an index; for pages that have `search_fields`."""
        return Q()

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        """Django would look for every word anywhere in every column. Any: as Django has it."""
        term = search_term.strip()
        return (queryset.filter(self.matching(term)) if term else queryset), False

    def get_urls(self) -> list[URLPattern]:
        """Each verb has the address `<id>/do/<verb>/`."""
        name = f"{self.opts.app_label}_{self.opts.model_name}_verb"
        view = self.admin_site.admin_view(self.verb_view)
        return [path("<path:object_id>/do/<str:verb>/", view, name=name), *super().get_urls()]

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        """Any: as Django has it."""
        thing = context["original"]
        context["verbs"] = [verb for verb in self.verbs if thing and verb.offered(thing)]
        return super().render_change_form(request, context, *args, **kwargs)

    def verb_view(self, request: HttpRequest, object_id: str, verb: str) -> HttpResponse:
        """Ask for the reason, then do it."""
        chosen = next((one for one in self.verbs if one.name == verb), None)
        thing = self.get_object(request, unquote(object_id))
        if chosen is None or thing is None:
            raise Http404
        form = chosen.form(request.POST if request.method == "POST" else None)
        if not form.is_valid():
            return self._ask(request, chosen, thing, form)
        try:
            chosen.do(thing, operator_of(request), form.cleaned_data["reason"], timezone.now())
            messages.success(request, f"Done. {chosen.label}: {thing}.")
        except ServiceError as refusal:
            messages.error(request, str(refusal))
        return redirect(self._address_of(thing))

    def _ask(self, request: HttpRequest, verb: Verb, thing: Model, form: Form) -> HttpResponse:
        context = {
            **self.admin_site.each_context(request),
            "title": f"{verb.label}: {thing}",
            "verb": verb,
            "thing": thing,
            "back": self._address_of(thing),
            "form": form,
            "opts": self.opts,
        }
        return TemplateResponse(request, "operators/verb.html", context)

    def _address_of(self, thing: Model) -> str:
        page = f"admin:{self.opts.app_label}_{self.opts.model_name}_change"
        return reverse(page, args=[thing.pk])
