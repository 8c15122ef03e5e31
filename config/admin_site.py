"""The admin's front door: who comes in, who is turned away and who leaves is on record."""

from typing import Any, Final

from django.contrib.admin import AdminSite
from django.contrib.admin.forms import AdminAuthenticationForm
from django.core.exceptions import ValidationError
from django.http import HttpRequest
from django.template.response import TemplateResponse
from django.utils import timezone

from apps.accounts import addresses
from apps.accounts.models import User
from apps.core import audit, limits, request_origin
from apps.core.audit import Action

TITLE: Final = "Algotrade operators"


def _count_the_address() -> None:
    """Raises TooManyRequests, LimiterDown."""
    bucket = limits.admin_login(request_origin.current().address or "unknown")
    limits.refuse_exceeded(limits.count(bucket) if bucket else None)


class LoginForm(AdminAuthenticationForm):
    def clean(self) -> dict[str, Any]:
        """No password is hashed before the limits of the address and of the account have spoken.

        Any: as Django has it.
        """
        try:
            _count_the_address()
            with limits.failures_counted(limits.failures(self._email())):
                return self._signed_in()
        except (limits.TooManyRequests, limits.LimiterDown) as refusal:
            raise ValidationError(str(refusal)) from refusal

    def _signed_in(self) -> dict[str, Any]:
        try:
            cleaned = super().clean()
        except ValidationError:
            self._record(Action.ADMIN_LOGIN_FAILED, audit.STRANGER)
            raise
        self._record(Action.ADMIN_LOGIN, audit.operator(self.get_user()))
        return dict(cleaned)

    def _email(self) -> str:
        return addresses.folded(self.cleaned_data.get("username") or "")

    def _record(self, action: Action, actor: audit.Actor) -> None:
        """Not what was typed as the address of nobody: people type passwords there."""
        tried = User.objects.filter(email=self._email()).first()
        audit.record(action, actor=actor, subject=tried, now=timezone.now())


class OperatorSite(AdminSite):
    site_header = site_title = TITLE
    index_title = "Overview"
    site_url = None
    enable_nav_sidebar = False  # lists are wide
    login_form = LoginForm

    def logout(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> TemplateResponse:
        """Any: as Django has it."""
        if isinstance(request.user, User):
            actor = audit.operator(request.user)
            audit.record(Action.ADMIN_LOGOUT, actor=actor, subject=request.user, now=timezone.now())
        return super().logout(request, extra_context)
