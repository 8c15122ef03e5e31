"""What is put right when a worker or the queue was lost in the middle of its work.

Every worker process sweeps every few seconds, by a thread and not by a job: a job could itself be
what is lost. Two sweeps at the same moment do no harm, as each change is one conditional UPDATE.
"""

import logging
from datetime import datetime, timedelta
from typing import Final

from django.db import transaction
from django.db.models import F

from apps.backtests import announcements, turns
from apps.backtests.lifecycle import BEAT_SECONDS, Move
from apps.backtests.models import Backtest, BacktestQuerySet
from apps.core import jobs
from apps.core.errors import Code

log = logging.getLogger(__name__)

SILENCE: Final = timedelta(seconds=4 * BEAT_SECONDS)
"""After so long without a beat a worker counts as lost."""
MOST_LOSSES: Final = 5
"""Workers that one backtest may cost before it is the suspect."""


def sweep(*, now: datetime) -> int:
    """Give back or give up what lost workers ran, and see that nothing waits without a turn.

    Returns how many backtests it dealt with.
    """
    silent = list(Backtest.objects.silent_since(now - SILENCE))
    dealt = sum(_recover(backtest, now) for backtest in silent)
    # What a lost turn was running is known from the backtests; one turn too many does nothing.
    jobs.put_back_lost(turns.QUEUE, silence=SILENCE, now=now)
    if lacking := turns.missing():
        log.warning("%d turns were lost: granting them anew", lacking)
        turns.grant(lacking)
    return dealt


def _recover(backtest: Backtest, now: datetime) -> bool:
    """False when its worker was heard of after all, or another sweep came first."""
    same = Backtest.objects.attempt(backtest).filter(beat_at=backtest.beat_at)
    if backtest.losses + 1 >= MOST_LOSSES:
        return _give_up(backtest, same, now)
    return _queue_again(backtest, same)


@transaction.atomic
def _give_up(backtest: Backtest, same: BacktestQuerySet, now: datetime) -> bool:
    message = f"It was given up: {MOST_LOSSES} workers were lost while they ran it."
    error = {"code": Code.INTERNAL_SERVER_ERROR.value, "message": message}
    given_up = same.move(Move.FAIL, error=error, completed_at=now, losses=F("losses") + 1)
    if given_up:
        announcements.failed(backtest, error, now=now)
        log.error("backtest %s was given up after %d lost workers", backtest.pk, MOST_LOSSES)
    return given_up


@transaction.atomic
def _queue_again(backtest: Backtest, same: BacktestQuerySet) -> bool:
    again = same.move(Move.GIVE_BACK, progress=0, started_at=None, losses=F("losses") + 1)
    if again:
        log.warning("backtest %s: its worker was lost in attempt %d", backtest.pk, backtest.attempt)
        turns.grant()
    return again
