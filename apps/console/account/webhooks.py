"""Notices of events: which are sent where, the channels (mail, chats, webhooks) and their log."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

from django.http import HttpRequest, HttpResponse

from apps.accounts.models import User
from apps.console.account.security import form_page, require_password, show_secret
from apps.console.gate import console_page, count_as, go_to, sent
from apps.console.lists import listing
from apps.core import database
from apps.core.errors import Fault, InvalidInput, NotFound
from apps.webhooks import services
from apps.webhooks.events import EVENT_LABELS, EventType, notices_of, update_notices
from apps.webhooks.models import Endpoint
from apps.webhooks.serializers import (
    DeliverySerializer,
    NewWebhookSerializer,
    NoticesChangeSerializer,
    NoticesSerializer,
    WebhookChangeSerializer,
    WebhookSerializer,
)

# What a trader wants to know at once: the first choices.
_PROPOSED: Final = list(EVENT_LABELS)[:5]
_NAMES: Final = {
    **{event: label.name for event, label in EVENT_LABELS.items()},
    EventType.WEBHOOK_TEST: "Test",
}
_NOTICES: Final = "/app/settings/notices"
_SIGNS: Final = "Your server checks with it that a message is ours."
# The field of the form for mails; the other fields are the ids of endpoints.
_EMAIL: Final = "email"


def shown_endpoint(endpoint: Endpoint) -> dict[str, Any]:
    """Return an endpoint as the API does, with a name for people."""
    webhook = WebhookSerializer.render(endpoint)
    kind = str(webhook["kind"])
    name = webhook["url"] if kind == "webhook" else kind.capitalize()
    return {
        **webhook,
        "name": f"{name}: {webhook['description']}" if webhook["description"] else name,
    }


@console_page()
def notices_page(request: HttpRequest, user: User) -> HttpResponse:
    """Show which events go to which channel, the channels, and what was sent; on POST change it."""
    endpoints = list(services.endpoints_of(user))
    mail = NoticesSerializer.render(notices_of(user))
    channels = [{"id": _EMAIL, "name": "E-mail", "events": mail["events"]}]
    channels += [shown_endpoint(endpoint) for endpoint in endpoints]
    chosen = {channel["id"]: channel["events"] for channel in channels}
    if request.method == "POST":
        chosen = {key: request.POST.getlist(key) for key in chosen}

    def act() -> HttpResponse:
        _change_notices(user, endpoints, chosen)
        return go_to(request, _NOTICES, "Saved.")

    context = {
        "rows": [
            {
                "event": event,
                "label": label,
                "choices": [
                    {
                        "channel": channel["id"],
                        "name": channel["name"],
                        "is_on": event in chosen[channel["id"]],
                    }
                    for channel in channels
                ],
            }
            for event, label in EVENT_LABELS.items()
        ],
        "channels": channels[1:],
        "channel_names": {channel["id"]: channel["name"] for channel in channels},
        "event_names": _NAMES,
        "address": mail["address"],
        "is_verified": user.email_verified,
        "deliveries": listing(request, services.latest_deliveries(owner=user), DeliverySerializer),
    }
    return form_page(request, user, "notices", context, act=act)


def _change_notices(
    user: User, endpoints: Sequence[Endpoint], chosen: Mapping[str, list[str]]
) -> None:
    """Store the events of each channel, or none of them. Raises InvalidInput."""
    empty = [endpoint.pk for endpoint in endpoints if not chosen[endpoint.pk]]
    if empty:
        raise InvalidInput(*(Fault(key, "Choose an event, or switch it off.") for key in empty))
    mailed = NoticesChangeSerializer.read({"events": chosen[_EMAIL]})
    changes = [
        (endpoint, WebhookChangeSerializer.read({"events": chosen[endpoint.pk]}))
        for endpoint in endpoints
    ]
    now = database.now()
    update_notices(owner=user, **mailed, now=now)
    for endpoint, body in changes:
        if body["events"] != endpoint.events:
            services.change(owner=user, endpoint_id=endpoint.pk, changes=body, now=now)


@console_page()
def new_webhook_page(request: HttpRequest, user: User) -> HttpResponse:
    """Add a channel; show the secret of a webhook once."""
    kind = request.POST.get("kind") or request.GET.get("kind") or "webhook"

    def act() -> HttpResponse:
        body = NewWebhookSerializer.read(_sent_webhook(request, kind, "kind", "token"))
        require_password(request, user)
        endpoint, secret = services.create(owner=user, **body, now=database.now())
        if secret is None:
            return go_to(request, f"/app/settings/webhooks/{endpoint.pk}")
        return show_secret(request, f"Secret of {endpoint.url}", _SIGNS, secret)

    chosen = request.POST.getlist("events") if request.method == "POST" else _PROPOSED
    context = {"kind": kind, "labels": EVENT_LABELS, "chosen": chosen}
    return form_page(request, user, "new_webhook", context, act=act)


@console_page()
def webhook_page(request: HttpRequest, user: User, webhook_id: str) -> HttpResponse:
    """Show a channel with its deliveries, the newest first; on POST change it."""
    endpoint = services.read(owner=user, endpoint_id=webhook_id)
    address = f"/app/settings/webhooks/{endpoint.pk}"

    def act() -> HttpResponse:
        body = WebhookChangeSerializer.read(_sent_webhook(request, endpoint.kind))
        services.change(owner=user, endpoint_id=webhook_id, changes=body, now=database.now())
        return go_to(request, address, "Saved.")

    rows = services.deliveries_of(owner=user, endpoint_id=webhook_id, type=None, status=None)
    webhook = shown_endpoint(endpoint)
    context = {
        "webhook": webhook,
        "kind": endpoint.kind,
        "reason": services.explain_state(endpoint),
        "has_expired": endpoint.pending_link is not None
        and endpoint.pending_link.expires_at <= database.now(),
        "labels": EVENT_LABELS,
        "event_names": _NAMES,
        "chosen": request.POST.getlist("events") or webhook["events"],
        "deliveries": listing(request, rows, DeliverySerializer),
    }
    return form_page(request, user, "webhook", context, act=act)


@console_page()
def webhook_action_page(
    request: HttpRequest, user: User, webhook_id: str, action: str
) -> HttpResponse:
    """Send a test, make a new code, disable or enable a channel; or, after confirmation, replace
    its secret or delete it.
    """
    endpoint = services.read(owner=user, endpoint_id=webhook_id)
    address = f"/app/settings/webhooks/{endpoint.pk}"
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
                return go_to(request, address, "Test sent. See it in the log below.")
            case "link":
                count_as(request, "/api/webhooks", user=user)
                services.link(**target)
                return go_to(request, address)
            case "enable" | "disable":
                services.change(**target, changes={"status": f"{action}d"})
                return go_to(request, address, "Saved.")
            case "rotate-secret":
                require_password(request, user)
                _, secret = services.rotate_secret(**target)
                hint = f"{_SIGNS} The old one works for 24 hours more."
                return show_secret(request, f"Secret of {endpoint.url}", hint, secret)
            case "delete":
                services.delete(**target)
                return go_to(request, _NOTICES, "Deleted.")
            case _:
                raise NotFound

    if request.method != "POST" and action not in ("rotate-secret", "delete"):
        return go_to(request, address)
    context = {"webhook": shown_endpoint(endpoint), "action": action}
    return form_page(request, user, "webhook_action", context, act=act)


@console_page()
def redeliver_page(request: HttpRequest, user: User, delivery_id: str) -> HttpResponse:
    """Send a delivery again."""
    if request.method != "POST":
        return go_to(request, _NOTICES)
    count_as(request, "/api/webhooks", user=user)
    delivery = services.redeliver(owner=user, delivery_id=delivery_id, now=database.now())
    return go_to(request, f"/app/settings/webhooks/{delivery.endpoint_id}", "Sent again.")


def _sent_webhook(request: HttpRequest, kind: str, *names: str) -> dict[str, Any]:
    """Return the form of a channel as a body of the API."""
    body: dict[str, Any] = sent(request.POST, "url", *names)
    body["description"] = request.POST.get("description", "")
    body["events"] = request.POST.getlist("events")
    if kind != "webhook":
        if request.POST.get("secretUrl"):
            body["url"] = str(request.POST["secretUrl"])
        hours = sent(request.POST, "from", "until")
        body["quietHours"] = hours or None
        body |= sent(request.POST, "digest")
    return body
