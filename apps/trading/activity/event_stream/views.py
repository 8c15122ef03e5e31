"""GET /api/events."""

import re
from typing import Final

from django.http import HttpResponse
from drf_spectacular.utils import OpenApiExample, OpenApiParameter, extend_schema
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from apps.accounts.models import ApiKey, LoginSession
from apps.accounts.services import TooManyStreams, take_slot
from apps.core import requests
from apps.core.api.resources import OwnedViewSet, answer_header, refuses
from apps.core.errors import Fault, InvalidInput
from apps.core.requests import EVENT_STREAM, EventStream
from apps.trading.activity.event_stream import services
from apps.trading.activity.event_stream.serializers import EventStreamQuery
from apps.trading.activity.event_stream.services import EventReader
from apps.webhooks.events import EVENTS_CHANNEL

LAST_EVENT_ID: Final = "Last-Event-ID"
_EXAMPLE: Final = (
    "retry: 2000\nid: 41\n\n"
    'id: 42\nevent: backtest.completed\ndata: {"createdAt": …, "data": …, "id": …}\n\n'
    'event: bars\ndata: {"symbol":"NSE:RELIANCE","timeframe":"1m"}\n\n'
    "event: account\ndata: {}\n\n"
)


class EventStreamRenderer(BaseRenderer):
    """Represents the stream in content negotiation; the stream itself is a plain Django
    response.
    """

    media_type = EVENT_STREAM
    format = "events"


@extend_schema(tags=["trading"])
class EventStreamViewSet(OwnedViewSet):
    renderer_classes = [EventStreamRenderer]

    @extend_schema(
        operation_id="streamEvents",
        parameters=[
            EventStreamQuery,
            OpenApiParameter(
                LAST_EVENT_ID,
                {"type": "string", "pattern": "^[0-9]{0,18}$", "examples": ["41"]},
                OpenApiParameter.HEADER,
                description="The id of the last message that the client has: the stream continues"
                " after it. Without an id, or with an empty one, the stream sends new events only.",
            ),
            answer_header("X-Accel-Buffering"),
        ],
        responses={(200, EVENT_STREAM): str},
        examples=[OpenApiExample("Example", _EXAMPLE, media_type=EVENT_STREAM)],
    )
    @refuses(TooManyStreams)
    def stream(self, request: Request) -> HttpResponse:
        """Stream events as they happen (server-sent events).

        Each event of the webhooks is a message: its type as `event`, the body of the webhook as
        `data`, and as `id` its number among the caller's events, from 1 and without gaps, in the
        order of commits. A client that reconnects with `Last-Event-ID` misses none of the last 30
        days and gets none twice. `bars` and `account` are hints without an id: there are new bars
        of one of `symbols`, or the caller's money, orders, positions or signals have changed, or an
        alert has come. The stream ends within 5 seconds of its session or key. A session or key may
        have four streams at once.
        """
        query = self.query(EventStreamQuery)
        after = last_event_id(request)
        response = HttpResponse(content_type=EVENT_STREAM)
        response["X-Accel-Buffering"] = "no"
        if request.method == "HEAD":
            return response
        reader = EventReader(self.owner, after=after)
        response.content = reader.opening + reader.read()
        credential = request.auth
        assert isinstance(credential, LoginSession | ApiKey), "this address needs a credential"
        stream = EventStream(
            slot=take_slot(credential, now=self.now),
            news=(EVENTS_CHANNEL, self.owner.pk),
            hints=services.hints(self.owner, query.get("symbols", ())),
            read=reader.read,
        )
        requests.attach_stream(response, stream)
        return response


def last_event_id(request: Request) -> int | None:
    """Return the position after which a client continues. Raises InvalidInput."""
    text = request.headers.get(LAST_EVENT_ID)
    if text is None or text == "":
        return None
    if not re.fullmatch("[0-9]{1,18}", text):
        raise InvalidInput(Fault(LAST_EVENT_ID, "is not the id of a message of this stream", text))
    return int(text)
