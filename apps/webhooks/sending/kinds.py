"""The message that each kind of endpoint takes.

A webhook takes the signed envelope. Chats refuse that: Slack wants `text`, Discord `content`,
Telegram a chat and `text`. They get the events' texts, several in one message where several wait.
Their addresses are secrets, and appear only here, on the way to the receiver.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

import orjson
from django.conf import settings

from apps.core import database
from apps.webhooks.events.texts import clock_time, event_text
from apps.webhooks.lifecycle import EndpointKind
from apps.webhooks.models import Event
from apps.webhooks.sending import signing

TOO_MANY: Final = 429
# Characters of one message. The receivers document 4096, 4000 and 2000; some count emoji twice.
LONGEST: Final[Mapping[EndpointKind, int]] = {
    EndpointKind.TELEGRAM: 3900,
    EndpointKind.SLACK: 3900,
    EndpointKind.DISCORD: 1900,
}
# Seconds between two messages: Telegram takes one a second in a chat and 20 a minute in a group,
# Slack one a second, Discord 30 a minute.
_PAUSES: Final[Mapping[EndpointKind, float]] = {
    EndpointKind.WEBHOOK: 0.0,
    EndpointKind.TELEGRAM: 1.0,
    EndpointKind.SLACK: 1.0,
    EndpointKind.DISCORD: 2.0,
}
_GROUP_PAUSE: Final = 3.0
_HEADERS: Final = {"content-type": "application/json", "user-agent": "algotrade-webhooks/1"}
_NEW_LINE: Final = "\n"
_AGAIN: Final = "Sent again after an interruption: you may have this already."


@dataclass(frozen=True, slots=True)
class Message:
    """A message on its way: `read` are the statuses of which the answer's body is read, `pause`
    the seconds until the receiver takes the next.
    """

    url: str
    body: bytes
    headers: Mapping[str, str]
    read: Collection[int] = ()
    pause: float = 0.0


def chat_text(
    events: Sequence[Event], kind: EndpointKind, *, again: bool, now: datetime
) -> tuple[str, int]:
    """Return one text of the first events that fit into a message, and their number.

    An event that is too long alone loses its last lines.
    """
    parts: list[str] = [_AGAIN] if again else []
    room, taken = LONGEST[kind] - sum(map(len, parts)), 0
    for event in events:
        at = clock_time(event.created_at, now=now)
        part = f"{at} {event_text(event.type, event.data)}"
        if taken and len(part) + 2 > room:
            break
        if len(part) + 2 > room:
            part = f"{part[: room - 4].rpartition(_NEW_LINE)[0]}\n…"
        parts.append(part)
        room, taken = room - len(part) - 2, taken + 1
    return "\n\n".join(parts), taken


def api_url(token: str, method: str) -> str:
    """Return the address of a method of the Bot API; it holds the token."""
    return f"{settings.TELEGRAM_API_URL}/bot{token}/{method}"


def message_of(
    kind: EndpointKind, url: str, secrets: Sequence[bytes], *, id: str, body: bytes, at: datetime
) -> Message:
    """Return the message of an endpoint; `body` is the envelope, or the text for a chat.

    Raises DecryptionFailed.
    """
    opened = [database.decrypt(encrypted).decode() for encrypted in secrets]
    if kind == EndpointKind.WEBHOOK:
        seconds = int(at.timestamp())
        signature = signing.sign_message(opened, id=id, at=seconds, body=body)
        signed = {
            "webhook-id": id,
            "webhook-timestamp": str(seconds),
            "webhook-signature": signature,
        }
        return Message(url, body, {**_HEADERS, **signed})
    text, pause, read = body.decode(), _PAUSES[kind], [TOO_MANY]
    if kind == EndpointKind.TELEGRAM:
        access = orjson.loads(opened[0])
        payload = {
            "chat_id": access["chat"],
            "text": text,
            "link_preview_options": {"is_disabled": True},
        }
        pause = _GROUP_PAUSE if access["chat"] < 0 else pause
        address = api_url(access["token"], "sendMessage")
    elif kind == EndpointKind.SLACK:
        address, payload = opened[0], {"text": _escaped(text)}
    else:
        # A name of an algorithm such as @everyone calls nobody.
        address, payload = opened[0], {"content": text, "allowed_mentions": {"parse": []}}
    return Message(address, orjson.dumps(payload), _HEADERS, read, pause)


def _escaped(text: str) -> str:
    """Escape the three characters that Slack reads as markup."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def retry_after_of(body: bytes) -> float | None:
    """Return the wait in seconds that a body with status 429 asks for, by Telegram's form
    (`parameters.retry_after`) or Discord's (`retry_after`); None for any other body.
    """
    try:
        answer = orjson.loads(body)
        wait = answer.get("parameters", answer).get("retry_after")
    except (orjson.JSONDecodeError, AttributeError):
        return None
    return float(wait) if isinstance(wait, int | float) and wait >= 0 else None
