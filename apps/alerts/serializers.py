"""Alert hooks, their messages and received alerts on the wire; prices in rupees."""

from typing import Final

from rest_framework.serializers import CharField, FloatField

from apps.accounts.serializers import NetworkListField
from apps.alerts.models import MAX_HOOK_NAME, AlertFormat
from apps.core.api.resources import (
    AnswerSerializer,
    ChoiceField,
    IdTextField,
    MomentField,
    NullableTextField,
    StrictSerializer,
    TextField,
    example,
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
    alerts = ReceivedAlertSerializer(many=True, source="alerts.all")


class AlertQuery(StrictSerializer):
    """The filters of a list of alerts."""

    name = VerbatimField(required=False, help_text="Only alerts of this name.")
    symbol = SymbolFilterField(required=False, help_text="Only alerts of this symbol.")
    hookId = VerbatimField(required=False, help_text="Only alerts of this hook, ended or not.")
