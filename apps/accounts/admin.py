"""What operators can look up and change of accounts: mark an address verified, set a password."""

from django.contrib import admin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.models import Group
from django.http import HttpRequest

from apps.accounts.models import Session, User

# Roles are three flags of the user; Django's groups would say nothing here.
admin.site.unregister(Group)


@admin.register(User)
class UserAdmin(DjangoUserAdmin):  # type: ignore[type-arg]  # not generic at run time
    """Accounts are made by signing up and are switched off, not deleted: their algorithms stay."""

    list_display = ("email", "name", "email_verified", "is_active", "role", "created_at")
    list_filter = ("email_verified", "is_active", "is_staff", "is_superuser")
    search_fields = ("email", "name")
    ordering = ("email",)
    filter_horizontal = ()
    readonly_fields = ("id", "email", "created_at")
    fieldsets = (
        (None, {"fields": ("id", "email", "password", "name", "created_at")}),
        ("State", {"fields": ("email_verified", "is_active")}),
        ("Role", {"fields": ("is_staff", "is_superuser")}),
    )

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: User | None = None) -> bool:
        return False


@admin.register(Session)
class SessionAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """Who is signed in, from where."""

    list_display = ("user", "created_at", "last_used_at", "expires_at", "ended_at", "end_reason")
    list_filter = ("end_reason",)
    search_fields = ("user__email", "address")
    ordering = ("-created_at",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Session | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Session | None = None) -> bool:
        return False
