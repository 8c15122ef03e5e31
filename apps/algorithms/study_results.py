"""The results of studies that an algorithm keeps: its walk-forwards and its last Monte Carlo."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Annotated, Any, Final, NotRequired

from django.db import transaction
from django.db.models import F
from pydantic import Field
from typing_extensions import TypedDict

from apps.algorithms.models import Algorithm, Version
from apps.engine import notes_on_engine
from apps.engine.results import ReceiptNote
from apps.engine.studies import MonteCarloResults, WalkForwardResults

MOST_WALK_FORWARDS: Final = 20
"""Older ones make way; each stays with its backtest."""


class _KeptResults(TypedDict):
    backtestId: str
    algorithmVersion: Annotated[int, Field(description="The version of the steps.")]
    engineVersion: NotRequired[
        Annotated[int, Field(description="Absent from results of release 1.0.")]
    ]
    startDate: Annotated[str, Field(description="The value as sent.")]
    endDate: Annotated[str, Field(description="The value as sent.")]
    completedAt: Annotated[str, Field(json_schema_extra={"format": "date-time"})]
    notes: NotRequired[
        Annotated[
            list[ReceiptNote],
            Field(description="Present if an earlier engine may have been wrong."),
        ]
    ]


class KeptWalkForward(_KeptResults, WalkForwardResults):
    """The findings of a walk-forward, with their origin."""


class KeptMonteCarlo(_KeptResults, MonteCarloResults):
    """The findings of a Monte Carlo simulation, with their origin."""


@transaction.atomic
def keep_walk_forward(*, algorithm_id: str, results: Mapping[str, object], now: datetime) -> None:
    """Append the results to the earlier walk-forwards."""
    algorithm = Algorithm.objects.locked().get(pk=algorithm_id)
    newest = [*algorithm.walk_forward_results, results][-MOST_WALK_FORWARDS:]
    _write(algorithm_id, now, walk_forward_results=newest)


def keep_monte_carlo(*, algorithm_id: str, results: Mapping[str, object], now: datetime) -> None:
    """Replace the results of the previous Monte Carlo."""
    _write(algorithm_id, now, monte_carlo_results=results)


def with_engine_notes(
    algorithm: Algorithm, results: Sequence[Mapping[str, Any]]
) -> list[Mapping[str, Any]]:
    """Return stored results, with `notes` if their engine had known defects.

    Results of release 1.0 do not name their engine.
    """
    numbers = [kept.get("algorithmVersion", 0) for kept in results if "engineVersion" not in kept]
    versions = Version.objects.filter(algorithm=algorithm, number__in=numbers) if numbers else ()
    notes = {
        version.number: [note.to_wire() for note in notes_on_engine(version.configuration)]
        for version in versions
    }
    return [
        {**kept, "notes": notes[number]}
        if "engineVersion" not in kept and notes.get(number := kept.get("algorithmVersion", 0))
        else kept
        for kept in results
    ]


def _write(algorithm_id: str, now: datetime, **changes: object) -> None:
    """Update the row as any write does, with a new ETag."""
    row = Algorithm.objects.filter(pk=algorithm_id)
    row.update(rev=F("rev") + 1, updated_at=now, **changes)
