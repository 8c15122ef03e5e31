"""Sign up, sign in, ask for a new password, sign out."""

from typing import Any

from django.http import HttpRequest, HttpResponse

from apps.accounts import calls, services
from apps.accounts.calls import device_of, origin_of
from apps.accounts.models import User
from apps.accounts.serializers import (
    LogInSerializer,
    ResetRequestSerializer,
    SignUpSerializer,
)
from apps.accounts.services import (
    AuthRealm,
    EmailTaken,
    TwoFactorRequired,
    WrongCode,
    WrongCredentials,
    count_failure,
)
from apps.console.gate import (
    SIGN_IN,
    by_field,
    console_page,
    count_as,
    go_to,
    is_part,
    let_in,
    login_session,
    next_page,
    sent,
    show,
)
from apps.core import database
from apps.core.errors import Fault, InvalidInput, ServiceError


@console_page(public=True)
def sign_in_page(request: HttpRequest) -> HttpResponse:
    if login_session(request) is not None:
        return go_to(request, next_page(request))
    if request.method != "POST":
        return _entry(request, "sign_in")
    count_as(request, "/api/auth/login")
    now = database.now()
    try:
        body = LogInSerializer.read(sent(request.POST, "email", "password", "code"))
        device = device_of(request, email=body["email"])
        with count_failure(email=body["email"], realm=AuthRealm.API, now=now, device=device):
            issued = services.log_in(
                **body, **origin_of(request), now=now, is_known_device=device is not None
            )
    except (WrongCredentials, TwoFactorRequired, WrongCode, InvalidInput) as refusal:
        return _entry(request, "sign_in", refusal)
    return let_in(request, issued.session, next_page(request))


@console_page(public=True)
def sign_up_page(request: HttpRequest) -> HttpResponse:
    if login_session(request) is not None:
        return go_to(request, next_page(request))
    if request.method != "POST":
        return _entry(request, "sign_up")
    count_as(request, "/api/auth/signup")
    try:
        body = SignUpSerializer.read(sent(request.POST, "name", "email", "password"))
        if services.is_common_password(body["password"]) and "useCommon" not in request.POST:
            return _entry(
                request, "sign_up", InvalidInput(Fault("password", services.IS_COMMON_PASSWORD))
            )
        issued = services.sign_up(**body, **origin_of(request), now=database.now())
    except (EmailTaken, InvalidInput) as refusal:
        return _entry(request, "sign_up", refusal)
    welcome = "Welcome."
    if services.can_send_mails():
        welcome = f"Welcome. We sent a verification link to {body['email']}."
    return let_in(request, issued.session, next_page(request), welcome)


def _entry(
    request: HttpRequest, template: str, refusal: ServiceError | None = None
) -> HttpResponse:
    """Show a form for signing in again, with the problems beside their fields."""
    context: dict[str, Any] = {"next": next_page(request), "typed": request.POST}
    status = 200
    if isinstance(refusal, InvalidInput):
        context["problems"], status = by_field(refusal.faults), 400
        context["is_common"] = context["problems"].get("password") == services.IS_COMMON_PASSWORD
    elif isinstance(refusal, EmailTaken):
        context["problems"], status = {"email": str(refusal)}, 409
    elif refusal is not None:
        asks_for_code = isinstance(refusal, TwoFactorRequired | WrongCode)
        context |= {"refused": str(refusal), "asks_for_code": asks_for_code}
        if isinstance(refusal, TwoFactorRequired):
            context["refused"] = "Enter your one-time code too."
        status = 401
    part = f"parts/{template}_fields" if is_part(request) else template
    return show(request, part, context, status=200 if is_part(request) else status)


@console_page(public=True)
def ask_for_reset_page(request: HttpRequest) -> HttpResponse:
    """Send a link for a new password; the answer is the same for an unknown address."""
    context: dict[str, Any] = {"can_send": services.can_send_mails()}
    if request.method == "POST":
        count_as(request, "/api/auth/password-reset")
        body = ResetRequestSerializer.read(sent(request.POST, "email"))
        services.request_reset(email=body["email"])
        context["is_sent"] = True
    return show(request, "ask_for_reset", context)


@console_page()
def sign_out_page(request: HttpRequest, user: User) -> HttpResponse:
    if request.method == "POST":
        session = login_session(request)
        services.log_out(
            access_token=None,
            refresh_token=None,
            browser_session=session.pk if session else None,
            now=database.now(),
        )
        calls.log_browser_out(request)
    return go_to(request, SIGN_IN)
