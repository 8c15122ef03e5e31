"""Timing two ways of one work in turn, so that load on the machine affects both alike."""

import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Row:
    """A line of the table: the time of one way, of another, and their ratio if there are two."""

    name: str
    first: str
    other: str = ""
    ratio: str = ""


MEASURED: list[Row] = []
"""What this run has measured, in order."""


def compare(
    name: str, fast: Callable[[], object], slow: Callable[[], object], rounds: int
) -> float:
    """Run both once untimed, then in turn; print and return the median ratio slow / fast."""
    fast(), slow()
    pairs = [(_seconds(fast), _seconds(slow)) for _ in range(rounds)]
    return report(name, [seconds for seconds, _ in pairs], [other for _, other in pairs])


def report(name: str, fast: Sequence[float], slow: Sequence[float]) -> float:
    """Print and store the times of rounds of two ways, in seconds; return the median of their
    ratios.
    """
    ratios = [other / quick for quick, other in zip(fast, slow, strict=True)]
    ratio, quick, other = (statistics.median(values) for values in (ratios, fast, slow))
    spread = f"{_figure(min(ratios))} to {_figure(max(ratios))}"
    print(
        f"\n{name}: {_figure(ratio)} times as fast ({spread} in {len(ratios)} rounds;"
        f" medians {_span(quick)} against {_span(other)})"
    )
    MEASURED.append(Row(name, _span(quick), _span(other), f"{_figure(ratio)} ({spread})"))
    return ratio


def _figure(ratio: float) -> str:
    return f"{ratio:,.1f}" if ratio < 10 else f"{ratio:,.0f}"


def _span(seconds: float) -> str:
    return f"{seconds:,.2f} s" if seconds >= 1 else f"{seconds * 1000:,.2f} ms"


def _seconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun
