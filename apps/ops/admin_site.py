"""The admin site: logins, failed logins and logouts are in the audit record."""

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import update_wrapper
from typing import Any, Final
from zoneinfo import ZoneInfo

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.admin import AdminSite
from django.contrib.admin.forms import AdminAuthenticationForm
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.contrib.auth.forms import PasswordChangeForm
from django.contrib.auth.models import AnonymousUser
from django.contrib.auth.views import PasswordChangeView
from django.core.exceptions import ValidationError
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone

from apps.accounts import services
from apps.accounts.calls import ADMIN_BEGAN, ADMIN_USED
from apps.accounts.models import User
from apps.accounts.services import (
    AuthRealm,
    NotAFailure,
    count_failure,
    is_fit_for_operators,
    record_login,
)
from apps.core import audit, database, limits, requests
from apps.core.audit import Action
from apps.ops.monitoring.overview import overview

TITLE: Final = "Algotrade operators"
PATH: Final = "/admin/"
WEAK_PASSWORD: Final = (
    "Your password is older than your role, or than the rules for operators: choose another."
)
SECOND_FACTOR: Final = "/app/settings/two-factor"
MAX_AGE: Final = timedelta(hours=8)
MAX_IDLE: Final = timedelta(minutes=30)
_INDIA: Final = ZoneInfo("Asia/Kolkata")


def _count_the_address() -> None:
    """Raises TooManyRequests, LimiterDown."""
    scope = limits.admin_login_scope(requests.current_origin().address or "unknown")
    limits.refuse_exceeded(limits.count_request(scope) if scope else None)


class CodeRequired(ValidationError, NotAFailure):
    """The password was right, and the account also needs a code."""


class LoginForm(AdminAuthenticationForm):
    code = forms.CharField(
        label="One-time code",
        max_length=40,
        required=False,
        help_text="or a recovery code, of an account with two-factor authentication",
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code"}),
    )

    def clean(self) -> dict[str, Any]:
        """Check the limits of the address and of the account before hashing a password."""
        if not {"username", "password"} <= self.cleaned_data.keys():
            return self.cleaned_data  # a field is missing, as the form says; nothing is tried
        try:
            _count_the_address()
            email, now = self._email(), timezone.now()
            with count_failure(email=email, realm=AuthRealm.ADMIN, now=now):
                return self._signed_in()
        except (limits.TooManyRequests, limits.LimiterDown) as refusal:
            raise ValidationError(str(refusal)) from refusal

    def _signed_in(self) -> dict[str, Any]:
        try:
            cleaned = super().clean()
        except ValidationError:
            self._record(Action.ADMIN_LOGIN_FAILED, audit.STRANGER)
            raise
        self._check_code()
        self._judge_password()
        record_login(self.get_user(), now=timezone.now())
        self._record(Action.ADMIN_LOGIN, audit.operator(self.get_user()))
        return dict(cleaned)

    def _check_code(self) -> None:
        """Raises CodeRequired, ValidationError."""
        user, code = self.get_user(), self.cleaned_data.get("code")
        if not services.has_two_factor(user):
            return
        if not code:
            raise CodeRequired("This account asks for a one-time code too.")
        if not services.take_code(user, code, now=timezone.now()):
            self._record(Action.ADMIN_LOGIN_FAILED, audit.STRANGER)
            raise ValidationError("The one-time code is wrong, or was used before.")

    def _judge_password(self) -> None:
        """Store whether the password meets the rules for operators: it may be older than the rules,
        or than the user's role.
        """
        user: User = self.get_user()
        user.password_fits_operators = is_fit_for_operators(self.cleaned_data["password"], user)
        user.save(update_fields=["password_fits_operators"])

    def _email(self) -> str:
        return services.normalize_address(self.cleaned_data.get("username") or "")

    def _record(self, action: Action, actor: audit.Actor) -> None:
        """Record the account and not the typed text, because people type passwords there."""
        tried = User.objects.filter(email=self._email()).first()
        audit.record(action, tried, actor=actor, now=timezone.now())


