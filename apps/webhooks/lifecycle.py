"""The states of endpoints and deliveries, the transitions between them, and why attempts fail."""

from collections.abc import Mapping
from datetime import timedelta
from enum import StrEnum
from typing import Final

from apps.core.database import Transition


class EndpointStatus(StrEnum):
    """The states on the wire; a deleted endpoint is no longer visible to anybody."""

    ENABLED = "enabled"
    DISABLED = "disabled"
    DELETED = "deleted"


class EndpointKind(StrEnum):
    """The receiver of an endpoint: a server of the user's, or a chat."""

    WEBHOOK = "webhook"
    TELEGRAM = "telegram"
    SLACK = "slack"
    DISCORD = "discord"


class DigestMode(StrEnum):
    """How a chat takes events: each at once, or together every hour or once a day."""

    OFF = "off"
    HOURLY = "hourly"
    DAILY = "daily"


class LinkProblem(StrEnum):
    """The reason why no chat could be linked to a Telegram endpoint."""

    TOKEN = "token"
    CONFLICT = "conflict"
    UNREACHABLE = "unreachable"
    TAKEN = "taken"
    FULL = "full"


LINK_PROBLEMS: Final[Mapping[LinkProblem, str]] = {
    LinkProblem.TOKEN: "Telegram refuses the token. Copy it again from @BotFather.",
    LinkProblem.CONFLICT: "Another program reads the bot's messages. Stop it, or use another bot.",
    LinkProblem.UNREACHABLE: "Telegram does not answer. It is asked again.",
    LinkProblem.TAKEN: "This chat gets notices of this bot already. Change those instead.",
    LinkProblem.FULL: "This bot has 30 chats (the maximum). Use another bot.",
}


class DisabledReason(StrEnum):
    """The reason why an endpoint is disabled, and who disabled it."""

    OWNER = "owner"
    OPERATOR = "operator"
    GONE = "gone"  # it answered 410
    FAILING = "failing"  # nothing but failures for FAILING_TIME
    UNLINKED = "unlinked"  # a Telegram endpoint that has no chat yet
    REFUSED = "refused"  # a chat answered 401, 403 or 404


DISABLED_REASONS: Final[Mapping[DisabledReason, str]] = {
    DisabledReason.OWNER: "You switched it off.",
    DisabledReason.OPERATOR: "An operator switched it off.",
    DisabledReason.GONE: "The receiver says that this address is gone (410).",
    DisabledReason.FAILING: "Nothing could be sent for five days.",
    DisabledReason.UNLINKED: "It has no chat yet.",
    DisabledReason.REFUSED: "The chat refuses messages: its token or address is no longer valid,"
    " or you blocked the bot.",
}


class EndpointTransition(StrEnum):
    ENABLE = "enable"
    DISABLE = "disable"
    DELETE = "delete"


ENDPOINT_TRANSITIONS: Final[Mapping[EndpointTransition, Transition]] = {
    EndpointTransition.ENABLE: Transition((EndpointStatus.DISABLED,), EndpointStatus.ENABLED),
    EndpointTransition.DISABLE: Transition((EndpointStatus.ENABLED,), EndpointStatus.DISABLED),
    EndpointTransition.DELETE: Transition(
        (EndpointStatus.ENABLED, EndpointStatus.DISABLED), EndpointStatus.DELETED
    ),
}

# An endpoint is disabled after this time without a success and at least this many failures.
FAILING_TIME: Final = timedelta(days=5)
LEAST_FAILURES: Final = 3


class DeliveryStatus(StrEnum):
    """The states of a delivery, on the wire."""

    WAITING = "waiting"
    SENDING = "sending"
    DELIVERED = "delivered"
    FAILED = "failed"


class DeliveryTransition(StrEnum):
    """The changes of a delivery's status."""

    CLAIM = "claim"
    DELIVER = "deliver"
    RESCHEDULE = "reschedule"  # the attempt failed, and there will be another
    GIVE_UP = "give_up"
    LOSE = "lose"  # the sending process was lost: nobody knows whether the message arrived
    DROP = "drop"  # the endpoint was disabled
    REDELIVER = "redeliver"


DELIVERY_TRANSITIONS: Final[Mapping[DeliveryTransition, Transition]] = {
    DeliveryTransition.CLAIM: Transition((DeliveryStatus.WAITING,), DeliveryStatus.SENDING),
    DeliveryTransition.DELIVER: Transition((DeliveryStatus.SENDING,), DeliveryStatus.DELIVERED),
    DeliveryTransition.RESCHEDULE: Transition((DeliveryStatus.SENDING,), DeliveryStatus.WAITING),
    DeliveryTransition.GIVE_UP: Transition((DeliveryStatus.SENDING,), DeliveryStatus.FAILED),
    DeliveryTransition.LOSE: Transition((DeliveryStatus.SENDING,), DeliveryStatus.WAITING),
    DeliveryTransition.DROP: Transition((DeliveryStatus.WAITING,), DeliveryStatus.FAILED),
    DeliveryTransition.REDELIVER: Transition(
        (DeliveryStatus.WAITING, DeliveryStatus.DELIVERED, DeliveryStatus.FAILED),
        DeliveryStatus.WAITING,
    ),
}


class DeliveryQueue(StrEnum):
    """The queue of a waiting delivery; each queue has sender threads of its own."""

    FIRST_ATTEMPT = "prompt"
    RETRY = "patient"  # further attempts, and every attempt at a slow endpoint


# An endpoint is slow when its last answer took longer.
SLOW_SECONDS: Final = 3.0
MOST_CONCURRENT_SENDS: Final = 2  # to one endpoint


class Failure(StrEnum):
    """The reason why an attempt did not deliver a webhook."""

    FORBIDDEN_ADDRESS = "forbidden_address"
    DNS = "dns"
    REFUSED = "refused"
    UNREACHABLE = "unreachable"
    TIMEOUT = "timeout"
    TLS = "tls"
    RESET = "reset"
    BAD_ANSWER = "bad_answer"
    REDIRECT = "redirect"
    STATUS = "status"
    LOST = "lost"
    UNREADABLE_SECRET = "unreadable_secret"
    INTERNAL = "internal"


FAILURE_MEANINGS: Final[Mapping[Failure, str]] = {
    Failure.FORBIDDEN_ADDRESS: "The URL may not be called, or its host name resolves to an address "
    "that is not public.",
    Failure.DNS: "The host name has no address, or no name server answered in time.",
    Failure.REFUSED: "The connection was refused.",
    Failure.UNREACHABLE: "There is no route to the server.",
    Failure.TIMEOUT: "The server did not accept the connection within 5 seconds, or had not "
    "finished its answer after 15.",
    Failure.TLS: "The certificate does not match the host name or is not from a trusted authority, "
    "or the server does not speak TLS 1.2 or later.",
    Failure.RESET: "The server closed the connection without an answer, or in the middle of it.",
    Failure.BAD_ANSWER: "The answer was not HTTP, was incomplete, or was larger than 64 KiB.",
    Failure.REDIRECT: "The server answered with a 3xx; redirects are not followed.",
    Failure.STATUS: "The server answered with a status other than 2xx.",
    Failure.LOST: "Our process ended during the attempt: the message may have arrived, and is sent "
    "again.",
    Failure.UNREADABLE_SECRET: "We cannot decrypt the secret any more; rotate it.",
    Failure.INTERNAL: "An error on our side.",
}
