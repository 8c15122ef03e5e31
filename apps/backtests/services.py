"""What can be done with a backtest from outside: ask for one, read it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final

from django.db import transaction
from procrastinate.contrib.django import app as jobs

from apps.accounts.models import User
from apps.algorithms.models import Algorithm
from apps.algorithms.services import configuration
from apps.algorithms.steps import told
from apps.backtests import arrays
from apps.backtests.lifecycle import Status
from apps.backtests.models import Backtest, BacktestResult
from apps.backtests.span import Span
from apps.core import request_id
from apps.core.errors import Code, Fault, InvalidInput, ServiceError
from apps.engine import strategy as engine
from apps.engine.errors import LEAST_BARS
from apps.engine.errors import Fault as EngineFault
from apps.engine.results import curve_points, trade_dicts
from apps.market import store

JOB: Final = "backtests.execute"
QUEUE: Final = "backtests"

# What a backtest may override of its algorithm, and where in the steps each stands.
OVERRIDES: Final[Mapping[str, tuple[str, str]]] = {
    "symbols": ("basicInfo", "symbols"),
    "timeframe": ("basicInfo", "timeframe"),
    "initialCapital": ("executionSettings", "initialCapital"),
    "slippage": ("executionSettings", "slippage"),
    "charges": ("executionSettings", "charges"),
}


class AlgorithmIncomplete(ServiceError):
    """The algorithm's steps cannot be run yet."""

    code = Code.ALGORITHM_INCOMPLETE
    message = "The algorithm is not complete; these steps are missing: {missingFields}."


class InsufficientData(ServiceError):
    """Too little history is held of a symbol for the asked range."""

    code = Code.INSUFFICIENT_DATA
    message = "{symbol} has {barsInRange} usable bars of {timeframe} in this range; 2 are needed."


@dataclass(frozen=True, slots=True)
class Submission:
    """What a client asked for; `overrides` by their wire names."""

    algorithm_id: str
    span: Span
    kind: str
    name: str
    overrides: Mapping[str, object]


@transaction.atomic
def submit(*, owner: User, submission: Submission, seed: int, now: datetime) -> Backtest:
    """Freeze the algorithm as it is now and enqueue its simulation, both or neither."""
    algorithm = Algorithm.objects.owned_by(owner).fetch(submission.algorithm_id)
    steps = _overridden(configuration(algorithm), submission.overrides)
    strategy = _parsed(steps, submission.overrides)
    _require_data(strategy, submission.span)
    backtest = Backtest.objects.create(
        owner=owner,
        algorithm=algorithm,
        algorithm_version=algorithm.version,
        name=submission.name,
        kind=submission.kind,
        configuration=steps,
        symbols=list(strategy.basicInfo.symbols),
        timeframe=strategy.basicInfo.timeframe,
        start_date=submission.span.start_text,
        end_date=submission.span.end_text,
        start=submission.span.start,
        end=submission.span.end,
        initial_capital=strategy.executionSettings.initialCapital,
        seed=seed,
        status=Status.QUEUED,
        created_at=now,
    )
    enqueue(backtest)
    return backtest


def enqueue(backtest: Backtest) -> None:
    """The job is written on this transaction's own connection: it commits with the backtest."""
    jobs.configure_task(JOB, queue=QUEUE).defer(
        backtest_id=backtest.pk, request_id=request_id.current()
    )


def _overridden(
    steps: Mapping[str, Mapping[str, Any]], overrides: Mapping[str, object]
) -> dict[str, dict[str, Any]]:
    """Any: steps are JSON as the client wrote it."""
    changed = {name: dict(step) for name, step in steps.items()}
    for name, value in overrides.items():
        step, field = OVERRIDES[name]
        changed[step][field] = value
    return changed


def _parsed(steps: Mapping[str, Mapping[str, Any]], overrides: Iterable[str]) -> engine.Strategy:
    """The strategy; a fault in an override is the client's, anything else is the algorithm's."""
    reading = engine.read(steps)
    found = (*reading.faults, *reading.incomplete)
    if faults := [fault for fault in (_of_override(one, overrides) for one in found) if fault]:
        raise InvalidInput(*faults)
    if reading.strategy is None:
        raise AlgorithmIncomplete(missingFields=list(reading.missing))
    return reading.strategy


def _of_override(found: EngineFault, overrides: Iterable[str]) -> Fault | None:
    fault = told(found)
    for name in overrides:
        path = ".".join(OVERRIDES[name])
        if fault.field == path or fault.field.startswith(path + "["):
            return Fault(name + fault.field[len(path) :], fault.message, fault.value, fault.allowed)
    return None


def _require_data(strategy: engine.Strategy, span: Span) -> None:
    """Refuse at once what cannot give a result: each symbol needs two bars with warm indicators."""
    timeframe, warmup = strategy.basicInfo.timeframe, engine.warmup_bars(strategy)
    for symbol in strategy.basicInfo.symbols:
        before, within = store.count(symbol, timeframe, start=span.start, end=span.end)
        usable = min(within, before + within - warmup)
        if usable < LEAST_BARS:
            raise InsufficientData(
                symbol=symbol,
                timeframe=timeframe,
                barsInRange=max(usable, 0),
                warmUpBars=warmup,
                held=store.coverage(symbol),
            )


def read(*, owner: User, backtest_id: str) -> Backtest:
    """Raises BacktestNotFound."""
    return Backtest.objects.owned_by(owner).fetch(backtest_id)


def trades(*, owner: User, backtest_id: str, rows: slice) -> tuple[list[dict[str, object]], int]:
    """Some of the trades in the order of their exits, and how many there are in all.

    None before the backtest is completed. Raises BacktestNotFound.
    """
    backtest = read(owner=owner, backtest_id=backtest_id)
    result = BacktestResult.objects.filter(backtest=backtest).only("trades").first()
    if result is None:
        return [], 0
    records = arrays.unpack(result.trades)
    return trade_dicts(records[rows], backtest.symbols), len(records)


def equity(*, owner: User, backtest_id: str, points: int) -> list[dict[str, object]]:
    """The curve in at most `points` buckets that keep their low, high and drawdown (rule 15)."""
    backtest = read(owner=owner, backtest_id=backtest_id)
    result = BacktestResult.objects.filter(backtest=backtest).only("curve").first()
    return curve_points(arrays.unpack(result.curve), points) if result else []
