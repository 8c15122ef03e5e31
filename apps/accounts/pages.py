"""The pages that links in mails lead to. Opening one changes nothing; its button does."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone
from django.views.decorators.cache import never_cache
from django.views.decorators.csrf import csrf_protect
from django.views.decorators.http import require_http_methods

from apps.accounts import email_links
from apps.accounts.models import EmailLink, LinkPurpose
from apps.core.errors import InvalidInput, ServiceError

Act = Callable[[HttpRequest, str], str]
PASSWORD_FIELD = "newPassword"


def _page(
    request: HttpRequest, token: str, act: Act, *purposes: LinkPurpose, template: str
) -> HttpResponse:
    """Show the page of a link; on POST `act` does what the link is for and says so."""
    context: dict[str, Any] = {}
    status = 200
    try:
        link: EmailLink = email_links.find_link(token, *purposes, now=timezone.now())
        context["link"] = link
        if request.method == "POST":
            context["done"] = act(request, token)
    except InvalidInput as refusal:
        context["error"], status = refusal.faults[0].message, 400
    except ServiceError as refusal:
        context, status = {"refusal": str(refusal)}, 422
    return render(request, f"accounts/{template}.html", context, status=status)


def _public(view: Callable[[HttpRequest, str], HttpResponse]) -> Any:
    return never_cache(csrf_protect(require_http_methods(["GET", "HEAD", "POST"])(view)))


@_public
def verification_page(request: HttpRequest, token: str) -> HttpResponse:
    def act(request: HttpRequest, token: str) -> str:
        user = email_links.verify_address(token=token, now=timezone.now())
        return f"{user.email} is verified."

    return _page(request, token, act, LinkPurpose.VERIFY, template="verify")


@_public
def reset_page(request: HttpRequest, token: str) -> HttpResponse:
    def act(request: HttpRequest, token: str) -> str:
        email_links.reset_password(
            token=token,
            new_password=request.POST.get(PASSWORD_FIELD, ""),
            revoke_keys="revokeKeys" in request.POST,
            now=timezone.now(),
        )
        return "The password is changed, and all sessions have ended. Log in with the new one."

    return _page(request, token, act, LinkPurpose.RESET, template="reset")


@_public
def address_page(request: HttpRequest, token: str) -> HttpResponse:
    def act(request: HttpRequest, token: str) -> str:
        if email_links.confirm_new_address(token=token, now=timezone.now()):
            return "The address of the account is changed."
        return "Confirmed. The change is made when the link sent to the other address is used too."

    purposes = (LinkPurpose.LEAVE_ADDRESS, LinkPurpose.TAKE_ADDRESS)
    return _page(request, token, act, *purposes, template="address")
