"""/api/webhooks: addresses that receive events, their deliveries, and notices by e-mail."""

from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.calls import needs_recent_proof
from apps.core.api.resources import (
    AFTER,
    NO_FIELDS,
    EmptyBody,
    GrowingList,
    OwnedViewSet,
    idempotent,
    idempotent_with_secret,
    refuses,
)
from apps.core.limits import QuotaExceeded
from apps.webhooks import services
from apps.webhooks.events import notices
from apps.webhooks.models import Endpoint
from apps.webhooks.serializers import (
    DeliveryQuery,
    DeliverySerializer,
    NewWebhookSerializer,
    NoticesChangeSerializer,
    NoticesSerializer,
    RecoveredSerializer,
    RecoverySerializer,
    WebhookChangeSerializer,
    WebhookSerializer,
    WebhookWithSecretSerializer,
)
from apps.webhooks.services import (
    DeliveryInProgress,
    EndpointDisabled,
    NoChat,
    NothingToLink,
    NothingToSign,
)


def _with_secret(endpoint: Endpoint, secret: str | None, *, status: int = 200) -> Response:
    return Response({**WebhookSerializer.render(endpoint), "secret": secret}, status=status)


@extend_schema(tags=["webhooks"])
class WebhookViewSet(OwnedViewSet):
    lookup_url_kwarg = "webhook_id"

    @extend_schema(operation_id="listWebhooks", responses=WebhookSerializer(many=True))
    def list(self, request: Request) -> Response:
        """List the webhooks of the user.

        The newest first, disabled ones too. Secrets are not shown.
        """
        return self.page(services.endpoints_of(self.owner), WebhookSerializer)

    @extend_schema(
        operation_id="createWebhook",
        request=NewWebhookSerializer,
        responses={201: WebhookWithSecretSerializer},
    )
    @needs_recent_proof
    @refuses(QuotaExceeded)
    @idempotent_with_secret
    def create(self, request: Request) -> Response:
        """Receive events at an address.

        Events of the types `events` from now on are sent there, signed by the secret in the answer.
        A chat gets their texts instead; a Telegram chat is known once its owner has sent the code
        in `link` to the bot.
        """
        body = self.read(NewWebhookSerializer)
        endpoint, secret = services.create(owner=self.owner, **body, now=self.now)
        return _with_secret(endpoint, secret, status=201)

    @extend_schema(operation_id="readWebhook", responses={200: WebhookSerializer})
    def retrieve(self, request: Request, webhook_id: str) -> Response:
        """Get a webhook.

        Its secret is not shown; replace the secret if it is lost.
        """
        endpoint = services.read(owner=self.owner, endpoint_id=webhook_id)
        return Response(WebhookSerializer.render(endpoint))

    @extend_schema(
        operation_id="changeWebhook",
        request=WebhookChangeSerializer,
        responses={200: WebhookSerializer},
    )
    @refuses(NoChat)
    def partial_update(self, request: Request, webhook_id: str) -> Response:
        """Change the given fields, or disable or enable the webhook.

        Events that wait while it is disabled are not sent; after enabling it, `recover` queues
        them.
        """
        endpoint = services.change(
            owner=self.owner,
            endpoint_id=webhook_id,
            changes=self.read(WebhookChangeSerializer),
            now=self.now,
        )
        return Response(WebhookSerializer.render(endpoint))

    @extend_schema(operation_id="deleteWebhook", responses={204: None})
    def destroy(self, request: Request, webhook_id: str) -> Response:
        """Delete a webhook.

        No more events are sent there, and its secrets are erased. This cannot be undone; to pause
        it, disable it instead.
        """
        services.delete(owner=self.owner, endpoint_id=webhook_id, now=self.now)
        return Response(status=204)

    @extend_schema(
        operation_id="linkTelegram", request=NO_FIELDS, responses={200: WebhookSerializer}
    )
    @refuses(NothingToLink)
    @action(detail=True, methods=["post"])
    @idempotent
    def link(self, request: Request, webhook_id: str) -> Response:
        """Make a new code for a Telegram chat.

        Send it to the bot within ten minutes; the webhook is then enabled, and sends a test. 409
        once it has a chat.
        """
        self.read(EmptyBody)
        endpoint = services.link(owner=self.owner, endpoint_id=webhook_id, now=self.now)
        return Response(WebhookSerializer.render(endpoint))

    @extend_schema(
        operation_id="rotateWebhookSecret",
        request=NO_FIELDS,
        responses={200: WebhookWithSecretSerializer},
    )
    @action(detail=True, methods=["post"], url_path="rotate-secret")
    @needs_recent_proof
    @refuses(NothingToSign)
    @idempotent_with_secret
    def rotate_secret(self, request: Request, webhook_id: str) -> Response:
        """Replace the secret.

        For 24 hours both sign: the header then has two signatures.
        """
        self.read(EmptyBody)
        endpoint, secret = services.rotate_secret(
            owner=self.owner, endpoint_id=webhook_id, now=self.now
        )
        return _with_secret(endpoint, secret)

    @extend_schema(
        operation_id="testWebhook", request=NO_FIELDS, responses={201: DeliverySerializer}
    )
    @refuses(EndpointDisabled)
    @action(detail=True, methods=["post"])
    @idempotent
    def test(self, request: Request, webhook_id: str) -> Response:
        """Send an event of type webhook.test.

        It is sent whatever types the webhook subscribes to, and the answer is its delivery. 409
        while the webhook is disabled.
        """
        self.read(EmptyBody)
        delivery = services.test(owner=self.owner, endpoint_id=webhook_id, now=self.now)
        return Response(DeliverySerializer.render(delivery), status=201)

    @extend_schema(
        operation_id="listDeliveries",
        parameters=[DeliveryQuery, AFTER],
        responses=DeliverySerializer(many=True),
    )
    @action(detail=True)
    def deliveries(self, request: Request, webhook_id: str) -> Response:
        """List the deliveries of the last 30 days, with their attempts.

        The newest first; `status` and `type` filter them.
        """
        query = self.query(DeliveryQuery)
        rows = services.deliveries_of(
            owner=self.owner,
            endpoint_id=webhook_id,
            status=query.get("status"),
            type=query.get("type"),
        )
        among = services.deliveries_of(
            owner=self.owner, endpoint_id=webhook_id, status=None, type=None
        )
        return self.page(GrowingList(rows, among, "created_at"), DeliverySerializer)

    @extend_schema(
        operation_id="recoverWebhook",
        request=RecoverySerializer,
        responses={200: RecoveredSerializer},
    )
    @refuses(EndpointDisabled)
    @action(detail=True, methods=["post"])
    @idempotent
    def recover(self, request: Request, webhook_id: str) -> Response:
        """Send failed deliveries again, and events missed while disabled.

        At most 10,000 deliveries, the oldest first, from the last 14 days. 409 while the webhook is
        disabled.
        """
        queued, more = services.recover(
            owner=self.owner,
            endpoint_id=webhook_id,
            **self.read(RecoverySerializer),
            now=self.now,
        )
        return Response(RecoveredSerializer.render({"queued": queued, "more": more}))