class NewPasswordForm(PasswordChangeForm):
    """The form for operators to change their own password."""

    required_css_class = "required"

    def clean_old_password(self) -> str:
        """Count a wrong password as a failed login, so that nobody guesses here instead."""
        try:
            with count_failure(email=self.user.email, realm=AuthRealm.ADMIN, now=timezone.now()):
                return super().clean_old_password()
        except (limits.TooManyRequests, limits.LimiterDown) as refusal:
            raise ValidationError(str(refusal)) from refusal

    @transaction.atomic
    def save(self, commit: bool = True) -> User:
        user = super().save(commit)
        services.end_with_old_password(user, actor=audit.operator(user), now=timezone.now())
        return user


class OperatorSite(AdminSite):
    site_header = site_title = TITLE
    index_title = "Overview"
    site_url = None
    enable_nav_sidebar = False  # lists are wide
    login_form = LoginForm
    login_template = "operators/login.html"
    index_template = "operators/index.html"

    def index(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> TemplateResponse:
        """The first page: health, queues, algorithms in error, feed and kill switches."""
        return super().index(request, {**overview(now=database.now()), **(extra_context or {})})

    def admin_view(self, view: Any, cacheable: bool = False) -> Any:
        """Redirect operators without a required second factor or a good password to its page, from
        every page; the second factor is set up in the console.
        """
        page: Callable[..., HttpResponseBase] = super().admin_view(view, cacheable)

        def checked(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
            if view == self.logout or not self.has_permission(request):
                return page(request, *args, **kwargs)
            if _must_set_up(request.user):
                return redirect(SECOND_FACTOR)
            if view != self.password_change and not _fits_operators(request.user):
                messages.warning(request, WEAK_PASSWORD)
                return redirect("admin:password_change")
            return page(request, *args, **kwargs)

        return update_wrapper(checked, view)

    def password_change(  # type: ignore[override]  # a redirect, once it is changed
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponseBase:
        """The page for operators to change their password."""
        context = {**self.each_context(request), **(extra_context or {})}
        done = reverse("admin:password_change_done")
        page = PasswordChangeView.as_view(
            form_class=NewPasswordForm, success_url=done, extra_context=context
        )
        return page(request)

    def login(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> HttpResponse:
        answer = super().login(request, extra_context)
        if request.method == "POST" and answer.status_code == 302:
            request.session[ADMIN_BEGAN] = request.session[ADMIN_USED] = timezone.now().timestamp()
        return answer

    def logout(
        self, request: HttpRequest, extra_context: dict[str, Any] | None = None
    ) -> TemplateResponse:
        if isinstance(request.user, User):
            actor = audit.operator(request.user)
            audit.record(Action.ADMIN_LOGOUT, request.user, actor=actor, now=timezone.now())
        return super().logout(request, extra_context)


def _must_set_up(user: object) -> bool:
    return (
        settings.REQUIRE_OPERATOR_2FA
        and isinstance(user, User)
        and not services.has_two_factor(user)
    )


def _fits_operators(user: object) -> bool:
    return isinstance(user, User) and user.password_fits_operators


class AdminSessionMiddleware:
    """End a login to the admin MAX_AGE after it began, and MAX_IDLE after its last request. Its
    pages show Indian time.

    Django's session itself stays: the same cookie may be a login to the API.
    """

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponseBase]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponseBase:
        if request.path.startswith(PATH) and SESSION_KEY in request.session:
            now = timezone.now()
            reason = _reason_to_end(request, now=now)
            if reason is None:
                request.session[ADMIN_USED] = now.timestamp()
            else:
                _end(request, reason=reason, now=now)
        if not request.path.startswith(PATH):
            return self.get_response(request)
        with timezone.override(_INDIA):
            return self.get_response(request)


def _reason_to_end(request: HttpRequest, *, now: datetime) -> str | None:
    """Return "age" or "idle" for an ended login, else None."""
    seconds = now.timestamp()
    if seconds - request.session.setdefault(ADMIN_BEGAN, seconds) >= MAX_AGE.total_seconds():
        return "age"
    idle = seconds - request.session.setdefault(ADMIN_USED, seconds)
    return "idle" if idle >= MAX_IDLE.total_seconds() else None


def _end(request: HttpRequest, *, reason: str, now: datetime) -> None:
    if isinstance(request.user, User):
        audit.record(Action.ADMIN_LOGOUT, request.user, actor=audit.SYSTEM, now=now, reason=reason)
    for name in (SESSION_KEY, BACKEND_SESSION_KEY, HASH_SESSION_KEY, ADMIN_BEGAN, ADMIN_USED):
        request.session.pop(name, None)
    request.user = AnonymousUser()
