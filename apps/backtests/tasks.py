"""The jobs of this app, as the workers find them."""

import logging
from collections.abc import Callable

from django.utils import timezone
from procrastinate import JobContext
from procrastinate.contrib.django import app

from apps.backtests import turns
from apps.backtests.models import Backtest
from apps.core import request_id as request_ids
from apps.core.database_errors import is_passing
from apps.core.errors import Code
from apps.engine.errors import EngineError, InsufficientData
from apps.engine.studies.windows import TooFewSessions

log = logging.getLogger(__name__)


@app.task(name=turns.JOB, queue=turns.QUEUE, pass_context=True)
def take_turn(context: JobContext) -> None:
    take_one(stopping=context.should_abort)


def take_one(*, stopping: Callable[[], bool]) -> None:
    """Run the backtest that is next."""
    # Brings the compiler along: web processes and commands import the jobs and never run them.
    from apps.backtests import execution

    backtest = turns.take(now=timezone.now())
    if backtest is None:
        return
    request_ids.begin(backtest.request_id)
    try:
        perform(backtest, stopping=stopping)
    except execution.Superseded:
        log.info("backtest %s: attempt %d was superseded", backtest.pk, backtest.attempt)


def perform(backtest: Backtest, *, stopping: Callable[[], bool]) -> None:
    """Simulate and record, or record why not, or give it back when the worker stops. Raises
    Superseded.

    A database that is lost on the way, or busy, is raised too: the backtest then falls silent, and
    the sweep gives it to another worker.
    """
    from apps.backtests import execution

    def fail(code: Code, message: str) -> None:
        execution.fail(backtest=backtest, code=code, message=message, now=timezone.now())

    try:
        with execution.beating(backtest) as superseded:
            outcome = execution.run(backtest, stopping=stopping, superseded=superseded)
            execution.complete(backtest=backtest, outcome=outcome, now=timezone.now())
    except execution.Interrupted:
        execution.give_back(backtest=backtest)
    except execution.Superseded:
        raise
    except EngineError as error:
        short = isinstance(error, InsufficientData | TooFewSessions)
        fail(Code.INSUFFICIENT_DATA if short else Code.UNPROCESSABLE_ENTITY, str(error))
    except Exception as error:
        if not is_passing(error):
            quoted = request_ids.current()
            message = f"The simulation broke; quote {quoted} when you report it."
            fail(Code.INTERNAL_SERVER_ERROR, message)
        raise
