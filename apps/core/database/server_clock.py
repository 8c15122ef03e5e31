"""The time of the service: the database's clock, which all machines share.

`now` is this machine's time, corrected when its clock is off. Heartbeats, leases and tokens of
several machines are compared with one another: a clock 25 s ahead would make other machines' work
look abandoned.
"""

import logging
import time
from datetime import UTC, datetime, timedelta
from typing import Final

from django.db import connection
from django.utils import timezone

# A smaller difference is ignored: a query takes time too.
SECONDS_TOLERATED: Final = 2.0
# A machine with a larger clock error gets no work.
SECONDS_TO_REST: Final = 30.0
CLOCK_QUERY: Final = "SELECT extract(epoch FROM clock_timestamp())::float8"

log = logging.getLogger(__name__)


class MachineClock:
    """How far this machine's clock was ahead of the database's at the last comparison."""

    def __init__(self) -> None:
        self.seconds_ahead = 0.0

    def note(self, database_seconds: float, *, begun: float, ended: float) -> None:
        """Compare the database's time with this machine's time before and after the query."""
        ahead = (begun + ended) / 2 - database_seconds
        is_off = abs(ahead) > SECONDS_TOLERATED + (ended - begun) / 2
        before, self.seconds_ahead = self.seconds_ahead, ahead if is_off else 0.0
        if abs(self.seconds_ahead - before) > SECONDS_TOLERATED:
            log.warning("%s", self.description)

    @property
    def description(self) -> str:
        ahead = self.seconds_ahead
        if not ahead:
            return "the clock of this machine agrees with the database's"
        direction = "ahead of" if ahead > 0 else "behind"
        return f"the clock of this machine is {abs(ahead):.1f} s {direction} the database's"


machine_clock: Final = MachineClock()


def now() -> datetime:
    """Return the time by the database's clock, as of the last comparison."""
    return timezone.now() - timedelta(seconds=machine_clock.seconds_ahead)


def read_clock() -> datetime:
    """Ask the database for its time. Raises database errors."""
    with connection.cursor() as cursor:
        cursor.execute(CLOCK_QUERY)
        return datetime.fromtimestamp(float(cursor.fetchone()[0]), tz=UTC)


def compare_clocks() -> None:
    """Ask the database for its time, and store the difference to this machine's."""
    connection.ensure_connection()  # connecting takes time that is not the query's
    begun = time.time()
    moment = read_clock()
    machine_clock.note(moment.timestamp(), begun=begun, ended=time.time())


def is_far_off() -> bool:
    return abs(machine_clock.seconds_ahead) > SECONDS_TO_REST
