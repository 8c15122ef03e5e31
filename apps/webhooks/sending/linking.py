"""Linking a Telegram chat: its owner sends a code to the bot, and a job looks for the message.

The job asks the Bot API (`getUpdates`) only while a code is pending. Nothing is asked inside a
transaction.
"""

import logging
import secrets as randomness
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import Any, Final

import orjson
from django.db import IntegrityError, transaction
from django.db.models import Q

from apps.core import audit, database, jobs
from apps.webhooks.event_types import EventType
from apps.webhooks.events import outbox
from apps.webhooks.events.outbox import EventPayload
from apps.webhooks.lifecycle import EndpointTransition, LinkProblem
from apps.webhooks.models import BOT_SLOTS, Endpoint, TelegramLink
from apps.webhooks.sending.http import SendResult
from apps.webhooks.sending.kinds import api_url

LINK_JOB: Final = "webhooks.link"
LINK_QUEUE: Final = "small"
VALID: Final = timedelta(minutes=10)
# Between two questions about one code.
ASK_INTERVAL: Final = timedelta(seconds=2)
# A job that has asked nothing for so long is lost.
ASKER_SILENCE: Final = timedelta(seconds=20)
# No letters that look alike.
_LETTERS: Final = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
_CODE_LENGTH: Final = 8
_MOST_UPDATES: Final = 20

log = logging.getLogger(__name__)

# (url, body): one question to the Bot API, which never raises for its behaviour.
Ask = Callable[[str, bytes], SendResult]


@dataclass(frozen=True, slots=True)
class BotUpdates:
    """An answer of getUpdates: the chat that sent the code, and the next update to ask for."""

    chat: int | None
    offset: int


def begin(endpoint: Endpoint, *, now: datetime) -> TelegramLink:
    """Make a new code for a Telegram endpoint; it replaces an earlier one."""
    code = "".join(randomness.choice(_LETTERS) for _ in range(_CODE_LENGTH))
    values = {"code": code, "expires_at": now + VALID, "problem": "", "offset": 0, "asked_at": None}
    link, _ = TelegramLink.objects.update_or_create(endpoint=endpoint, defaults=values)
    ensure_job()
    return link


def ensure_job() -> None:
    jobs.enqueue_once(LINK_JOB, queue=LINK_QUEUE, lock=LINK_JOB, arguments={})


def wake_lost(*, now: datetime) -> int:
    """Enqueue a job if codes are pending and nobody has asked for them lately; return how many."""
    silent = Q(asked_at=None) | Q(asked_at__lt=now - ASKER_SILENCE)
    waiting = TelegramLink.objects.pending(now=now).filter(silent).count()
    if waiting and not jobs.is_quiet():
        ensure_job()
    return waiting


def work(*, ask: Ask, clock: Callable[[], datetime], stopping: Callable[[], bool]) -> None:
    """Ask for all pending codes in turn, until none is pending."""
    while not stopping() and TelegramLink.objects.pending(now=clock()).exists():
        for link in _due(clock()):
            try_link(link, ask=ask, now=clock())
        time.sleep(ASK_INTERVAL.total_seconds() / 4)


def _due(now: datetime) -> Iterator[TelegramLink]:
    """Yield the codes to ask for; another job does not ask for the same at the same time."""
    unasked = Q(asked_at=None) | Q(asked_at__lte=now - ASK_INTERVAL)
    for pk in TelegramLink.objects.pending(now=now).filter(unasked).values_list("pk", flat=True):
        row = TelegramLink.objects.pending(now=now).filter(unasked, pk=pk)
        if row.update(asked_at=now):
            yield TelegramLink.objects.select_related("endpoint").get(pk=pk)


