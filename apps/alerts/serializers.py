"""Alert hooks, their messages and received alerts on the wire; prices in rupees."""

from typing import Final

from drf_spectacular.utils import OpenApiExample, OpenApiParameter, OpenApiRequest
from rest_framework.serializers import BooleanField, CharField, FloatField, IntegerField

from apps.accounts.serializers import NetworkListField
from apps.alerts.message_formats import MAX_STOCKS
from apps.alerts.models import MAX_ALERT_NAME, MAX_HOOK_NAME, AlertFormat
from apps.core.api.resources import (
    AnswerSerializer,
    ChoiceField,
    IdTextField,
    MomentField,
    NullableTextField,
    Schema,
    StrictSerializer,
    TextField,
    example,
    examples_of,
)
from apps.symbols.serializers import SymbolFilterField, VerbatimField
from apps.webhooks.serializers import ClockField

_NAME: Final = "For its owner to recognise it."
_FORMAT: Final = (
    "How its sender writes: `tradingview` (a text or JSON), `chartink` or `json` with the fields"
    " `name`, `symbol`, `id`, `price` and `time`."
)
_NETWORKS: Final = "The networks that may send; empty: all."
_EXPECTED_BY: Final = (
    "A time in India, such as 15:00. Without an alert by then on a trading day of NSE, the event"
    " `alert.missing` tells so. Null: no alert is expected."
)


@example
class NewAlertHookSerializer(StrictSerializer):
    name = TextField(max_length=MAX_HOOK_NAME, help_text=_NAME)
    format = ChoiceField(choices=AlertFormat, help_text=_FORMAT)
    networks = NetworkListField(required=False, help_text=_NETWORKS)
    expectedBy = ClockField(required=False, allow_null=True, help_text=_EXPECTED_BY)


@example
class AlertHookChangeSerializer(StrictSerializer):
    name = TextField(required=False, max_length=MAX_HOOK_NAME, help_text=_NAME)
    format = ChoiceField(required=False, choices=AlertFormat, help_text=_FORMAT)
    networks = NetworkListField(required=False, help_text=_NETWORKS)
    expectedBy = ClockField(required=False, allow_null=True, help_text=_EXPECTED_BY)


@example
class AlertHookSerializer(AnswerSerializer):
    """An address that alerts come to."""

    id = IdTextField()
    name = CharField()
    format = ChoiceField(choices=AlertFormat, help_text=_FORMAT)
    networks = NetworkListField(help_text=_NETWORKS)
    expectedBy = CharField(allow_null=True, source="expected_clock", help_text=_EXPECTED_BY)
    createdAt = MomentField()


@example
class AlertHookWithAddressSerializer(AlertHookSerializer):
    """An alert hook with its address."""

    url = CharField(
        help_text="The address that the sender calls by POST. It is a secret, and shown only once."
    )


@example
class ReceivedAlertSerializer(AnswerSerializer):
    """An alert that came."""

    id = IdTextField()
    hookId = IdTextField(source="message.hook_id")
    messageId = IdTextField()
    name = CharField()
    symbol = NullableTextField(help_text="Null: it is about every symbol.")
    price = FloatField(allow_null=True, help_text="As the sender wrote it; conditions ignore it.")
    receivedAt = MomentField(help_text="The time that counts for conditions.")
    sentAt = NullableTextField(help_text="As the sender wrote it. It never counts.")


@example
class AlertMessageSerializer(AnswerSerializer):
    """A body that came to a hook, and its alerts."""

    id = IdTextField()
    receivedAt = MomentField()
    body = CharField(help_text="As it came.")
    refusal = NullableTextField(help_text="Why it could not be read. Null: it was read.")
    copies = IntegerField(help_text="How often it came again. Copies count once.")
    lastCopyAt = MomentField(allow_null=True, source="copied_at")
    alerts = ReceivedAlertSerializer(many=True, source="alerts.all")


