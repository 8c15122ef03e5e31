"""Send wrong requests one after the other, and collect surprising answers."""

import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import pytest
from rest_framework.test import APIClient

from tests.contract.mutations import Mutant

SLOWEST = 1.0
"""Seconds of this process's own time that an answer may take: a busy machine does not count."""
LARGEST = 256 * 1024

CHUNK = 500
PROOF = [
    pytest.param(first, CHUNK, marks=[pytest.mark.slow, pytest.mark.timeout(600)])
    for first in range(0, 10_000, CHUNK)
]
"""Ten thousand mutants, as numbers of the first and how many."""

Rows: TypeAlias = list[tuple[Any, ...]]


@dataclass
class Counts:
    """The results of the mutants so far."""

    answers: dict[int, int] = field(default_factory=dict)
    surprises: list[str] = field(default_factory=list)
    complete: int = 0
    simulated: int = 0
    slowest: tuple[float, str] = (0.0, "")
    largest: int = 0

    def __str__(self) -> str:
        seconds, changes = self.slowest
        return (
            f"{self.answers}, {self.complete} complete, {self.simulated} simulated, "
            f"slowest {seconds * 1000:.0f} ms ({changes[:100]}), "
            f"largest answer {self.largest} bytes"
        )


@dataclass
class Sender:
    """Sends raw bodies, and times the answers.

    `stored` returns the rows that a refusal must not change.
    """

    client: APIClient
    stored: Callable[[], Rows]
    largest: int = LARGEST
    counts: Counts = field(default_factory=Counts)
    rows: Rows = field(default_factory=list)

    def settle(self) -> None:
        """Take the present rows as those that a refusal must not change."""
        self.rows = self.stored()

    def send(
        self,
        verb: str,
        path: str,
        mutant: Mutant,
        content_type: str = "application/json",
        query: str = "",
    ) -> Any:
        begun = time.process_time()
        response = self.client.generic(
            verb,
            path,
            mutant.raw,  # type: ignore[arg-type]  # bytes are taken too
            content_type=content_type,
            QUERY_STRING=query,
        )
        seconds = time.process_time() - begun
        counts = self.counts
        counts.slowest = max(counts.slowest, (seconds, mutant.changes))
        counts.largest = max(counts.largest, len(response.content))
        counts.answers[response.status_code] = counts.answers.get(response.status_code, 0) + 1
        assert seconds < SLOWEST, f"took {seconds:.2f} s"
        assert len(response.content) < self.largest, f"answered {len(response.content)} bytes"
        return response


def run(sender: Sender, batch: Iterable[Mutant], judge: Callable[[Mutant], None]) -> None:
    """Judge each mutant; report all surprises at the end, with the changes of the body."""
    for number, mutant in enumerate(batch):
        try:
            judge(mutant)
        except AssertionError as surprise:
            sender.counts.surprises.append(f"{number}: {mutant.changes}\n    {str(surprise)[:600]}")
            sender.settle()
    print(f"\n{sender.counts}")
    surprises = "\n".join(sender.counts.surprises[:10])
    assert not sender.counts.surprises, f"{len(sender.counts.surprises)} surprises\n{surprises}"
