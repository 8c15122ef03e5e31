"""A study as many jobs: items scored by any workers, a shard at a time, and the conclusion.

The worker that begins a study scores its first items and measures their time. The estimate for the
others decides whether it continues alone or divides them into shards. The last shard to finish adds
the conclusion, which is a shard too. The result of a study does not depend on its division, so
measured times never change it.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import pairwise
from math import ceil
from typing import Final

import numpy as np
from django.db import transaction
from django.db.models import Q, Sum

from apps.backtests.models import Backtest, ShardState, StudyShard
from apps.backtests.running import estimates, execution, queue, results, simulating
from apps.backtests.running.execution import StaleAttempt
from apps.backtests.running.simulating import SHARE_OF_READING, BacktestOutput
from apps.core import database
from apps.engine import EngineError
from apps.engine.results import Array
from apps.engine.studies import Study
from apps.market.candles import SessionCoverage

MAX_STUDY_SECONDS: Final = 3600  # of one worker
# A study with less time remaining stays with the worker that began it.
SECONDS_ALONE: Final = 2.0
SECONDS_OF_A_SHARD: Final = 1.25
# At least so many, so that workers end together; at most so many for any study.
LEAST_SHARDS, MOST_SHARDS = 8, 4_000
# The first items of a study, whose columns are computed for all, and the growth of the next batches
# until enough seconds are measured.
FIRST_ITEMS: Final = 16
_GROWTH: Final = 8
SECONDS_MEASURED: Final = 0.1

Report = Callable[[float], None]


class TooLong(EngineError):
    """The study takes more of a worker's time than MAX_STUDY_SECONDS."""

    def __init__(self, *, seconds: float, budget: int, fitting: int) -> None:
        super().__init__(
            f"It would take about {timedelta(seconds=round(seconds))} (h:mm:ss) of one worker, and"
            f" a study may take {timedelta(seconds=budget)};"
            f" about {fitting:,} sets or paths would fit."
        )


@dataclass(frozen=True, slots=True)
class LoadedStudy:
    """A study in the memory of a worker, and the coverage of its bars."""

    backtest: Backtest
    study: Study
    coverage: tuple[SessionCoverage, ...]
    bars: int

    def conclude(self, scores: Array, report: Report) -> BacktestOutput:
        """Return the output from the scores of all items."""
        share = SHARE_OF_READING + (1 - SHARE_OF_READING) * Study.SHARE_OF_SCORES
        output = self.study.conclude(
            scores,
            threads=simulating.THREADS,
            report=lambda done: report(share + (1 - share) * done),
        )
        sets = simulating.TriedSets.of_scores(scores)
        return BacktestOutput(output.result, output.findings, self.coverage, sets, output.chart)


def run_study(backtest: Backtest, report: Report) -> LoadedStudy | None:
    """Complete a short study; divide a long one, and return it with its first items scored.

    Raises EngineError, StaleAttempt and the errors of `report`.
    """
    loading = time.perf_counter()
    loaded = _load(backtest, report)
    study = loaded.study
    parts = list[Array]()
    scored, seconds_left = 0, 0.0
    while scored < study.size:
        end = min(study.size, FIRST_ITEMS if not scored else scored * _GROWTH)
        began = time.perf_counter()
        parts.append(_scored(study, slice(scored, end), simulating.THREADS_OF_A_SHARD, report))
        seconds = time.perf_counter() - began
        seconds_left = seconds / (end - scored) * (study.size - end)
        scored = end
        is_measured = len(parts) > 1 and seconds >= SECONDS_MEASURED
        if is_measured or seconds_left < SECONDS_ALONE:
            break
    estimates.record_speed(
        backtest, seconds=time.perf_counter() - loading + seconds_left, bars=loaded.bars
    )
    if seconds_left >= SECONDS_ALONE:
        _require_budget(seconds_left, study.size - scored)
        divide(backtest, np.concatenate(parts), study.size, seconds=seconds_left)
        return loaded
    if scored < study.size:
        parts.append(_scored(study, slice(scored, study.size), simulating.THREADS, report))
    output = loaded.conclude(np.concatenate(parts), report)
    execution.complete(backtest=backtest, output=output, now=database.now())
    return None


def _require_budget(seconds: float, items: int) -> None:
    """Raise TooLong if the items take more worker time than a study may."""
    if seconds > MAX_STUDY_SECONDS:
        fitting = int(items * MAX_STUDY_SECONDS / seconds)
        raise TooLong(seconds=seconds, budget=MAX_STUDY_SECONDS, fitting=fitting)


