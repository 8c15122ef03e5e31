"""Webhooks on the wire: endpoints, their deliveries, and notices by e-mail."""

from typing import Any, Final

from drf_spectacular.utils import extend_schema_field
from rest_framework.serializers import BooleanField, CharField, IntegerField

from apps.core.api.resources import (
    AnswerSerializer,
    ChoiceField,
    ChoiceSetField,
    IdTextField,
    MomentField,
    StrictSerializer,
    TextField,
    example,
)
from apps.webhooks.event_types import SEQUENCE_HELP, EventType
from apps.webhooks.lifecycle import (
    FAILURE_MEANINGS,
    DeliveryStatus,
    DisabledReason,
    EndpointStatus,
    Failure,
)
from apps.webhooks.models import MAX_DESCRIPTION, MAX_URL_LENGTH

SETTABLE: Final = (EndpointStatus.ENABLED.value, EndpointStatus.DISABLED.value)
_TYPES: Final = [type.value for type in EventType]
_STATUSES: Final = [status.value for status in DeliveryStatus]


@extend_schema_field(
    {
        "type": "string",
        "format": "uri",
        "pattern": "^[hH][tT][tT][pP][sS]?://[!-~]+$",
        "maxLength": MAX_URL_LENGTH,
    }
)
class UrlField(TextField):
    """The URL of an endpoint, exactly as sent; the address guard judges it."""

    def __init__(self, **options: Any) -> None:
        help_text = "https on port 443, at a public address."
        super().__init__(exact=True, max_length=MAX_URL_LENGTH, help_text=help_text, **options)


@example
class NewWebhookSerializer(StrictSerializer):
    url = UrlField()
    events = ChoiceSetField(choices=_TYPES, help_text="The types that are sent there.")
    description = TextField(
        required=False, allow_blank=True, max_length=MAX_DESCRIPTION, help_text="Free text."
    )


@example
class WebhookChangeSerializer(StrictSerializer):
    url = UrlField(required=False)
    events = ChoiceSetField(
        choices=_TYPES, required=False, help_text="The types that are sent there."
    )
    description = TextField(
        required=False, allow_blank=True, max_length=MAX_DESCRIPTION, help_text="Free text."
    )
    status = ChoiceField(
        choices=SETTABLE,
        required=False,
        help_text="A disabled webhook receives nothing. Enabling it again clears its failures.",
    )


@example
class WebhookSerializer(AnswerSerializer):
    """An address that receives events."""

    id = IdTextField()
    url = CharField()
    events = ChoiceSetField(choices=_TYPES)
    description = CharField()
    status = ChoiceField(choices=SETTABLE, help_text="A disabled webhook receives nothing.")
    disabledReason = ChoiceField(
        choices=DisabledReason,
        allow_null=True,
        help_text="The reason why it is disabled; `gone`: it answered 410; `failing`: for five"
        " days no attempt succeeded. Null while it is enabled.",
    )
    failingSince = MomentField(
        allow_null=True, help_text="The first failure since the last success."
    )
    createdAt = MomentField()


@example
class WebhookWithSecretSerializer(WebhookSerializer):
    """A webhook with its secret."""

    secret = CharField(help_text="Signs the messages; shown only once.")


class DeliveryAttemptSerializer(AnswerSerializer):
    """The result of an attempt."""

    number = IntegerField(help_text="Counts from 1.")
    at = MomentField()
    httpStatus = IntegerField(allow_null=True, help_text="Null if no response came.")
    latency = IntegerField(
        allow_null=True, min_value=0, source="milliseconds", help_text="Milliseconds."
    )
    error = ChoiceField(
        choices=Failure,
        allow_null=True,
        help_text="Null where it was delivered. "
        + " ".join(f"`{failure}`: {meaning}" for failure, meaning in FAILURE_MEANINGS.items()),
    )


@example
class DeliverySerializer(AnswerSerializer):
    """An event on its way to a webhook."""

    id = IdTextField()
    eventId = IdTextField(help_text="The header webhook-id of each attempt.")
    type = ChoiceField(choices=_TYPES, source="event.type")
    sequence = IntegerField(source="event.sequence", help_text=SEQUENCE_HELP)
    status = ChoiceField(
        choices=_STATUSES,
        help_text="`waiting` for its next attempt, or `sending`; `failed`: it is not tried again.",
    )
    createdAt = MomentField()
    nextAttemptAt = MomentField(allow_null=True, help_text="Null unless it is `waiting`.")
    attempts = DeliveryAttemptSerializer(many=True, source="tries")


class DeliveryQuery(StrictSerializer):
    """The filters of a list of deliveries."""

    status = ChoiceField(
        choices=_STATUSES, required=False, help_text="Only deliveries with this status."
    )
    type = ChoiceField(choices=_TYPES, required=False, help_text="Only events of this type.")


@example
class RecoverySerializer(StrictSerializer):
    since = MomentField(help_text="Deliveries that failed before then are not sent again.")


@example
class RecoveredSerializer(AnswerSerializer):
    """The number of deliveries that were queued again."""

    queued = IntegerField(min_value=0)
    more = BooleanField(help_text="There are more: call again when these have been sent.")


@example
class NoticesChangeSerializer(StrictSerializer):
    events = ChoiceSetField(choices=_TYPES, least=0, help_text="The types; none is a choice too.")


@example
class NoticesSerializer(AnswerSerializer):
    """The types of events that a user receives by e-mail."""

    address = CharField(source="owner.email")
    events = ChoiceSetField(choices=_TYPES, least=0, help_text="The types that are mailed.")
