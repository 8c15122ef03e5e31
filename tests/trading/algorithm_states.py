"""Algorithms in every status, made by the services, and the positions and orders of their runs."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import numpy as np

from apps.accounts.models import User
from apps.algorithms import services as algorithms
from apps.algorithms.models import Algorithm
from apps.core.times import INDIA, day_in_india
from apps.engine.candles.candles import Candles
from apps.trading import services
from apps.trading.models import (
    BarRow,
    DailyLoss,
    Order,
    Position,
    Run,
    RunState,
    SessionStart,
)
from apps.trading.runs.bar_streams import get_bar_stream
from tests import make

NOW = make.NOW
LATER = datetime(2026, 11, 2, 5, 0, tzinfo=UTC)


def stopped_algorithm(owner: User, **settings: object) -> Algorithm:
    """Return a stopped algorithm, with these execution settings beside the required ones."""
    execution = {**make.steps()["executionSettings"], **settings}
    return make.algorithm(owner, **make.steps(executionSettings=execution))


def algorithm_in(owner: User, status: str, **settings: object) -> Algorithm:
    """Return an algorithm with this status, reached as users reach it."""
    if status == "draft":
        return make.algorithm(owner)
    algorithm = stopped_algorithm(owner, **settings)
    if status in ("active", "paused", "error"):
        start(algorithm)
    if status == "paused":
        services.pause(owner=owner, algorithm_id=algorithm.pk, now=NOW)
    if status == "error":
        services.fail(algorithm=algorithm, reason="no bars for an hour", now=NOW)
    if status == "archived":
        algorithms.archive(owner=owner, algorithm_id=algorithm.pk, now=NOW)
    return Algorithm.objects.get(pk=algorithm.pk)


def start(algorithm: Algorithm) -> Run:
    services.start(owner=algorithm.owner, algorithm_id=algorithm.pk, now=NOW)
    return algorithm.runs.live().get()


def stop(algorithm: Algorithm, *, close_positions: bool = True) -> Run:
    services.stop(
        owner=algorithm.owner, algorithm_id=algorithm.pk, close_positions=close_positions, now=LATER
    )
    return algorithm.runs.order_by("-started_at")[0]


def hold(run: Run, symbol: str = "NSE:NIFTY", **fields: Any) -> Position:
    facts: dict[str, Any] = {"quantity": 10, "entry_price": Decimal("100"), "opened_at": NOW}
    return run.positions.create(symbol=symbol, **facts | fields)


def step_over(run: Run, moment: str) -> None:
    """Record that the run has processed one row of bars, which starts at that moment."""
    basics, time = run.configuration["basicInfo"], int(datetime.fromisoformat(moment).timestamp())
    stream = get_bar_stream(basics["symbols"], basics["timeframe"])
    bars = np.full((len(stream.symbols), len(Candles.NUMBERS)), 100.0).tobytes()
    BarRow.objects.get_or_create(stream=stream, time=time, defaults={"bars": bars, "used_at": NOW})
    RunState.objects.filter(run=run).update(row_time=time)
    SessionStart.objects.create(
        run=run, day=day_in_india(time), first_row=time, data=b"", equity=float(run.capital)
    )


def add_order(run: Run, **fields: Any) -> Order:
    """Add a waiting entry."""
    facts: dict[str, Any] = {
        "symbol": "NSE:NIFTY",
        "side": "buy",
        "intent": "entry",
        "type": "market",
        "bar_time": NOW,
        "placed_at": NOW,
        "algorithm": run.algorithm,
    }
    return run.orders.create(**facts | fields)


def lose(algorithm: Algorithm, loss: int, *, now: datetime, breached: bool = False) -> DailyLoss:
    """Record a loss on the date of `now` in India; the limit of the day is 10,000."""
    return algorithm.daily_losses.create(
        day=now.astimezone(INDIA).date(),
        loss=loss,
        limit=10_000,
        breached_at=now if breached else None,
    )
