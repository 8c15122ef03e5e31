"""At most so many orders a calendar second of one account, as exchanges allow to programs.

What is too much is not dropped: it counts from the next second that has room.
"""

from collections import Counter
from datetime import datetime, timedelta
from typing import Final

MOST_A_SECOND: Final = 10
"""NSE and BSE, orders a second of one client and exchange without an algorithm's own registration
(SEBI's circular of 2025-02-04 on retail algorithms).
"""
_SECOND: Final = timedelta(seconds=1)


def paced(count: int, taken: Counter[datetime], *, now: datetime) -> list[datetime]:
    """From when each of `count` orders counts, in order; `taken` are orders by calendar second, and
    gets these too.
    """
    found = []
    second = now.replace(microsecond=0)
    for _ in range(count):
        while taken[second] >= MOST_A_SECOND:
            second += _SECOND
        taken[second] += 1
        found.append(max(now, second))
    return found
