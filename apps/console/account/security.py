"""Settings with effects beyond a session: password and address, keys, the second factor, the
export, closing the account.

Each of their forms asks for the password again and, with a second factor, for a code.
"""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeVar
from urllib.parse import parse_qs, urlsplit

import segno
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase
from django.utils.safestring import mark_safe

from apps.accounts import calls, services
from apps.accounts.calls import archive_response, device_of, log_operator_in
from apps.accounts.models import User
from apps.accounts.serializers import (
    AddressChangeSerializer,
    CodeSerializer,
    ExportSerializer,
    NewKeySerializer,
    PasswordChangeSerializer,
    ProofSerializer,
    TwoFactorSerializer,
)
from apps.accounts.services import AuthRealm, KeyScope, count_failure
from apps.console.gate import (
    SIGN_IN,
    by_field,
    console_page,
    count_as,
    go_to,
    let_in,
    login_session,
    sent,
    show,
)
from apps.core import database
from apps.core.errors import Fault, Forbidden, InvalidInput, NotFound
from apps.core.times import indian_time

_ADMIN: Final = "/admin/"
_SETTINGS: Final = "/app/settings"
_TWO_FACTOR: Final = "/app/settings/two-factor"
# Fields that no page repeats, and no text of an error.
_SECRETS: Final = ("password", "newPassword", "code", "token", "secretUrl")
_Answer = TypeVar("_Answer", bound=HttpResponseBase)


def require_password(request: HttpRequest, user: User) -> None:
    """Require the password, and the code of a second factor, with a form.

    Raises InvalidInput, TooManyRequests.
    """
    session = login_session(request)
    assert session is not None, "the gate lets nobody in without a session"
    count_as(request, "/api/auth/proof", user=user)
    body = ProofSerializer.read(sent(request.POST, "password", "code"))
    now = database.now()
    device = device_of(request, email=user.email)
    with count_failure(email=user.email, realm=AuthRealm.API, now=now, device=device):
        services.prove(
            user=user,
            session=session,
            password=body["password"],
            code=body.get("code"),
            now=now,
        )


def form_page(
    request: HttpRequest,
    user: User,
    template: str,
    context: Mapping[str, Any],
    *,
    act: Callable[[], _Answer],
) -> _Answer | HttpResponse:
    """Show a form that asks for the password.

    On POST call `act`, or show the problems beside their fields.
    """
    typed = request.POST.copy()
    for name in _SECRETS:
        typed.pop(name, None)
    shown = {**context, "typed": typed, "has_factor": services.has_two_factor(user)}
    if request.method != "POST":
        return show(request, template, shown)
    try:
        return act()
    except InvalidInput as refusal:
        shown["problems"] = by_field(refusal.faults, ("networks",))
        return show(request, template, shown, status=400)


def show_secret(request: HttpRequest, title: str, hint: str, *secrets: str) -> HttpResponse:
    """Show secrets that are shown only once."""
    return show(request, "secret", {"title": title, "hint": hint, "secrets": secrets})


@console_page()
def password_page(request: HttpRequest, user: User) -> HttpResponse:
    """Set another password, and end all other sessions."""

    def act() -> HttpResponse:
        require_password(request, user)
        texts = {"currentPassword": request.POST["password"], **sent(request.POST, "newPassword")}
        body = PasswordChangeSerializer.read(texts)
        session = login_session(request)
        assert session is not None, "the gate lets nobody in without a session"
        issued = services.change_password(
            user=user,
            session=session,
            new_password=body["new_password"],
            now=database.now(),
        )
        message = services.with_password_warning(
            "Password changed. Your other sessions are signed out.", body["new_password"]
        )
        return let_in(request, issued.session, _SETTINGS, message)

    return form_page(request, user, "password", {}, act=act)


@console_page()
def change_address_page(request: HttpRequest, user: User) -> HttpResponse:
    """Ask for another e-mail address, and send a link to the old and the new one."""
    services.require_mails()

    def act() -> HttpResponse:
        body = AddressChangeSerializer.read(sent(request.POST, "email"))
        require_password(request, user)
        now = database.now()
        services.request_new_address(user=user, new_email=body["email"], now=now)
        message = "We sent a link to both addresses. Open both to make the change."
        return go_to(request, _SETTINGS, message)

    return form_page(request, user, "address", {}, act=act)


@console_page()
def send_verification_page(request: HttpRequest, user: User) -> HttpResponse:
    """Send the link that verifies the address."""
    if request.method == "POST":
        count_as(request, "/api/auth/verification", user=user)
        services.send_verification(user=user, now=database.now())
        return go_to(request, _SETTINGS, f"Verification link sent to {user.email}.")
    return go_to(request, _SETTINGS)


