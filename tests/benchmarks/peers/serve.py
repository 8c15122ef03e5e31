"""The far end of a pipe: prepares a piece of work once, then runs and times it on request."""

from __future__ import annotations

import gc
import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path

SECONDS_A_TURN, LEAST_RUNS = 0.3, 3
"""A turn is runs in a row, of which the median counts: the first ones find others' data cached."""

Work = Callable[[], int]
"""From candles to the number of trades."""


def serve(works: Mapping[str, Callable[[str], Work]]) -> None:
    """Answer each line `work<TAB>file of candles` with a turn of it as JSON, see `_turn`.

    `first` is the untimed run before measuring a work: it compiles. `megabytes` is the peak memory
    of this process.
    """
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # output of libraries is not an answer
    prepared: dict[str, tuple[Work, float]] = {}
    for line in sys.stdin:
        if line not in prepared:
            name, path = line.rstrip("\n").split("\t")
            run = works[name](path)
            prepared[line] = run, _timed(run)[0]
            gc.collect()
            gc.freeze()  # permanent objects are not scanned between runs
        run, first = prepared[line]
        turn = {**_turn(run), "first": first, "megabytes": _megabytes()}
        print(json.dumps(turn), file=answers)
        answers.flush()


def _megabytes() -> float:
    """Return the peak memory; `ru_maxrss` would include the parent process."""
    lines = Path("/proc/self/status").read_text().splitlines()
    (peak,) = (line.split()[1] for line in lines if line.startswith("VmHWM:"))
    return float(peak) / 1024


def _turn(run: Work) -> dict[str, float]:
    """Return medians of a turn: `seconds` of processor time, `elapsed` ones, and the number of
    trades.
    """
    taken: list[tuple[float, float]] = []
    begun = time.perf_counter()
    while len(taken) < LEAST_RUNS or time.perf_counter() - begun < SECONDS_A_TURN:
        seconds, elapsed, trades = _timed(run)
        taken.append((seconds, elapsed))
    used, passed = (statistics.median(seconds) for seconds in zip(*taken, strict=True))
    return {"seconds": used, "elapsed": passed, "trades": trades}


def _timed(run: Work) -> tuple[float, float, int]:
    """Return processor time of all threads, which other load does not affect, and elapsed time.

    Cycles from the previous run are freed first.
    """
    gc.collect()
    used, begun = time.process_time(), time.perf_counter()
    trades = run()
    return time.process_time() - used, time.perf_counter() - begun, trades
