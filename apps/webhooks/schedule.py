"""When a delivery that has failed is tried again.

The waits are the example of the Standard Webhooks specification (github.com/standard-webhooks/
standard-webhooks, spec/standard-webhooks.md, "Deliverability and reliability"), about 75 hours in
all.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from hashlib import blake2b
from typing import Final

WAITS: Final[Sequence[timedelta]] = (
    timedelta(seconds=5),
    timedelta(minutes=5),
    timedelta(minutes=30),
    *(timedelta(hours=hours) for hours in (2, 5, 10, 14, 20, 24)),
)
"""After the first failure, the second, and so on; after one more it is given up."""
JITTER: Final = 0.2
"""Each wait is this much shorter or longer, so that what failed together does not come again
together.
"""
MOST_RETRY_AFTER: Final = timedelta(hours=24)
"""A receiver may put off the next attempt by so much."""


def next_attempt(
    failures: int, *, seed: str, now: datetime, retry_after: float | None = None
) -> datetime | None:
    """When to try again after this many failures, the last of them now; None for never.

    `seed` chooses the jitter, the same each time; `retry_after` is what the receiver asked for, in
    seconds.
    """
    if failures > len(WAITS):
        return None
    wait = WAITS[failures - 1] * (1 + JITTER * _spread(f"{seed}/{failures}"))
    asked = timedelta(seconds=min(retry_after or 0.0, MOST_RETRY_AFTER.total_seconds()))
    return now + max(wait, asked)


def _spread(seed: str) -> float:
    """A number of -1 to 1 that looks random."""
    digest = blake2b(seed.encode(), digest_size=8).digest()
    return int.from_bytes(digest) / 2**63 - 1