def try_link(link: TelegramLink, *, ask: Ask, now: datetime) -> None:
    """Look for the message with the code, and link its chat."""
    access = orjson.loads(database.decrypt(bytes(link.endpoint.secret)))
    body = {
        "offset": link.offset,
        "limit": _MOST_UPDATES,
        "timeout": 0,
        "allowed_updates": ["message", "channel_post"],
    }
    result = ask(api_url(access["token"], "getUpdates"), orjson.dumps(body))
    if result.error is not None:
        _note(link, _problem_of(result), now)
        return
    answer = read_updates(result.body, link.code)
    if answer is None:
        _note(link, LinkProblem.UNREACHABLE, now)
    elif answer.chat is None:
        TelegramLink.objects.filter(pk=link.pk, code=link.code).update(
            offset=max(answer.offset, link.offset), problem=""
        )
    else:
        _link(link, access["token"], answer.chat, now)


def read_updates(body: bytes, code: str) -> BotUpdates | None:
    """Return the chat of the message that holds the code; None for an answer that is none."""
    try:
        updates = orjson.loads(body)["result"]
        offset = max((int(update["update_id"]) + 1 for update in updates), default=0)
        chats = [
            int(message["chat"]["id"])
            for update in updates
            if (message := _message(update)) and code in _words(message)
        ]
    except (orjson.JSONDecodeError, KeyError, TypeError, ValueError):
        return None
    return BotUpdates(chats[-1] if chats else None, offset)


def _message(update: dict[str, Any]) -> dict[str, Any] | None:
    message = update.get("message") or update.get("channel_post")
    return message if isinstance(message, dict) else None


def _words(message: dict[str, Any]) -> list[str]:
    return str(message.get("text", "")).upper().split()


def _problem_of(result: SendResult) -> LinkProblem:
    match result.status:
        case 401 | 403 | 404:
            return LinkProblem.TOKEN
        case 409:
            return LinkProblem.CONFLICT
    return LinkProblem.UNREACHABLE


def _note(link: TelegramLink, problem: LinkProblem, now: datetime) -> None:
    """Store a problem; after one that no waiting mends, the code ends."""
    changes: dict[str, Any] = {"problem": problem}
    if problem not in (LinkProblem.CONFLICT, LinkProblem.UNREACHABLE):
        changes["expires_at"] = now
    TelegramLink.objects.filter(pk=link.pk, code=link.code).update(**changes)


def _link(link: TelegramLink, token: str, chat: int, now: datetime) -> None:
    try:
        _store(link, token, chat, now)
    except IntegrityError as error:
        taken = "one_endpoint_of_a_chat" in str(error)
        _note(link, LinkProblem.TAKEN if taken else LinkProblem.FULL, now)


@transaction.atomic
def _store(link: TelegramLink, token: str, chat: int, now: datetime) -> None:
    """Give the endpoint its chat, switch it on, and send a test there."""
    endpoint = Endpoint.objects.locked().select_related("owner").get(pk=link.endpoint_id)
    row = TelegramLink.objects.pending(now=now).filter(pk=link.pk, code=link.code)
    if not row.delete()[0]:  # its owner has asked for another code, or deleted the endpoint
        return
    bot = fingerprint(token)
    slots = set(Endpoint.objects.filter(bot=bot).values_list("bot_slot", flat=True))
    endpoint.secret = database.encrypt(orjson.dumps({"token": token, "chat": chat}))
    endpoint.bot, endpoint.chat = bot, fingerprint(f"{token} {chat}")
    endpoint.bot_slot = next((slot for slot in BOT_SLOTS if slot not in slots), BOT_SLOTS.stop)
    endpoint.save(update_fields=["secret", "bot", "chat", "bot_slot"])
    Endpoint.objects.filter(pk=endpoint.pk).transition(
        EndpointTransition.ENABLE, disabled_reason="", changed_at=now
    )
    audit.record(audit.Action.WEBHOOK_LINKED, endpoint, actor=audit.SYSTEM, now=now)
    payload = EventPayload(
        EventType.WEBHOOK_TEST, endpoint.owner_id, endpoint.pk, {"webhookId": endpoint.pk}
    )
    event = outbox.insert([payload], now=now)[0]
    outbox.deliver_to(endpoint, event, now=now)


def fingerprint(secret: str) -> str:
    """Return a digest that tells equal tokens without revealing them: they are long and random."""
    return blake2b(secret.encode(), digest_size=16).hexdigest()
