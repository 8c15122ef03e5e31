"""The login of an operator to the admin, from the console."""

from typing import Final

from django.contrib import auth
from django.http import HttpRequest
from django.utils import timezone

from apps.accounts.credentials import passwords
from apps.accounts.login.login_limits import record_login
from apps.accounts.models import User
from apps.core import audit
from apps.core.audit import Action

ADMIN_BEGAN: Final = "admin_began"  # in Django's session, epoch seconds
ADMIN_USED: Final = "admin_used"
_BACKEND: Final = "django.contrib.auth.backends.ModelBackend"


def log_operator_in(request: HttpRequest, user: User, *, password: str) -> None:
    """Log the browser in to the admin too, by the password just proved; its session of the console
    stays.
    """
    user.password_fits_operators = passwords.is_fit_for_operators(password, user)
    user.save(update_fields=["password_fits_operators"])
    for name in (ADMIN_BEGAN, ADMIN_USED):  # of an earlier login to the admin
        request.session.pop(name, None)
    auth.login(request, user, backend=_BACKEND)
    record_login(user, now=timezone.now())
    audit.record(Action.ADMIN_LOGIN, user, actor=audit.operator(user), now=timezone.now())
