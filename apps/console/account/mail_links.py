"""The pages of links in mails. Opening one changes nothing; its button does."""

from collections.abc import Callable
from typing import Any

from django.http import HttpRequest, HttpResponse

from apps.accounts import services
from apps.accounts.models import LinkPurpose
from apps.console.gate import by_field, console_page, show
from apps.core import database
from apps.core.errors import InvalidInput, ServiceError


def _page(
    request: HttpRequest,
    token: str,
    template: str,
    *purposes: LinkPurpose,
    act: Callable[[], str],
) -> HttpResponse:
    """Show the page of a link; on POST call `act`, and show its message."""
    context: dict[str, Any] = {"typed": request.POST}
    status = 200
    try:
        now = database.now()
        context["link"] = services.find_link(token, *purposes, now=now)
        if request.method == "POST":
            context["done"] = act()
    except InvalidInput as refusal:
        context["problems"], status = by_field(refusal.faults), 400
    except ServiceError as refusal:
        context, status = {"refused": str(refusal)}, 422
    return show(request, template, context, status=status)


@console_page(public=True)
def verification_page(request: HttpRequest, token: str) -> HttpResponse:
    def act() -> str:
        user = services.verify_address(token=token, now=database.now())
        return f"{user.email} is verified."

    return _page(request, token, "verify", LinkPurpose.VERIFY, act=act)


@console_page(public=True)
def reset_page(request: HttpRequest, token: str) -> HttpResponse:
    def act() -> str:
        services.reset_password(
            token=token,
            new_password=request.POST.get("newPassword", ""),
            end_keys="endKeys" in request.POST,
            now=database.now(),
        )
        return services.with_password_warning(
            "Your password is changed. Sign in with it.",
            request.POST["newPassword"],
        )

    return _page(request, token, "reset", LinkPurpose.RESET, act=act)


@console_page(public=True)
def address_page(request: HttpRequest, token: str) -> HttpResponse:
    def act() -> str:
        if services.confirm_new_address(token=token, now=database.now()):
            return "Your e-mail is changed."
        return "Confirmed. Now open the link sent to the other address."

    purposes = (LinkPurpose.LEAVE_ADDRESS, LinkPurpose.TAKE_ADDRESS)
    return _page(request, token, "change_address", *purposes, act=act)
