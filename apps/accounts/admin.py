"""Accounts for operators, who may change users, and end their sessions and keys.

No page shows a secret or its hash.
"""

from http import HTTPStatus
from typing import Any

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group
from django.db import transaction
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.utils import timezone

from apps.accounts import mails
from apps.accounts.login import operators, services
from apps.accounts.mails import MailKind
from apps.accounts.models import (
    ApiKey,
    EmailLink,
    LoginSession,
    SecondFactor,
    SessionEndReason,
    User,
)
from apps.core.operator_pages import (
    AuditedAdmin,
    BoundedPaginator,
    OperatorAdmin,
    acting_operator,
    operator_action,
)

# Roles are flags of the user; Django's groups would say nothing here.
admin.site.unregister(Group)


@admin.register(User)
class UserAdmin(AuditedAdmin, DjangoUserAdmin):  # type: ignore[type-arg]  # not generic at run time
    """Accounts are made by signing up.

    They are deactivated, not deleted, because their algorithms stay. Operators change users; only
    admins change operators and admins, and grant these roles.
    """

    actions = (
        operator_action("unlock", "Forget wrong passwords", operators.unlock),
        operator_action(
            "remove-second-factor", "Remove the second factor", operators.remove_second_factor
        ),
    )
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
        """Change the password, end all sessions of the user, and tell the user."""
        response = super().user_change_password(request, id, form_url)
        if response.status_code == HTTPStatus.FOUND:
            user, now = User.objects.get(pk=id), timezone.now()
            _end(user.sessions.all(), request)
            mails.expire_links(user, now=now)
            mails.notify_by_mail(user, MailKind.PASSWORD_CHANGED, now=now)
        return response


def _is_admin(request: HttpRequest) -> bool:
    return isinstance(request.user, User) and request.user.is_superuser


def _end(sessions: QuerySet[LoginSession], request: HttpRequest) -> None:
    by = acting_operator(request)
    services.end(sessions, reason=SessionEndReason.OPERATOR, now=timezone.now(), by=by)


class BelongingAdmin(OperatorAdmin):
    """Rows that belong to a user, found by the user's address or id."""

    list_select_related = ("user",)
    searched = {"user_id": "a user"}
    user_field = "user"


@admin.register(LoginSession)
class SessionAdmin(BelongingAdmin):
    """Login sessions, with an action that ends them."""

    list_display = ("user", "created_at", "last_used_at", "expires_at", "ended_at", "end_reason")
    list_filter = ("end_reason",)
    exclude = ("token_id", "previous_token_id")
    actions = ("end",)

    @admin.action(description="End the selected sessions")
    def end(self, request: HttpRequest, sessions: QuerySet[LoginSession]) -> None:
        _end(sessions, request)


@admin.register(ApiKey)
class ApiKeyAdmin(BelongingAdmin):
    """API keys, with an action that revokes them."""

    list_display = (
        "user",
        "name",
        "scopes",
        "last_four",
        "created_at",
        "last_used_at",
        "last_address",
        "expires_at",
        "revoked_at",
    )
    exclude = ("digest",)
    actions = ("revoke",)

    @admin.action(description="Revoke the selected keys")
    def revoke(self, request: HttpRequest, keys: QuerySet[ApiKey]) -> None:
        services.revoke(keys, now=timezone.now(), by=acting_operator(request))


@admin.register(SecondFactor)
class SecondFactorAdmin(BelongingAdmin):
    """Second factors. The page of the user removes them."""

    list_display = ("user", "created_at", "confirmed_at")
    exclude = ("secret", "last_step")


@admin.register(EmailLink)
class EmailLinkAdmin(BelongingAdmin):
    """Links in mails: their purpose, their address, and whether they were used."""

    list_display = ("user", "purpose", "email", "created_at", "expires_at", "used_at")
    list_filter = ("purpose",)
