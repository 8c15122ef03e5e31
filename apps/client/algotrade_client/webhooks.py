"""Webhooks: endpoints that receive events."""

from collections.abc import Iterator, Sequence
from typing import Any

from .records import Delivery, Webhook, WebhookWithSecret
from .resource import Id, Resource, id_of, to_wire

_PATH = "/api/webhooks"


class Webhooks(Resource):
    def list(self) -> Iterator[Webhook]:
        return self._listed(Webhook, _PATH)

    def create(self, url: str | None, events: Sequence[str], **options: Any) -> WebhookWithSecret:
        """Register an endpoint. Its `secret` signs the messages, and is shown once.

        Options are those of the call in snake case: `description`, and for chats `kind`, `token`,
        `digest` and `quiet_hours`. A Telegram bot has a token and no `url`.
        """
        body = to_wire({"url": url, "events": [*events], **options})
        return self._post(WebhookWithSecret, _PATH, body)

    def delete(self, webhook: Id) -> None:
        self._transport.call("DELETE", f"{_PATH}/{id_of(webhook)}")

    def test(self, webhook: Id) -> Delivery:
        """Send a test message."""
        return self._post(Delivery, f"{_PATH}/{id_of(webhook)}/test")

    def deliveries(self, webhook: Id) -> Iterator[Delivery]:
        path = f"{_PATH}/{id_of(webhook)}/deliveries"
        return self._listed(Delivery, path, is_growing=True)
