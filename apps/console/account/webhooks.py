"""Notifications of events: webhooks with their deliveries, and notices by e-mail."""

from typing import Any, Final

from django.http import HttpRequest, HttpResponse

from apps.accounts.models import User
from apps.console.account.security import form_page, require_password, show_secret
from apps.console.gate import console_page, count_as, go_to, sent
from apps.console.lists import listing
from apps.core import database
from apps.core.errors import NotFound
from apps.webhooks import services
from apps.webhooks.events import EventType, notices_of, update_notices
from apps.webhooks.serializers import (
    DeliverySerializer,
    NewWebhookSerializer,
    NoticesChangeSerializer,
    NoticesSerializer,
    WebhookChangeSerializer,
    WebhookSerializer,
)

_EVENTS: Final = [event.value for event in EventType]
_SETTINGS: Final = "/app/settings"
_SIGNS: Final = "It signs what is sent, so that your server knows where it comes from."


@console_page()
def new_webhook_page(request: HttpRequest, user: User) -> HttpResponse:
    """Make a webhook, and show its secret once."""

    def act() -> HttpResponse:
        body = NewWebhookSerializer.read(_sent_webhook(request))
        require_password(request, user)
        endpoint, secret = services.create(owner=user, **body, now=database.now())
        if secret is None:
            return go_to(request, f"{_SETTINGS}/webhooks/{endpoint.pk}")
        return show_secret(request, f"The secret of {endpoint.url}", _SIGNS, secret)

    context = {"events": _EVENTS, "chosen": request.POST.getlist("events")}
    return form_page(request, user, "new_webhook", context, act=act)


@console_page()
def webhook_page(request: HttpRequest, user: User, webhook_id: str) -> HttpResponse:
    """Show a webhook with its deliveries, the newest first; on POST change it."""
    endpoint = services.read(owner=user, endpoint_id=webhook_id)
    address = f"{_SETTINGS}/webhooks/{endpoint.pk}"

    def act() -> HttpResponse:
        body = WebhookChangeSerializer.read(_sent_webhook(request))
        services.change(owner=user, endpoint_id=webhook_id, changes=body, now=database.now())
        return go_to(request, address, "Saved.")

    rows = services.deliveries_of(owner=user, endpoint_id=webhook_id, type=None, status=None)
    webhook = WebhookSerializer.render(endpoint)
    context = {
        "webhook": webhook,
        "events": _EVENTS,
        "chosen": request.POST.getlist("events") or webhook["events"],
        "deliveries": listing(request, rows, DeliverySerializer),
    }
    return form_page(request, user, "webhook", context, act=act)


@console_page()
def webhook_action_page(
    request: HttpRequest, user: User, webhook_id: str, action: str
) -> HttpResponse:
    """Send a test, disable or enable a webhook; or, after confirmation, replace its secret or
    delete it.
    """
    endpoint = services.read(owner=user, endpoint_id=webhook_id)
    address = f"{_SETTINGS}/webhooks/{endpoint.pk}"
    target: dict[str, Any] = {
        "owner": user,
        "endpoint_id": webhook_id,
        "now": database.now(),
    }

    def act() -> HttpResponse:
        match action:
            case "test":
                count_as(request, "/api/webhooks", user=user)
                services.test(**target)
                return go_to(request, address, "A test is on its way.")
            case "enable" | "disable":
                services.change(**target, changes={"status": f"{action}d"})
                return go_to(request, address, "Saved.")
            case "rotate-secret":
                require_password(request, user)
                _, secret = services.rotate_secret(**target)
                hint = f"{_SIGNS} The earlier one signs beside it for 24 hours."
                return show_secret(request, f"The secret of {endpoint.url}", hint, secret)
            case "delete":
                services.delete(**target)
                return go_to(request, _SETTINGS, "Nothing is sent there any more.")
            case _:
                raise NotFound

    if request.method != "POST" and action not in ("rotate-secret", "delete"):
        return go_to(request, address)
    context = {"webhook": WebhookSerializer.render(endpoint), "action": action}
    return form_page(request, user, "webhook_action", context, act=act)


@console_page()
def redeliver_page(request: HttpRequest, user: User, delivery_id: str) -> HttpResponse:
    """Send a delivery again."""
    if request.method != "POST":
        return go_to(request, _SETTINGS)
    count_as(request, "/api/webhooks", user=user)
    delivery = services.redeliver(owner=user, delivery_id=delivery_id, now=database.now())
    return go_to(request, f"{_SETTINGS}/webhooks/{delivery.endpoint_id}", "It is sent again.")


@console_page()
def notices_page(request: HttpRequest, user: User) -> HttpResponse:
    """Choose the types of events to receive by mail."""

    def act() -> HttpResponse:
        body = NoticesChangeSerializer.read({"events": request.POST.getlist("events")})
        update_notices(owner=user, **body, now=database.now())
        return go_to(request, _SETTINGS, "Saved.")

    current = NoticesSerializer.render(notices_of(user))
    context = {"events": _EVENTS, "chosen": current["events"], "address": current["address"]}
    return form_page(request, user, "notices", context, act=act)


def _sent_webhook(request: HttpRequest) -> dict[str, Any]:
    body = sent(request.POST, "url", "description")
    return {"description": "", **body, "events": request.POST.getlist("events")}
