"""Checks of sessions, finished or under way. It imports the compiler, so only workers use it."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import date, datetime
from typing import Final

from django.db import transaction
from django.db.models import Exists, OuterRef

from apps.core.times import day_in_india
from apps.engine.language import parse
from apps.trading.activity.drift.facts import Difference, DifferenceKind, differences
from apps.trading.activity.drift.recorded import recorded, rows_used
from apps.trading.activity.drift.replayed import replayed
from apps.trading.models import BarRow, BarStream, DriftReport, RunState, SessionStart
from apps.trading.runs import bar_streams
from apps.webhooks.events import EventPayload, EventType, write_events

MOST_LISTED: Final = 1000
_RUNS_AT_ONCE: Final = 200


def check_ended(*, now: datetime, market_now: int, stopping: Callable[[], bool]) -> int:
    """Check every unchecked session that ended before the market's day, stream by stream, until
    `stopping`; return the number of runs. Errors of a stream are raised after the others are done.
    """
    done, failures = 0, []
    for (stream, _), sessions in _due(day_in_india(market_now)).items():
        for first in range(0, len(sessions), _RUNS_AT_ONCE):
            if stopping():
                return done
            try:
                done += check_sessions(stream, sessions[first : first + _RUNS_AT_ONCE], now=now)
            except Exception as error:  # an error of any kind concerns only this stream
                failures.append(error)
    if failures:
        raise ExceptionGroup("some streams could not be compared", failures)
    return done


def check_day(*, algorithm_id: str, day: date, now: datetime, market_now: int) -> int:
    """Check an algorithm's sessions of one day, up to now if it is not over; return their
    number.
    """
    sessions = SessionStart.objects.filter(run__algorithm=algorithm_id, day=day)
    over = day < day_in_india(market_now)
    by_stream = _by_stream(sessions.select_related("run").order_by("run"))
    return sum(
        check_sessions(stream, part, now=now, over=over) for (stream, _), part in by_stream.items()
    )


def check_sessions(
    stream: BarStream, sessions: Sequence[SessionStart], *, now: datetime, over: bool = True
) -> int:
    """Store reports on sessions of one stream and day; return their number."""
    rows = {
        session.run_id: rows_used(stream, session, last=_last_row(session)) for session in sessions
    }
    traded = [session for session in sessions if rows[session.run_id]]
    if not traded:
        return 0
    rows_of_run = {run: part for run, part in rows.items() if part}
    expected = replayed(stream, traded, rows_of_run)
    reports = []
    for session in traded:
        actual = recorded(session, stream, rows_of_run[session.run_id])
        difference_list = differences(expected[session.run_id], actual)
        reports.append(
            _report(session, rows_of_run[session.run_id], difference_list, now, over=over)
        )
    _store(reports, now)
    return len(reports)


@transaction.atomic
def _store(reports: Sequence[DriftReport], now: datetime) -> None:
    """Store the reports, and write an event for the first differences of each session.

    Differences that follow from interventions are no finding: their owner or a limit made them.
    """
    DriftReport.objects.bulk_create(
        reports,
        update_conflicts=True,
        unique_fields=["run", "day"],
        update_fields=["rows", "total", "differences", "checked_at", "through"],
    )
    days = {
        (report.run_id, report.day)
        for report in reports
        if any(difference["kind"] != DifferenceKind.RISK for difference in report.differences)
    }
    unknown = DriftReport.objects.filter(
        run__in={run for run, _ in days}, day__in={day for _, day in days}, noticed_at=None
    )
    locked = unknown.select_related("run__algorithm").order_by("pk").select_for_update(of=["self"])
    new = [report for report in locked if (report.run_id, report.day) in days]
    DriftReport.objects.filter(pk__in=[report.pk for report in new]).update(noticed_at=now)
    if new:
        write_events([_finding(report) for report in new], now=now)


def _finding(report: DriftReport) -> EventPayload:
    algorithm = report.run.algorithm
    data = {
        "algorithmId": algorithm.pk,
        "algorithmName": algorithm.name,
        "runId": report.run_id,
        "day": report.day.isoformat(),
        "rows": report.rows,
        "total": report.total,
    }
    return EventPayload(EventType.DRIFT_FOUND, algorithm.owner_id, algorithm.pk, data)


def _due(today: date) -> Mapping[tuple[BarStream, date], list[SessionStart]]:
    checked = DriftReport.objects.filter(run=OuterRef("run"), day=OuterRef("day"), through=None)
    due = SessionStart.objects.filter(~Exists(checked), day__lt=today).select_related("run")
    return _by_stream(due.order_by("day", "run"))


def _by_stream(
    sessions: Iterable[SessionStart],
) -> Mapping[tuple[BarStream, date], list[SessionStart]]:
    by_day: dict[tuple[BarStream, date], list[SessionStart]] = defaultdict(list)
    for session in sessions:
        stream = bar_streams.stream_of(parse(session.run.configuration))
        by_day[stream, session.day].append(session)
    return by_day


def _last_row(session: SessionStart) -> int | None:
    """Return None for a finished run: the time of its release determines its last row."""
    state = RunState.objects.filter(run=session.run_id).first()
    return state.row_time if state else None


def _report(
    session: SessionStart,
    rows: Sequence[BarRow],
    difference_list: Sequence[Difference],
    now: datetime,
    *,
    over: bool,
) -> DriftReport:
    return DriftReport(
        run_id=session.run_id,
        day=session.day,
        rows=len(rows),
        total=len(difference_list),
        differences=[difference._asdict() for difference in difference_list[:MOST_LISTED]],
        checked_at=now,
        through=None if over else rows[-1].time,
    )
