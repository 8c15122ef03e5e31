"""Webhooks on the wire: endpoints, their deliveries, and notices by e-mail."""

import re
from typing import Any, Final

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.serializers import BooleanField, CharField, IntegerField

from apps.core.api.resources import (
    AnswerSerializer,
    ChoiceField,
    ChoiceSetField,
    IdTextField,
    MomentField,
    SecretField,
    StrictSerializer,
    TextField,
    example,
)
from apps.webhooks.event_types import SEQUENCE_HELP, EventType
from apps.webhooks.lifecycle import (
    FAILURE_MEANINGS,
    LINK_PROBLEMS,
    DeliveryStatus,
    DigestMode,
    DisabledReason,
    EndpointKind,
    EndpointStatus,
    Failure,
    LinkProblem,
)
from apps.webhooks.models import MAX_DESCRIPTION, MAX_URL_LENGTH

SETTABLE: Final = (EndpointStatus.ENABLED.value, EndpointStatus.DISABLED.value)
_TYPES: Final = [type.value for type in EventType]
_CLOCK: Final = re.compile("([01][0-9]|2[0-3]):[0-5][0-9]")
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


class ClockField(TextField):
    """A time of day in India, hours and minutes."""

    def __init__(self, **options: Any) -> None:
        super().__init__(exact=True, max_length=5, **options)

    def to_internal_value(self, data: object) -> str:
        text = super().to_internal_value(data)
        if not _CLOCK.fullmatch(text):
            raise serializers.ValidationError("must be a time such as 22:30")
        return text


class QuietHoursSerializer(StrictSerializer):
    """Hours in India in which a chat gets nothing; what happens then comes after them."""

    from_ = ClockField(help_text="Such as 22:30.")
    until = ClockField(help_text="Earlier than `from` means the next day.")


_QUIET: Final = (
    "Of a chat: hours in which it gets nothing; one message with what happened comes after them."
    " Null for none."
)
_DIGEST: Final = (
    "Of a chat: `off` sends events at once, `hourly` and `daily` together in one message, at the"
    " full hour or at 18:00 in India."
)


@example
class NewWebhookSerializer(StrictSerializer):
    kind = ChoiceField(
        choices=EndpointKind,
        required=False,
        help_text="`webhook` (the default) gets signed JSON; the chats get texts.",
    )
    url = UrlField(required=False)
    token = SecretField(
        required=False, help_text="Of a Telegram bot, as @BotFather shows it; instead of `url`."
    )
    quietHours = QuietHoursSerializer(required=False, allow_null=True, help_text=_QUIET)
    digest = ChoiceField(choices=DigestMode, required=False, help_text=_DIGEST)
    events = ChoiceSetField(choices=_TYPES, help_text="The types that are sent there.")
    description = TextField(
        required=False, allow_blank=True, max_length=MAX_DESCRIPTION, help_text="Free text."
    )


@example
class WebhookChangeSerializer(StrictSerializer):
    url = UrlField(required=False)
    quietHours = QuietHoursSerializer(required=False, allow_null=True, help_text=_QUIET)
    digest = ChoiceField(choices=DigestMode, required=False, help_text=_DIGEST)
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


class TelegramLinkSerializer(AnswerSerializer):
    """The code that links a chat: its owner sends it to the bot as a message."""

    code = CharField()
    expiresAt = MomentField()
    problem = ChoiceField(
        choices=LinkProblem,
        allow_null=True,
        help_text="Why no chat is linked yet. "
        + " ".join(f"`{problem}`: {meaning}" for problem, meaning in LINK_PROBLEMS.items()),
    )


@example
class WebhookSerializer(AnswerSerializer):
    """An address that receives events."""

    id = IdTextField()
    kind = ChoiceField(choices=EndpointKind)
    url = CharField(help_text="Of a chat only its host: the rest is a secret.")
    quietHours = QuietHoursSerializer(allow_null=True, help_text=_QUIET)
    digest = ChoiceField(choices=DigestMode, help_text=_DIGEST)
    link = TelegramLinkSerializer(
        allow_null=True,
        source="pending_link",
        help_text="Of a Telegram endpoint without a chat: its last code.",
    )
    events = ChoiceSetField(choices=_TYPES)
    description = CharField()
    status = ChoiceField(choices=SETTABLE, help_text="A disabled webhook receives nothing.")
    disabledReason = ChoiceField(
        choices=DisabledReason,
        allow_null=True,
        help_text="The reason why it is disabled; `gone`: it answered 410; `failing`: for five"
        " days no attempt succeeded; `unlinked`: it has no Telegram chat yet; `refused`: the chat"
        " answered 401, 403 or 404. Null while it is enabled.",
    )
    failingSince = MomentField(
        allow_null=True, help_text="The first failure since the last success."
    )
    createdAt = MomentField()


@example
class WebhookWithSecretSerializer(WebhookSerializer):
    """A webhook with its secret."""

    secret = CharField(
        allow_null=True, help_text="Signs the messages; shown only once. Null for a chat."
    )


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
    webhookId = IdTextField(source="endpoint_id")
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
