"""The dispatcher: it claims due deliveries, sends them in many threads and records the results.

One thread talks to the database. The others only send: each holds one delivery at a time, until its
receiver answers or times out. Each queue has threads of its own, so hanging receivers cannot block
the first attempts at other endpoints.
"""

import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Final

from apps.core import database
from apps.webhooks.lifecycle import DeliveryQueue, EndpointKind, Failure
from apps.webhooks.sending import delivery, kinds
from apps.webhooks.sending.delivery import AttemptResult, ClaimedDelivery
from apps.webhooks.sending.http import SendResult
from apps.webhooks.sending.kinds import Message

# Threads at most, in one process; they are started as they are needed.
SENDERS: Final[Mapping[DeliveryQueue, int]] = {
    DeliveryQueue.FIRST_ATTEMPT: 240,
    DeliveryQueue.RETRY: 60,
}
# How often to look for more to send while no result arrives.
POLL_SECONDS: Final = 0.1
# Results that arrive within so long of each other are recorded together.
GATHER_SECONDS: Final = 0.005
# How long to look for more when nothing is left: a transaction that saw this job wait enqueues none
# of its own, and commits a little later.
LINGER_SECONDS: Final = 1.0

# A chat that takes its next message within so long is waited for.
CHAT_PAUSE: Final = timedelta(seconds=5)

log = logging.getLogger(__name__)

Clock = Callable[[], datetime]
# One attempt, which never raises for a receiver's behaviour.
SendAttempt = Callable[[Message], SendResult]


@dataclass(slots=True)
class SenderPool:
    """The threads of one queue.

    They are daemons, so a hanging receiver does not keep the process alive.
    """

    most: int
    work: Callable[[ClaimedDelivery], None]
    inbox: "SimpleQueue[ClaimedDelivery | None]" = field(default_factory=SimpleQueue)
    busy: int = 0
    started: int = 0

    @property
    def free(self) -> int:
        return self.most - self.busy

    def submit(self, claimed: ClaimedDelivery) -> None:
        self.busy += 1
        if self.busy > self.started:
            self.started += 1
            Thread(target=self._run, name="webhook sender", daemon=True).start()
        self.inbox.put(claimed)

    def stop(self) -> None:
        for _ in range(self.started):
            self.inbox.put(None)

    def _run(self) -> None:
        while (claimed := self.inbox.get()) is not None:
            self.work(claimed)


class Dispatcher:
    """The dispatch of one job."""

    def __init__(self, *, send: SendAttempt, clock: Clock) -> None:
        self._send = send
        self._clock = clock
        self._results: SimpleQueue[tuple[DeliveryQueue, AttemptResult]] = SimpleQueue()
        self._pools = {
            queue: SenderPool(most, self._work(queue)) for queue, most in SENDERS.items()
        }

    def run(self, *, stopping: Callable[[], bool]) -> int:
        """Send until there has been no work for a while, or the worker stops.

        Attempts under way when the worker stops are lost; another worker sends them again. Return
        how many attempts were recorded.
        """
        delivery.requeue_stalled(now=self._clock())
        recorded, quiet_since = 0, time.monotonic()
        try:
            while not stopping():
                recorded += self._record()
                if self._submit() or any(pool.busy for pool in self._pools.values()):
                    quiet_since = time.monotonic()
                elif (
                    time.monotonic() - quiet_since > LINGER_SECONDS
                    and not delivery.waits_for_chat(now=self._clock(), within=CHAT_PAUSE)
                ):
                    break
        finally:
            for pool in self._pools.values():
                pool.stop()
        return recorded

    def _submit(self) -> int:
        """Give claimed deliveries to the senders; return how many."""
        submitted = 0
        for queue, pool in self._pools.items():
            for claimed in delivery.claim(queue, most=pool.free, now=self._clock()):
                pool.submit(claimed)
                submitted += 1
        return submitted

    def _record(self) -> int:
        """Wait a little for results, and record all that have arrived; return how many."""
        results = []
        timeout = POLL_SECONDS
        try:
            while True:
                queue, result = self._results.get(timeout=timeout)
                self._pools[queue].busy -= 1
                results.append(result)
                timeout = GATHER_SECONDS
        except Empty:
            pass
        if results:
            delivery.record_results(results, now=self._clock())
        return len(results)

    def _work(self, queue: DeliveryQueue) -> Callable[[ClaimedDelivery], None]:
        def work(claimed: ClaimedDelivery) -> None:
            self._results.put((queue, attempt(claimed, send=self._send, at=self._clock())))

        return work


def attempt(claimed: ClaimedDelivery, *, send: SendAttempt, at: datetime) -> AttemptResult:
    """Send a claimed delivery. Never raise: the dispatcher would wait forever for the result."""
    try:
        message = kinds.message_of(
            claimed.kind,
            claimed.url,
            claimed.secrets,
            id=claimed.event_id,
            body=claimed.body,
            at=at,
        )
        sent = send(message)
    except database.DecryptionFailed:
        return AttemptResult(claimed, at, 0.0, Failure.UNREADABLE_SECRET)
    except Exception as error:
        # The address of a chat holds its token, and the texts of errors may hold the address.
        is_secret = claimed.kind != EndpointKind.WEBHOOK
        cause = type(error).__name__ if is_secret else error
        log.error(
            "delivery %s: the sender failed: %s",
            claimed.delivery_id,
            cause,
            exc_info=not is_secret,
        )
        return AttemptResult(claimed, at, 0.0, Failure.INTERNAL)
    wait = sent.retry_after or kinds.retry_after_of(sent.body)
    return AttemptResult(claimed, at, sent.seconds, sent.error, sent.status, wait, message.pause)