def _load(backtest: Backtest, report: Report) -> LoadedStudy:
    market = simulating.load_backtest(backtest, report)
    study = simulating.study_of(backtest, market.inputs, report=report)
    return LoadedStudy(backtest, study, market.coverage, market.bars)


def _scored(study: Study, items: slice, threads: int, report: Report) -> Array:
    share = (items.stop - items.start) / study.size
    return study.score(
        items,
        threads=threads,
        report=lambda done: report(_progress(items.start / study.size + share * done)),
    )


def _progress(scored: float) -> float:
    """Return the fraction of the whole study that is done with these scores."""
    return SHARE_OF_READING + (1 - SHARE_OF_READING) * Study.SHARE_OF_SCORES * scored


@transaction.atomic
def divide(backtest: Backtest, scores: Array, size: int, *, seconds: float) -> None:
    """Record the scores of the first items, and divide the others, with this total time, into
    shards with a dispatch slot each. Raises StaleAttempt.
    """
    if not backtest.update_running(
        heartbeat_at=database.now(), estimated_seconds=round(seconds, 1)
    ):
        raise StaleAttempt
    begin, attempt = len(scores), backtest.attempt
    wanted = min(max(ceil(seconds / SECONDS_OF_A_SHARD), LEAST_SHARDS), MOST_SHARDS)
    edges = np.unique(np.linspace(begin, size, wanted + 1).astype(int)).tolist()
    done = StudyShard(
        backtest=backtest,
        attempt=attempt,
        number=0,
        first=0,
        count=begin,
        state=ShardState.DONE,
        result=results.pack_array(scores),
    )
    waiting = [
        StudyShard(
            backtest=backtest,
            attempt=attempt,
            number=number,
            first=first,
            count=end - first,
            state=ShardState.WAITING,
        )
        for number, (first, end) in enumerate(pairwise(edges), 1)
    ]
    backtest.shards.all().delete()
    StudyShard.objects.bulk_create([done, *waiting], batch_size=1_000)
    queue.enqueue(len(waiting))


def run_shard(shard: StudyShard, loaded: LoadedStudy | None, report: Report) -> LoadedStudy | None:
    """Score the items of a shard, or conclude; return the study unless it has ended.

    Raises EngineError, StaleAttempt and the errors of `report`.
    """
    if loaded is None:
        loaded = _load(shard.backtest, report)
    if shard.count:
        items = slice(shard.first, shard.first + shard.count)
        scores = _scored(loaded.study, items, simulating.THREADS_OF_A_SHARD, report)
        record_scores(shard, scores, now=database.now())
        return loaded
    done = StudyShard.objects.of(shard.backtest).filter(result__isnull=False).order_by("number")
    parts = [results.unpack_array(part.result) for part in done if part.result is not None]
    record_conclusion(shard, loaded.conclude(np.concatenate(parts), report), now=database.now())
    return None


@transaction.atomic
def record_scores(shard: StudyShard, scores: Array, *, now: datetime) -> None:
    """Record the scores of a shard; after the last one, add the conclusion.

    Raises StaleAttempt. The row of the study is locked first, so of two concurrent shards one sees
    that it is the last.
    """
    study, siblings = shard.backtest, StudyShard.objects.of(shard.backtest)
    if not study.update_running(heartbeat_at=now):
        raise StaleAttempt
    if not shard.update_running(state=ShardState.DONE, result=results.pack_array(scores)):
        raise StaleAttempt
    counts = siblings.aggregate(
        items=Sum("count"), done=Sum("count", filter=Q(state=ShardState.DONE))
    )
    study.update_running(progress=int(100 * _progress(counts["done"] / counts["items"])))
    if counts["done"] == counts["items"]:
        StudyShard.objects.create(
            backtest=study,
            attempt=study.attempt,
            number=siblings.count(),
            first=counts["items"],
            count=0,
            state=ShardState.WAITING,
        )
        queue.enqueue()


@transaction.atomic
def record_conclusion(shard: StudyShard, output: BacktestOutput, *, now: datetime) -> None:
    """Record the output of the study and delete its shards. Raises StaleAttempt."""
    if not shard.update_running(state=ShardState.DONE):
        raise StaleAttempt
    execution.complete(backtest=shard.backtest, output=output, now=now)
