"""How long the database may keep each kind of process waiting; commands wait as long as it takes.

They go to the server as startup options, so they hold from a connection's first statement on and
after every reconnect (config/decisions/0009).
"""

from dataclasses import asdict, dataclass
from typing import Final

from django.db import DEFAULT_DB_ALIAS, connections


@dataclass(frozen=True, slots=True)
class Limits:
    """PostgreSQL's settings by their own names, in seconds."""

    statement_timeout: int
    lock_timeout: int
    idle_in_transaction_session_timeout: int

    def as_options(self) -> str:
        return " ".join(f"-c {name}={seconds}s" for name, seconds in asdict(self).items())


WEB: Final = Limits(statement_timeout=5, lock_timeout=2, idle_in_transaction_session_timeout=10)
WORKER: Final = Limits(statement_timeout=60, lock_timeout=5, idle_in_transaction_session_timeout=30)


def apply(limits: Limits) -> None:
    """Bind every connection that this process opens from now on, in any thread.

    What DATABASE_URL brings as `options` stays; of the same setting named twice, ours holds.
    """
    parameters = connections.settings[DEFAULT_DB_ALIAS]["OPTIONS"]
    given = parameters.get("options", "")
    parameters["options"] = f"{given} {limits.as_options()}".strip()
