"""At most so many orders a calendar second of one account, as exchanges allow to programs.

What is too much is not dropped: it counts from the next second that has room.
"""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

MOST_A_SECOND: Final = 10
"""NSE and BSE, orders a second of one client and exchange without an algorithm's own registration
(SEBI's circular of 2025-02-04 on retail algorithms).
"""
_SECOND: Final = timedelta(seconds=1)


def paced(placed: Iterable[datetime], taken: Counter[datetime]) -> list[datetime]:
    """From when each order counts that is placed then, in order; `taken` are orders by calendar
    second, and gets these too.
    """
    found = []
    for moment in placed:
        second = moment.replace(microsecond=0)
        while taken[second] >= MOST_A_SECOND:
            second += _SECOND
        taken[second] += 1
        found.append(max(moment, second))
    return found
