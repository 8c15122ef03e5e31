"""Timing two ways of one work in turn, so that a machine's moods hit both alike."""

import statistics
import time
from collections.abc import Callable


def compare(
    name: str, fast: Callable[[], object], slow: Callable[[], object], rounds: int
) -> float:
    """Run both once untimed, then in turn; print and return the median ratio slow / fast."""
    fast(), slow()
    ratios, best = [], [float("inf"), float("inf")]
    for _ in range(rounds):
        one, other = _seconds(fast), _seconds(slow)
        ratios.append(other / one)
        best = [min(best[0], one), min(best[1], other)]
    ratio = statistics.median(ratios)
    print(
        f"\n{name}: {ratio:,.1f} times as fast"
        f" ({min(ratios):,.1f} to {max(ratios):,.1f} in {rounds} rounds;"
        f" best {best[0] * 1000:,.2f} ms against {best[1] * 1000:,.2f} ms)"
    )
    return ratio


def _seconds(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun
