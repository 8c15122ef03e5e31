"""Reading drift reports; workers make them by `checking`, each night and on request."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

from django.db.models import Sum

from apps.accounts.models import User
from apps.algorithms import services as algorithms
from apps.core import jobs
from apps.trading.activity.drift.bands import ReturnBand, band_of
from apps.trading.models import DriftReport, Run, RunState, SessionStart

CHECK_JOB: Final = "trading.drift_of_day"
# Of the workers that have the compiler.
CHECK_QUEUE: Final = "backtests"
# Sessions that are listed: a month of them.
LATEST_SESSIONS: Final = 22


@dataclass(frozen=True, slots=True)
class Drift:
    """The drift of an algorithm on one day; the day is None if it has never traded.

    Several runs may have traded on it; `waiting` is the number of runs whose comparison is due, or
    due again for later rows. `band` is that of the last run.
    """

    day: date | None
    reports: Sequence[DriftReport]
    waiting: int
    band: ReturnBand


@dataclass(frozen=True, slots=True)
class SessionDrift:
    """The number of differences of a session; None before the check."""

    day: date
    total: int | None


def read_drift(*, owner: User, algorithm_id: str, day: date | None) -> Drift:
    """Return the drift of the day, by default the last one that the algorithm traded on.

    Sessions without a current report are queued for checking. Raises AlgorithmNotFound.
    """
    algorithm = algorithms.read(owner=owner, algorithm_id=algorithm_id)
    sessions = SessionStart.objects.filter(run__algorithm=algorithm)
    if day is None:
        day = sessions.order_by("-day").values_list("day", flat=True).first()
    if day is None:
        return Drift(None, (), 0, band_of(None))
    reports = list(DriftReport.objects.filter(run__algorithm=algorithm, day=day).order_by("run"))
    checked = {report.run_id: report for report in reports}
    started = list(sessions.filter(day=day).select_related("run").order_by("first_row"))
    states = dict(
        RunState.objects.filter(run__algorithm=algorithm).values_list("run_id", "row_time")
    )
    waiting = [
        session
        for session in started
        if not _is_current(checked.get(session.run_id), session.run, states)
    ]
    if waiting:
        jobs.enqueue_once(
            CHECK_JOB,
            queue=CHECK_QUEUE,
            lock=f"{CHECK_JOB} {algorithm.pk} {day}",
            arguments={"algorithm_id": algorithm.pk, "day": day.isoformat()},
        )
    return Drift(day, reports, len(waiting), band_of(started[-1] if started else None))


def read_band(*, owner: User, algorithm_id: str) -> ReturnBand:
    """Compare the last run of the algorithm with its backtest. Raises AlgorithmNotFound."""
    algorithm = algorithms.read(owner=owner, algorithm_id=algorithm_id)
    sessions = SessionStart.objects.filter(run__algorithm=algorithm).select_related("run")
    return band_of(sessions.order_by("-run__started_at", "-day").first())


def latest_sessions(*, owner: User, algorithm_id: str) -> list[SessionDrift]:
    """Return the last sessions that the algorithm traded in, the newest first, each with the number
    of its differences, None if no run was checked. Raises AlgorithmNotFound.
    """
    algorithm = algorithms.read(owner=owner, algorithm_id=algorithm_id)
    started = SessionStart.objects.filter(run__algorithm=algorithm)
    days = list(started.order_by("-day").values_list("day", flat=True).distinct()[:LATEST_SESSIONS])
    reports = DriftReport.objects.filter(run__algorithm=algorithm, day__in=days).order_by()
    totals = dict(reports.values("day").values_list("day", Sum("total")))
    return [SessionDrift(day, totals.get(day)) for day in days]


def drifted(*, owner: User, since: date, most: int) -> list[DriftReport]:
    """Return the reports with differences of sessions since that day, the newest first, each with
    its run's algorithm.
    """
    reports = DriftReport.objects.filter(run__algorithm__owner=owner, day__gte=since, total__gt=0)
    return list(reports.select_related("run__algorithm").order_by("-day", "-pk")[:most])


def _is_current(report: DriftReport | None, run: Run, row_times: Mapping[str, int | None]) -> bool:
    """Return whether the report covers all rows of the run.

    `row_times` are the last rows of unfinished runs.
    """
    if report is None or report.through is None:
        return report is not None
    if run.pk in row_times:
        return report.through == row_times[run.pk]
    return run.released_at is None or report.checked_at >= run.released_at
