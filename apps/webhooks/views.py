"""/api/webhooks: where a user is told of events, what came of it, and notices by e-mail."""

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.viewsets import ViewSet

from apps.accounts.authentication import caller
from apps.core.api.idempotency import idempotent, idempotent_with_secret
from apps.core.api.pagination import Query, page_of
from apps.core.api.serializers import EmptyBody
from apps.core.openapi import documented
from apps.webhooks import notices, openapi, serializers, services
from apps.webhooks.event_types import EventType
from apps.webhooks.lifecycle import DeliveryStatus


class WebhookView(ViewSet):
    @documented(openapi.LIST)
    def list(self, request: Request) -> Response:
        page = Query(request.query_params).page()
        rows = services.endpoints_of(caller(request))
        return Response(page_of(rows, page, serializers.endpoint_out))

    @documented(openapi.CREATE)
    @idempotent_with_secret
    def create(self, request: Request) -> Response:
        endpoint, secret = services.create(
            owner=caller(request), now=timezone.now(), **serializers.endpoint_in(request.data)
        )
        return Response({**serializers.endpoint_out(endpoint), "secret": secret}, status=201)

    @documented(openapi.READ)
    def show(self, request: Request, webhook_id: str) -> Response:
        endpoint = services.read(owner=caller(request), endpoint_id=webhook_id)
        return Response(serializers.endpoint_out(endpoint))

    @documented(openapi.CHANGE)
    def change(self, request: Request, webhook_id: str) -> Response:
        endpoint = services.change(
            owner=caller(request),
            endpoint_id=webhook_id,
            changes=serializers.change_in(request.data),
            now=timezone.now(),
        )
        return Response(serializers.endpoint_out(endpoint))

    @documented(openapi.DELETE)
    def discard(self, request: Request, webhook_id: str) -> Response:
        services.delete(owner=caller(request), endpoint_id=webhook_id, now=timezone.now())
        return Response(status=204)

    @documented(openapi.ROTATE)
    @idempotent_with_secret
    def rotate_secret(self, request: Request, webhook_id: str) -> Response:
        EmptyBody.read(request.data)
        endpoint, secret = services.rotate_secret(
            owner=caller(request), endpoint_id=webhook_id, now=timezone.now()
        )
        return Response({**serializers.endpoint_out(endpoint), "secret": secret})


class DeliveryView(ViewSet):
    @documented(openapi.LIST_DELIVERIES)
    def list(self, request: Request, webhook_id: str) -> Response:
        query = Query(request.query_params)
        rows = services.deliveries_of(
            owner=caller(request),
            endpoint_id=webhook_id,
            status=query.choice("status", list(DeliveryStatus)),
            type=query.choice("type", list(EventType)),
        )
        return Response(page_of(rows, query.page(), serializers.delivery_out))

    @documented(openapi.TEST)
    @idempotent
    def test(self, request: Request, webhook_id: str) -> Response:
        EmptyBody.read(request.data)
        delivery = services.test(owner=caller(request), endpoint_id=webhook_id, now=timezone.now())
        return Response(serializers.delivery_out(delivery), status=201)

    @documented(openapi.RECOVER)
    @idempotent
    def recover(self, request: Request, webhook_id: str) -> Response:
        queued, more = services.recover(
            owner=caller(request),
            endpoint_id=webhook_id,
            since=serializers.since_in(request.data),
            now=timezone.now(),
        )
        return Response({"queued": queued, "more": more})

    @documented(openapi.REDELIVER)
    @idempotent
    def redeliver(self, request: Request, delivery_id: str) -> Response:
        EmptyBody.read(request.data)
        delivery = services.redeliver(
            owner=caller(request), delivery_id=delivery_id, now=timezone.now()
        )
        return Response(serializers.delivery_out(delivery))


class NoticesView(ViewSet):
    @documented(openapi.READ_NOTICES)
    def show(self, request: Request) -> Response:
        return Response(serializers.notices_out(notices.notices_of(caller(request))))

    @documented(openapi.SET_NOTICES)
    def replace(self, request: Request) -> Response:
        set_now = notices.subscribe(
            owner=caller(request),
            events=serializers.notices_in(request.data),
            now=timezone.now(),
        )
        return Response(serializers.notices_out(set_now))
