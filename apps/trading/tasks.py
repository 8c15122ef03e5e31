"""The jobs of this app, for the workers."""

import logging
from datetime import UTC, date, datetime
from typing import Final

from procrastinate import JobContext, RetryStrategy
from procrastinate.contrib.django import app

from apps.accounts.models import User
from apps.accounts.services import CLOSE_JOB, CLOSE_QUEUE, DEACTIVATE_JOB, DEACTIVATE_QUEUE
from apps.core import audit, database
from apps.market.services import market_time
from apps.trading.activity.drift.services import CHECK_JOB, CHECK_QUEUE
from apps.trading.runs import expiry, kill_switches, services

_NIGHTLY: Final = "57 20 * * *"
"""UTC: in India 02:27, when what came in by day is in its blocks."""

EVERY_FIVE_MINUTES: Final = "*/5 * * * *"
EVERY_MINUTE: Final = "* * * * *"

log = logging.getLogger(__name__)


@app.periodic(cron=_NIGHTLY)
@app.task(name="trading.drift", queue="backtests", queueing_lock="trading.drift", pass_context=True)
def check_drift(context: JobContext, timestamp: int) -> None:
    """`timestamp` is the scheduled time.

    The job simulates, so only workers with the compiler run it.
    """
    from apps.trading.activity.drift import checking

    now = datetime.fromtimestamp(timestamp, tz=UTC)
    checked = checking.check_ended(
        now=now, market_now=market_time(now), stopping=context.should_abort
    )
    log.info("compared %d sessions with their backtests", checked)


@app.task(name=CHECK_JOB, queue=CHECK_QUEUE)
def check_drift_of_day(algorithm_id: str, day: str) -> None:
    """Compare the sessions of a day after a request for their drift."""
    from apps.trading.activity.drift import checking

    now = database.now()
    checking.check_day(
        algorithm_id=algorithm_id,
        day=date.fromisoformat(day),
        now=now,
        market_now=market_time(now),
    )


@app.periodic(cron=EVERY_FIVE_MINUTES)
@app.task(name="trading.expiries", queue="small", queueing_lock="trading.expiries")
def settle_expired(timestamp: int) -> None:
    """`timestamp` is the scheduled time."""
    if rows := expiry.insert_final_rows(now=datetime.fromtimestamp(timestamp, tz=UTC)):
        log.info("settled contracts that had no last bar on %d streams", rows)


@app.periodic(cron=EVERY_MINUTE)
@app.task(name="trading.notices", queue="small", queueing_lock="trading.notices")
def write_notices(timestamp: int) -> None:
    """Tell users of feeds that have stopped, and of the day once it is over.

    `timestamp` is the scheduled time; a job that waited must not miss bars that came meanwhile.
    """
    from apps.trading.activity.notices import day_summaries, stale_feeds

    now = database.now()
    stale_feeds.notice_stale_feeds(now=now)
    day_summaries.write_due_summaries(now=now)


@app.task(
    name=DEACTIVATE_JOB,
    queue=DEACTIVATE_QUEUE,
    retry=RetryStrategy(max_attempts=6, exponential_wait=5),
)
def stop_trading_of(user_id: str, operator_id: str) -> None:
    """Stop the entries of a user whom an operator has deactivated; positions keep their exits.

    After reactivation the user turns the kill switch off and resumes.
    """
    user = User.objects.filter(pk=user_id, is_active=False).first()
    if user is not None:
        kill_switches.engage_kill_switch(
            owner=user,
            reason="The account was switched off.",
            close_positions=False,
            now=database.now(),
            operator=audit.Actor(audit.ActorKind.OPERATOR, operator_id),
        )


@app.task(
    name=CLOSE_JOB,
    queue=CLOSE_QUEUE,
    retry=RetryStrategy(max_attempts=6, exponential_wait=5),
)
def stop_algorithms_of(user_id: str) -> None:
    """Stop every algorithm of a user who has closed the account, and close its positions."""
    user = User.objects.filter(pk=user_id).exclude(erase_at=None).first()
    if user is not None:
        services.stop_all(owner=user, now=database.now())
