"""The waiting times of web and workers for the database; commands wait without limit.

The timeouts are startup options of a connection, so they apply from its first statement and after
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
    """Set the timeouts of all later connections of this process, in any thread.

    `options` of DATABASE_URL are kept, except timeouts, which are overridden.
    """
    parameters = connections.settings[DEFAULT_DB_ALIAS]["OPTIONS"]
    options = parameters.get("options", "")
    parameters["options"] = f"{options} {timeouts.as_options()}".strip()
