"""Facts of a request and forms of an answer, without a web framework's views."""

from apps.core.requests.addresses import (
    client_address,
    is_in_networks,
    is_trusted,
    provider_network_of,
    read_network,
)
from apps.core.requests.etags import ANY_STATE, Expectation, tag_of
from apps.core.requests.event_stream import (
    EVENT_STREAM,
    EventStream,
    Notice,
    attach_stream,
    get_event_stream,
    stream_hint,
    stream_message,
)
from apps.core.requests.long_poll import LongPoll, attach_long_poll, get_long_poll
from apps.core.requests.request_id import REQUEST_ID_HEADER, begin_request_id, current_request_id
from apps.core.requests.request_origin import current_origin, is_forwarded, proven_by
from apps.core.requests.strict_json import MAX_NUMBER, read_json, storable
from apps.core.requests.wire_json import dump_json

__all__ = [
    "ANY_STATE",
    "EVENT_STREAM",
    "MAX_NUMBER",
    "REQUEST_ID_HEADER",
    "EventStream",
    "Expectation",
    "LongPoll",
    "Notice",
    "attach_long_poll",
    "attach_stream",
    "begin_request_id",
    "client_address",
    "current_origin",
    "current_request_id",
    "dump_json",
    "get_event_stream",
    "get_long_poll",
    "is_forwarded",
    "is_in_networks",
    "is_trusted",
    "proven_by",
    "provider_network_of",
    "read_json",
    "read_network",
    "storable",
    "stream_hint",
    "stream_message",
    "tag_of",
]
