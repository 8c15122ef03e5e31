"""The nightly purge: every app decides how long it keeps its rows, and is listed here."""

import logging
from collections.abc import Mapping
from datetime import datetime
from typing import Final, Protocol

from apps.accounts import services as accounts
from apps.algorithms import services as algorithms
from apps.backtests import services as backtests
from apps.core import jobs as core
from apps.trading import services as trading
from apps.webhooks import services as webhooks

log = logging.getLogger(__name__)


class Purge(Protocol):
    """Deletes obsolete rows in batches; returns their number."""

    def __call__(self, *, now: datetime) -> int: ...


PURGES: Final[Mapping[str, Purge]] = {
    "accounts": accounts.purge,
    "algorithms": algorithms.purge,
    "backtests": backtests.purge,
    "core": core.purge,
    "trading": trading.purge,
    "webhooks": webhooks.purge,
}


def purge_all(*, now: datetime) -> Mapping[str, int]:
    """Return the number of deleted rows, keyed by app."""
    deleted = {name: purge(now=now) for name, purge in PURGES.items()}
    log.info("purged %s", deleted)
    return deleted