@console_page()
def new_key_page(request: HttpRequest, user: User) -> HttpResponse:
    """Make an API key, and show its text once."""

    def act() -> HttpResponse:
        scopes = request.POST.getlist("scopes")
        body = NewKeySerializer.read({**sent(request.POST, "name"), "scopes": scopes})
        require_password(request, user)
        now = database.now()
        body["expires_at"] = now + services.KEY_LIFETIME
        key, text = services.create_key(user=user, **body, now=now)
        hint = "Programs send it as a bearer token. Expires in 90 days."
        return show_secret(request, f"Key {key.name}", hint, text)

    context = {
        "scopes": [scope.value for scope in KeyScope],
        "chosen": request.POST.getlist("scopes") or [KeyScope.READ.value],
    }
    return form_page(request, user, "new_key", context, act=act)


@console_page()
def two_factor_page(request: HttpRequest, user: User) -> HttpResponse:
    """Turn the second factor on, in two steps, or off, or make new recovery codes."""
    action = request.POST.get("action")
    context: dict[str, Any] = {
        "factor": TwoFactorSerializer.render(services.two_factor_state_of(user))
    }
    if action == "confirm":
        context |= _enrolment(services.pending_uri(user))

    def act() -> HttpResponse:
        match action:
            case "begin":
                require_password(request, user)
                uri = services.begin_two_factor(user=user, now=database.now())
                context.update(_enrolment(uri))
                return show(request, "two_factor", context)
            case "confirm":
                return _confirm(request, user)
            case "renew":
                require_password(request, user)
                codes = services.renew_recovery_codes(user=user, now=database.now())
                return _show_codes(request, codes)
            case "end":
                require_password(request, user)
                services.turn_off_two_factor(user=user, now=database.now())
                return go_to(request, _TWO_FACTOR, "Second factor is off.")
            case _:
                raise NotFound

    return form_page(request, user, "two_factor", context, act=act)


def _enrolment(uri: str) -> dict[str, Any]:
    """Return the address for an authenticator, its key, and its QR code, drawn here as SVG."""
    [key] = parse_qs(urlsplit(uri).query)["secret"]
    code = segno.make_qr(uri, error="m")
    drawing = code.svg_inline(scale=5, light="#fff", title="QR code of the second factor")
    return {"uri": uri, "key": key, "drawing": mark_safe(drawing)}


def _confirm(request: HttpRequest, user: User) -> HttpResponse:
    """Turn the second factor on by a first code. Raises InvalidInput, RecentProofRequired."""
    session = login_session(request)
    assert session is not None, "the gate lets nobody in without a session"
    now = database.now()
    count_as(request, "/api/auth/two-factor/confirm", user=user)
    services.require_proof_after_login(session, now=now)
    body = CodeSerializer.read(sent(request.POST, "code"))
    device = device_of(request, email=user.email)
    with count_failure(email=user.email, realm=AuthRealm.API, now=now, device=device):
        codes = services.confirm_two_factor(user=user, code=body["code"], now=now)
    return _show_codes(request, codes)


def _show_codes(request: HttpRequest, codes: list[str]) -> HttpResponse:
    hint = "Each works once in place of a one-time code. Keep them away from your phone."
    return show_secret(request, "Recovery codes", hint, *codes)


@console_page()
def ask_for_export_page(request: HttpRequest, user: User) -> HttpResponse:
    """Request an archive of all data stored about the user."""

    def act() -> HttpResponse:
        require_password(request, user)
        export = services.request_export(user=user, now=database.now())
        return go_to(request, f"/app/settings/export/{export.pk}")

    return form_page(request, user, "export", {}, act=act)


@console_page()
def export_page(request: HttpRequest, user: User, export_id: str) -> HttpResponseBase:
    """Show whether an archive is ready; on POST send it."""
    export = services.find_export(user=user, export_id=export_id, now=database.now())

    def act() -> StreamingHttpResponse:
        require_password(request, user)
        return archive_response(export)

    context = {"export": ExportSerializer.render(export)}
    return form_page(request, user, "export", context, act=act)


@console_page()
def admin_login_page(request: HttpRequest, user: User) -> HttpResponse:
    """Open the admin to an operator, once the password and the second factor are proved again."""
    if not user.is_staff:
        raise Forbidden(reason="This page is for operators.")

    def act() -> HttpResponse:
        require_password(request, user)
        log_operator_in(request, user, password=request.POST["password"])
        return go_to(request, _ADMIN)

    return form_page(request, user, "admin_login", {}, act=act)


@console_page()
def close_account_page(request: HttpRequest, user: User) -> HttpResponse:
    """Close the account, once its address is typed."""

    def act() -> HttpResponse:
        if request.POST.get("confirmation", "").strip().lower() != user.email.lower():
            raise InvalidInput(Fault("confirmation", f"must be {user.email}"))
        require_password(request, user)
        erase_at = services.close_account(user=user, now=database.now())
        calls.log_browser_out(request)
        until = indian_time(erase_at)
        return go_to(request, SIGN_IN, f"Closed. Sign in before {until} to keep the account.")

    return form_page(request, user, "close_account", {}, act=act)
