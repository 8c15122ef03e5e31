"""Calls that give out a credential or data with a longer life than the session.

They need a recent proof of identity.
"""

from collections.abc import Callable
from functools import wraps
from typing import Any, TypeVar

from django.http.response import HttpResponseBase
from rest_framework.request import Request

from apps.accounts.login import services
from apps.accounts.login.services import RecentProofRequired
from apps.accounts.models import LoginSession

Method = TypeVar("Method", bound=Callable[..., HttpResponseBase])


def needs_recent_proof(method: Method) -> Method:
    """Refuse a session without a recent proof of identity; API keys pass.

    Apply it outside of `idempotent`, which would remember the refusal.
    """

    @wraps(method)
    def checked(self: Any, request: Request, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if isinstance(request.auth, LoginSession):
            services.require_recent_proof(request.auth, now=self.now)
        return method(self, request, *args, **kwargs)

    refusals = (*getattr(method, "refusals", ()), RecentProofRequired)
    checked.refusals = refusals  # type: ignore[attr-defined]  # as `refuses` says them
    return checked  # type: ignore[return-value]
