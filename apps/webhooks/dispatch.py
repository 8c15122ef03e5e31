"""A turn at sending: claim what is due, send it by many threads, record what comes back.

One thread speaks with the database. The others only send: each holds one delivery at a time, and
for as long as a receiver lets it wait. Each queue has threads of its own, so however many receivers
hang, the first attempts of the others find a sender.
"""

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Final

from apps.core import sealing
from apps.webhooks import delivery, signing
from apps.webhooks.delivery import Message, Outcome
from apps.webhooks.failures import Failure
from apps.webhooks.lifecycle import Queue
from apps.webhooks.sending import Answer

SENDERS: Final[Mapping[Queue, int]] = {Queue.FIRST_ATTEMPT: 240, Queue.RETRY: 60}
"""Threads at most, of one process; they are started as they are needed."""
POLL_SECONDS: Final = 0.1
"""So often it is looked for more to send while nothing comes back."""
GATHER_SECONDS: Final = 0.005
"""What comes back within so long of another is written down with it."""
LINGER_SECONDS: Final = 1.0
"""So long it is looked for more when nothing is left: a transaction that saw this turn wait grants
none of its own, and commits a little later.
"""

log = logging.getLogger(__name__)

Clock = Callable[[], datetime]
Send = Callable[[str, bytes, Mapping[str, str]], Answer]
"""(url, body, headers): one attempt; it raises nothing for what the receiver does."""


@dataclass(slots=True)
class Senders:
    """The threads of one queue. They are daemons: a receiver that hangs keeps no process alive."""

    most: int
    work: Callable[[Message], None]
    inbox: "SimpleQueue[Message | None]" = field(default_factory=SimpleQueue)
    busy: int = 0
    started: int = 0

    @property
    def free(self) -> int:
        return self.most - self.busy

    def take(self, message: Message) -> None:
        self.busy += 1
        if self.busy > self.started:
            self.started += 1
            Thread(target=self._run, name="webhook sender", daemon=True).start()
        self.inbox.put(message)

    def dismiss(self) -> None:
        for _ in range(self.started):
            self.inbox.put(None)

    def _run(self) -> None:
        while (message := self.inbox.get()) is not None:
            self.work(message)


class Turn:
    """One turn of one process."""

    def __init__(self, *, send: Send, clock: Clock) -> None:
        self._send = send
        self._clock = clock
        self._back: SimpleQueue[tuple[Queue, Outcome]] = SimpleQueue()
        self._senders = {queue: Senders(most, self._work(queue)) for queue, most in SENDERS.items()}

    def run(self, *, stopping: Callable[[], bool]) -> int:
        """Until nothing has been left to do for a while, or the worker stops; how many were sent.

        What is still under way when the worker stops is lost, and sent again by another.
        """
        delivery.put_back_lost(now=self._clock())
        sent, quiet_since = 0, time.monotonic()
        try:
            while not stopping():
                sent += self._record()
                if self._begin() or self._under_way():
                    quiet_since = time.monotonic()
                elif time.monotonic() - quiet_since > LINGER_SECONDS:
                    break
        finally:
            for senders in self._senders.values():
                senders.dismiss()
        return sent

    def _begin(self) -> int:
        """How many deliveries were given to senders."""
        begun = 0
        for queue, senders in self._senders.items():
            for message in delivery.claim(queue, most=senders.free, now=self._clock()):
                senders.take(message)
                begun += 1
        return begun

    def _under_way(self) -> bool:
        return any(senders.busy for senders in self._senders.values())

    def _record(self) -> int:
        """Wait a little for what comes back, and write down all that has."""
        outcomes = []
        with_patience = POLL_SECONDS
        try:
            while True:
                queue, outcome = self._back.get(timeout=with_patience)
                self._senders[queue].busy -= 1
                outcomes.append(outcome)
                with_patience = GATHER_SECONDS
        except Empty:
            pass
        if outcomes:
            delivery.record(outcomes, now=self._clock())
        return len(outcomes)

    def _work(self, queue: Queue) -> Callable[[Message], None]:
        def work(message: Message) -> None:
            self._back.put((queue, attempt(message, send=self._send, at=self._clock())))

        return work


def attempt(message: Message, *, send: Send, at: datetime) -> Outcome:
    """Raises nothing: whoever waits for the outcome would wait for ever."""
    try:
        answer = send(message.url, message.body, headers_of(message, at=at))
    except sealing.Unreadable:
        return Outcome(message, at, 0.0, Failure.UNREADABLE_SECRET)
    except Exception:
        log.exception("delivery %s: the sender broke", message.delivery_id)
        return Outcome(message, at, 0.0, Failure.INTERNAL)
    return Outcome(message, at, answer.seconds, answer.error, answer.status, answer.retry_after)


def headers_of(message: Message, *, at: datetime) -> dict[str, str]:
    """Those of the Standard Webhooks specification. Raises sealing.Unreadable."""
    seconds = int(at.timestamp())
    secrets = [sealing.unseal(sealed).decode() for sealed in message.secrets]
    signature = signing.sign(secrets, id=message.event_id, at=seconds, body=message.body)
    return {
        "content-type": "application/json",
        "user-agent": "algotrade-webhooks/1",
        "webhook-id": message.event_id,
        "webhook-timestamp": str(seconds),
        "webhook-signature": signature,
    }