SECRET_IN_PATH: Final = OpenApiParameter(
    "secret",
    {
        "type": "string",
        "pattern": r"^ah_[A-Za-z0-9_-]{43}$",
        "examples": ["ah_kP3v0yQm8s1T5uWc7Zb2Xd4Fg6Hj9Kl0Mn1Pq3Rs5Tu"],
    },
    OpenApiParameter.PATH,
    required=True,
    description="The last part of the hook's `url`.",
)
_PRICE: Final[Schema] = {
    "type": ["number", "string", "null"],
    "description": "Rupees, as a number or as text; conditions ignore it.",
    "examples": [2450.5],
}
_ALERT: Final[Schema] = {
    "type": "object",
    "description": "In the formats `json` and `tradingview`: one alert. Other fields are kept, and"
    " not read.",
    "required": ["name"],
    "properties": {
        "name": {
            "type": "string",
            "minLength": 1,
            "maxLength": MAX_ALERT_NAME,
            "description": "The name by which conditions of type `signal` know it.",
            "examples": ["Breakout"],
        },
        "symbol": {
            "type": ["string", "null"],
            "description": "EXCHANGE:SYMBOL. Without it the alert is about every symbol.",
            "examples": ["NSE:RELIANCE"],
        },
        "ticker": {
            "type": "string",
            "description": "In the format `tradingview`, with `exchange`, in place of `symbol`.",
            "examples": ["RELIANCE"],
        },
        "exchange": {
            "type": "string",
            "description": "The exchange of the `ticker`.",
            "examples": ["NSE"],
        },
        "id": {
            "type": ["string", "number", "null"],
            "description": "A new one for each alert: messages with the same id are copies.",
            "examples": ["a-17"],
        },
        "price": _PRICE,
        "time": {
            "description": "The sender's own time. It is kept, and never counts.",
            "examples": ["2026-11-20T04:15:00Z"],
        },
    },
}
_SCAN: Final[Schema] = {
    "type": "object",
    "description": "In the format `chartink`: an alert for each of its stocks. Other fields are"
    " kept, and not read.",
    "required": ["stocks"],
    "properties": {
        "alert_name": {
            "type": ["string", "null"],
            "description": "The name of the alerts.",
            "examples": ["Breakout"],
        },
        "scan_name": {
            "type": ["string", "null"],
            "description": "The name of the alerts without `alert_name`.",
            "examples": ["Short term breakouts"],
        },
        "stocks": {
            "type": "string",
            "minLength": 1,
            "description": f"Codes of NSE, comma-separated; at most {MAX_STOCKS:,}.",
            "examples": ["RELIANCE, M&M"],
        },
        "trigger_prices": {
            "type": ["string", "null"],
            "description": "As many prices, comma-separated.",
            "examples": ["2450.5, 3000"],
        },
        "triggered_at": {
            "description": "The sender's own time. It is kept, and never counts.",
            "examples": ["9:45 am"],
        },
    },
}
# What a program sends, for the document alone: apps.alerts.message_formats reads it.
MESSAGE: Final = {
    "application/json": OpenApiRequest(
        {"anyOf": [_ALERT, _SCAN]},
        examples=[
            OpenApiExample(name, value)
            for name, value in examples_of("alerts")["IncomingMessage"].items()
        ],
    ),
    "text/plain": OpenApiRequest(
        {
            "type": "string",
            "minLength": 1,
            "description": "In the format `tradingview`: a line with the name, and perhaps"
            " EXCHANGE:SYMBOL as its last word.",
        },
        examples=[OpenApiExample("Text", "Breakout NSE:RELIANCE")],
    ),
}


@example
class AcceptedAlertSerializer(AnswerSerializer):
    """The message is stored."""

    received = BooleanField(help_text="Always true.")


class AlertQuery(StrictSerializer):
    """The filters of a list of alerts."""

    name = VerbatimField(required=False, help_text="Only alerts of this name.")
    symbol = SymbolFilterField(required=False, help_text="Only alerts of this symbol.")
    hookId = VerbatimField(required=False, help_text="Only alerts of this hook, ended or not.")
