"""The jobs of this app, as the workers find them."""

import logging
from collections.abc import Callable

from django.utils import timezone
from procrastinate import JobContext
from procrastinate.contrib.django import app

from apps.backtests import services
from apps.core import request_id as request_ids
from apps.core.errors import Code
from apps.engine.errors import EngineError, InsufficientData

log = logging.getLogger(__name__)


@app.task(name=services.JOB, queue=services.QUEUE, pass_context=True)
def execute(context: JobContext, backtest_id: str, request_id: str) -> None:
    perform(backtest_id, request_id, stopping=context.should_abort)


def perform(backtest_id: str, request_id: str, *, stopping: Callable[[], bool]) -> None:
    """Run one backtest to its end, or give it back when the worker stops.

    A job that comes twice finds it taken and does nothing.
    """
    # Brings the compiler along: web processes and commands import the jobs and never run them.
    from apps.backtests import execution

    request_ids.begin(request_id)
    backtest = execution.begin(backtest_id=backtest_id, now=timezone.now())
    if backtest is None:
        log.info("backtest %s is not waiting", backtest_id)
        return
    try:
        result = execution.run(backtest, stopping=stopping)
        execution.complete(backtest=backtest, result=result, now=timezone.now())
    except execution.Interrupted:
        execution.give_back(backtest=backtest)
    except execution.Superseded:
        log.warning("backtest %s: attempt %d was superseded", backtest_id, backtest.attempt)
    except EngineError as error:
        short = isinstance(error, InsufficientData)
        code = Code.INSUFFICIENT_DATA if short else Code.UNPROCESSABLE_ENTITY
        execution.fail(backtest=backtest, code=code, message=str(error), now=timezone.now())
    except Exception:
        message = f"The simulation broke; quote {request_ids.current()} when you report it."
        execution.fail(
            backtest=backtest, code=Code.INTERNAL_SERVER_ERROR, message=message, now=timezone.now()
        )
        raise