@extend_schema(tags=["webhooks"])
class DeliveryViewSet(OwnedViewSet):
    lookup_url_kwarg = "delivery_id"

    @extend_schema(operation_id="redeliver", request=NO_FIELDS, responses={200: DeliverySerializer})
    @refuses(EndpointDisabled, DeliveryInProgress)
    @action(detail=True, methods=["post"])
    @idempotent
    def redeliver(self, request: Request, delivery_id: str) -> Response:
        """Send one delivery again, at once.

        It is retried as often as a new one. 409 while the webhook is disabled, or the delivery is
        being sent.
        """
        self.read(EmptyBody)
        delivery = services.redeliver(owner=self.owner, delivery_id=delivery_id, now=self.now)
        return Response(DeliverySerializer.render(delivery))


@extend_schema(tags=["webhooks"])
class NoticesViewSet(OwnedViewSet):
    @extend_schema(operation_id="readNotices", responses={200: NoticesSerializer})
    def retrieve(self, request: Request) -> Response:
        """Get the types of events that the user receives by e-mail.

        None by default. Mails go to the address of the account, once it is verified.
        """
        return Response(NoticesSerializer.render(notices.notices_of(self.owner)))

    @extend_schema(
        operation_id="setNotices",
        request=NoticesChangeSerializer,
        responses={200: NoticesSerializer},
    )
    def update(self, request: Request) -> Response:
        """Choose the types of events to receive by e-mail; the list may be empty.

        The list replaces the previous one. At most 50 mails are sent a day; further events go only
        to webhooks.
        """
        subscription = notices.update_notices(
            owner=self.owner, **self.read(NoticesChangeSerializer), now=self.now
        )
        return Response(NoticesSerializer.render(subscription))
