"""One end of a pipe: prepares a piece of work once, then runs and times it whenever it is asked."""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable, Mapping

SECONDS_A_TURN, LEAST_RUNS = 0.3, 3
"""A turn is runs in a row, of which the median counts: the first ones find others' data cached."""

Work = Callable[[], int]
"""From candles to the number of trades."""


def serve(works: Mapping[str, Callable[[str], Work]]) -> None:
    """Answer each line `work<TAB>file of candles` with {"seconds", "trades", "first"} as JSON.

    `first` is the untimed run that comes before a work is measured: it compiles what is compiled.
    """
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what libraries print is no answer
    prepared: dict[str, tuple[Work, float]] = {}
    for line in sys.stdin:
        if line not in prepared:
            name, path = line.rstrip("\n").split("\t")
            run = works[name](path)
            prepared[line] = run, _timed(run)[0]
        run, first = prepared[line]
        seconds, trades = _turn(run)
        print(json.dumps({"seconds": seconds, "trades": trades, "first": first}), file=answers)
        answers.flush()


def _turn(run: Work) -> tuple[float, int]:
    """(median seconds, trades) of a turn."""
    taken: list[float] = []
    while len(taken) < LEAST_RUNS or sum(taken) < SECONDS_A_TURN:
        seconds, trades = _timed(run)
        taken.append(seconds)
    return statistics.median(taken), trades


def _timed(run: Work) -> tuple[float, int]:
    """Processor time of all threads: what else the machine does is not measured."""
    begun = time.process_time()
    trades = run()
    return time.process_time() - begun, trades
