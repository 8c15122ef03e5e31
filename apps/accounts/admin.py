"""Users, login sessions and API keys for operators, who may change users and end the others."""

from http import HTTPStatus
from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group
from django.db import transaction
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from apps.accounts import services
from apps.accounts.models import ApiKey, LoginSession, SessionEndReason, User
from apps.core.operator_pages import AuditedAdmin, BoundedPaginator, OperatorAdmin, acting_operator

# Roles are flags of the user; Django's groups would say nothing here.
admin.site.unregister(Group)


@admin.register(User)
class UserAdmin(AuditedAdmin, DjangoUserAdmin):  # type: ignore[type-arg]  # not generic at run time
    """Accounts are made by signing up and deactivated, not deleted: their algorithms stay.

    Operators change users; only admins change operators and admins, and grant these roles.
    """

    paginator = BoundedPaginator
    show_full_result_count = False
    show_facets = admin.ShowFacets.NEVER
    list_display = ("email", "name", "email_verified", "is_active", "role", "created_at")
    list_filter = ("email_verified", "is_active", "is_staff", "is_superuser")
    search_fields = ("email", "name")
    ordering = ("email",)
    filter_horizontal = ()
    fieldsets = (
        (None, {"fields": ("id", "email", "password", "name", "created_at")}),
        ("State", {"fields": ("email_verified", "is_active")}),
        ("Role", {"fields": ("is_staff", "is_superuser")}),
    )

    def get_readonly_fields(self, request: HttpRequest, obj: User | None = None) -> tuple[str, ...]:
        fixed = ("id", "email", "created_at")
        return fixed if _is_admin(request) else (*fixed, "is_staff", "is_superuser")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        is_above = obj is not None and (obj.is_staff or obj.is_superuser)
        return super().has_change_permission(request, obj) and (_is_admin(request) or not is_above)

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: bool) -> None:
        super().save_model(request, obj, form, change)
        if not obj.is_active:
            services.deactivate(user=obj, by=acting_operator(request), now=timezone.now())

    @transaction.atomic
    def user_change_password(
        self, request: HttpRequest, id: str, form_url: str = ""
    ) -> HttpResponse:
        """Change the password and end all sessions of the user."""
        response = super().user_change_password(request, id, form_url)
        if response.status_code == HTTPStatus.FOUND:
            sessions = LoginSession.objects.filter(user_id=id)
            _end(sessions, request)
        return response


def _is_admin(request: HttpRequest) -> bool:
    return isinstance(request.user, User) and request.user.is_superuser


def _end(sessions: QuerySet[LoginSession], request: HttpRequest) -> None:
    by = acting_operator(request)
    services.end(sessions, reason=SessionEndReason.OPERATOR, now=timezone.now(), by=by)


def _of_user(term: str) -> Q:
    return Q(user__email=term.lower()) if "@" in term else Q(user_id=term)


@admin.register(LoginSession)
class SessionAdmin(OperatorAdmin):
    """Login sessions, which can be ended."""

    list_display = ("user", "created_at", "last_used_at", "expires_at", "ended_at", "end_reason")
    list_filter = ("end_reason",)
    list_select_related = ("user",)
    search_fields = ("user",)
    search_help_text = "A user's e-mail address or id."
    ordering = ("-id",)
    exclude = ("token_id", "previous_token_id")
    actions = ("end",)

    def matching(self, term: str) -> Q:
        return _of_user(term)

    @admin.action(description="End the selected sessions")
    def end(self, request: HttpRequest, sessions: QuerySet[LoginSession]) -> None:
        _end(sessions, request)


@admin.register(ApiKey)
class ApiKeyAdmin(OperatorAdmin):
    """API keys, which can be revoked."""

    list_display = (
        "user", "name", "scopes", "last_four", "created_at", "last_used_at", "expires_at",
        "revoked_at",
    )  # fmt: skip
    list_select_related = ("user",)
    search_fields = ("user",)
    search_help_text = "A user's e-mail address or id."
    ordering = ("-id",)
    exclude = ("digest",)
    actions = ("revoke",)

    def matching(self, term: str) -> Q:
        return _of_user(term)

    @admin.action(description="Revoke the selected keys")
    def revoke(self, request: HttpRequest, keys: QuerySet[ApiKey]) -> None:
        services.revoke(keys, now=timezone.now(), by=acting_operator(request))
