"""Replays requested from the console: a worker plays them, in a job of its own queue."""

from datetime import datetime
from typing import Final

from apps.core import jobs
from apps.market.feeds import active_feed
from apps.market.feeds.active_feed import FEED_LEASE

PLAY_JOB: Final = "market.replay"
REPLAY_QUEUE: Final = "replays"


def enqueue_replay() -> None:
    """Enqueue the job in the caller's transaction, unless it waits already."""
    jobs.enqueue_once(PLAY_JOB, queue=REPLAY_QUEUE, lock=PLAY_JOB, arguments={})


def requeue_replay(*, now: datetime) -> int:
    """Let a worker continue the replay of a worker that was stopped or killed; return 1 if there
    is one.
    """
    if not active_feed.is_waiting_for_worker(now=now):
        return 0
    jobs.put_back_lost(REPLAY_QUEUE, silence=FEED_LEASE, now=now)
    enqueue_replay()
    return 1
