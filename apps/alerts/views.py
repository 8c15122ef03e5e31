"""Alerts that other programs send: /api/trading/alert-hooks, /api/trading/alerts, and /hooks, where
they come in.
"""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework.decorators import action
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.calls import needs_recent_proof
from apps.alerts import services
from apps.alerts.models import AlertHook
from apps.alerts.serializers import (
    MESSAGE,
    SECRET_IN_PATH,
    AcceptedAlertSerializer,
    AlertHookChangeSerializer,
    AlertHookSerializer,
    AlertHookWithAddressSerializer,
    AlertMessageSerializer,
    AlertQuery,
    NewAlertHookSerializer,
    ReceivedAlertSerializer,
)
from apps.core import limits
from apps.core.api.resources import (
    AFTER,
    NO_FIELDS,
    AnyAccept,
    EmptyBody,
    GrowingList,
    OwnedViewSet,
    RawParser,
    idempotent_with_secret,
    refuses,
)
from apps.core.errors import NotFound
from apps.core.limits import QuotaExceeded, Usage
from apps.core.requests import current_origin


def _with_address(hook: AlertHook, secret: str, *, status: int = 200) -> Response:
    body = {**AlertHookSerializer.render(hook), "url": services.address_of(secret)}
    return Response(body, status=status)


@extend_schema(tags=["trading"])
class AlertHookViewSet(OwnedViewSet):
    lookup_url_kwarg = "hook_id"

    @extend_schema(operation_id="listAlertHooks", responses=AlertHookSerializer(many=True))
    def list(self, request: Request) -> Response:
        """List the alert hooks of the user.

        The newest first, without deleted ones. Their addresses are not shown.
        """
        return self.page(services.hooks_of(self.owner), AlertHookSerializer)

    @extend_schema(
        operation_id="createAlertHook",
        request=NewAlertHookSerializer,
        responses={201: AlertHookWithAddressSerializer},
    )
    @needs_recent_proof
    @refuses(QuotaExceeded)
    @idempotent_with_secret
    def create(self, request: Request) -> Response:
        """Make an address for alerts of another program.

        Its `url` is only in this answer. Whoever has it can send alerts, and the conditions of type
        `signal` read them.
        """
        body = self.read(NewAlertHookSerializer)
        hook, secret = services.create_hook(owner=self.owner, **body, now=self.now)
        return _with_address(hook, secret, status=201)

    @extend_schema(operation_id="readAlertHook", responses={200: AlertHookSerializer})
    def retrieve(self, request: Request, hook_id: str) -> Response:
        """Get an alert hook.

        Its address is not shown; replace its secret if the address is lost.
        """
        hook = services.read_hook(owner=self.owner, hook_id=hook_id)
        return Response(AlertHookSerializer.render(hook))

    @extend_schema(
        operation_id="changeAlertHook",
        request=AlertHookChangeSerializer,
        responses={200: AlertHookSerializer},
    )
    def partial_update(self, request: Request, hook_id: str) -> Response:
        """Change the given fields.

        They count from the next message on.
        """
        changes = self.read(AlertHookChangeSerializer)
        hook = services.change_hook(
            owner=self.owner, hook_id=hook_id, changes=changes, now=self.now
        )
        return Response(AlertHookSerializer.render(hook))

    @extend_schema(operation_id="deleteAlertHook", responses={204: None})
    def destroy(self, request: Request, hook_id: str) -> Response:
        """Delete an alert hook.

        Its address ends at once. Its alerts stay, and conditions read them as before.
        """
        services.end_hook(owner=self.owner, hook_id=hook_id, now=self.now)
        return Response(status=204)

    @extend_schema(
        operation_id="rotateAlertHookSecret",
        request=NO_FIELDS,
        responses={200: AlertHookWithAddressSerializer},
    )
    @action(detail=True, methods=["post"], url_path="rotate-secret")
    @needs_recent_proof
    @idempotent_with_secret
    def rotate_secret(self, request: Request, hook_id: str) -> Response:
        """Replace the address.

        The previous one ends at once. The new `url` is only in this answer.
        """
        self.read(EmptyBody)
        hook, secret = services.rotate_hook_secret(owner=self.owner, hook_id=hook_id, now=self.now)
        return _with_address(hook, secret)

    @extend_schema(
        operation_id="listAlertMessages",
        parameters=[AFTER],
        responses=AlertMessageSerializer(many=True),
    )
    @action(detail=True)
    def messages(self, request: Request, hook_id: str) -> Response:
        """List what came to a hook, with the alerts in it.

        The newest first. A message that could not be read is kept with the reason, and has no
        alerts.
        """
        rows = services.messages_of(owner=self.owner, hook_id=hook_id)
        return self.page(GrowingList(rows, rows, "received_at"), AlertMessageSerializer)


@extend_schema(tags=["trading"])
class ReceivedAlertViewSet(OwnedViewSet):
    @extend_schema(
        operation_id="listReceivedAlerts",
        parameters=[AlertQuery, AFTER],
        responses=ReceivedAlertSerializer(many=True),
    )
    def list(self, request: Request) -> Response:
        """List the alerts that came, also to deleted hooks.

        The last that came first, also in a replay; `name`, `symbol` and `hookId` filter them. An
        alert that no condition names is listed too.
        """
        rows = services.received_alerts(owner=self.owner, **self.query(AlertQuery))
        among = services.received_alerts(owner=self.owner)
        return self.page(GrowingList(rows, among, "came_at"), ReceivedAlertSerializer)


@extend_schema(tags=["trading"])
class IncomingAlertViewSet(OwnedViewSet):
    """The address of a hook: its secret is the only credential. Its callers send what type and
    headers they like.
    """

    authentication_classes = ()
    permission_classes = ()
    parser_classes = (RawParser,)
    content_negotiation_class = AnyAccept

    usage: Usage | None = None

    @extend_schema(
        operation_id="receiveAlert",
        parameters=[SECRET_IN_PATH],
        request=MESSAGE,
        responses={202: AcceptedAlertSerializer},
    )
    @refuses(NotFound, QuotaExceeded)
    def receive(self, request: Request, secret: str) -> Response:
        """Receive a message of another program, in the format of the hook.

        The secret in the address is the only credential, and the type of the body does not matter.
        Copies of a message are stored once and get the same answer: copies have the same `id`, or
        without one the same body within a minute. A message that cannot be read is stored too, with
        its refusal.
        """
        scope = limits.alert_scope(services.digest_of_secret(secret))
        self.usage = limits.count_request(scope) if scope else None
        limits.refuse_exceeded(self.usage)
        address = current_origin().address
        try:
            services.receive_message(
                secret=secret,
                # Without a body REST framework calls no parser.
                body=request.data if isinstance(request.data, bytes) else b"",
                address=address,
                now=self.now,
            )
        except NotFound:
            # Alerts of all users come from the few addresses of their senders: only guesses count.
            limits.refuse_exceeded(limits.count_page(request.path, address=address or "unknown"))
            raise
        return Response(AcceptedAlertSerializer.render({"received": True}), status=202)

    def finalize_response(
        self, request: Request, response: Response, *args: Any, **kwargs: Any
    ) -> Response:
        """Show the rate limit with every answer, as under /api."""
        final = super().finalize_response(request, response, *args, **kwargs)
        for name, value in self.usage.headers().items() if self.usage else ():
            final[name] = value
        return final
