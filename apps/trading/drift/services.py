"""Reading what was found; `checking` finds it, in workers."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import date

from apps.accounts.models import User
from apps.algorithms import services as algorithms
from apps.trading.models import DriftReport, SessionStart


@dataclass(frozen=True, slots=True)
class Drift:
    """Of an algorithm on one day, which is None where it has traded on none. More than one run may
    have been there; those that are still `waiting` are checked in the night after.
    """

    day: date | None
    reports: Sequence[DriftReport]
    waiting: int


def read(*, owner: User, algorithm_id: str, day: date | None) -> Drift:
    """Of the day, or of the last one that the algorithm traded on. Raises AlgorithmNotFound."""
    algorithm = algorithms.read(owner=owner, algorithm_id=algorithm_id)
    sessions = SessionStart.objects.filter(run__algorithm=algorithm)
    if day is None:
        day = sessions.order_by("-day").values_list("day", flat=True).first()
    if day is None:
        return Drift(None, (), 0)
    reports = list(DriftReport.objects.filter(run__algorithm=algorithm, day=day).order_by("run"))
    return Drift(day, reports, sessions.filter(day=day).count() - len(reports))
