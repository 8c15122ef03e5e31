"""How long web and workers wait for the database; commands wait as long as it takes.

The timeouts are startup options of a connection, so they hold from its first statement on and after
every reconnect (config/decisions/0009).
"""

from dataclasses import asdict, dataclass
from typing import Final

from django.db import DEFAULT_DB_ALIAS, connections


@dataclass(frozen=True, slots=True)
class Timeouts:
    """PostgreSQL's settings by their own names, in seconds."""

    statement_timeout: int
    lock_timeout: int
    idle_in_transaction_session_timeout: int

    def as_options(self) -> str:
        return " ".join(f"-c {name}={seconds}s" for name, seconds in asdict(self).items())


WEB: Final = Timeouts(statement_timeout=5, lock_timeout=2, idle_in_transaction_session_timeout=10)
WORKER: Final = Timeouts(
    statement_timeout=60, lock_timeout=5, idle_in_transaction_session_timeout=30
)


def apply(timeouts: Timeouts) -> None:
    """Set the timeouts of every connection that this process opens from now on, in any thread.

    `options` of DATABASE_URL are kept; a timeout that they name too is overridden.
    """
    parameters = connections.settings[DEFAULT_DB_ALIAS]["OPTIONS"]
    options = parameters.get("options", "")
    parameters["options"] = f"{options} {timeouts.as_options()}".strip()
