"""One end of a pipe: prepares a piece of work once, then runs and times it whenever it is asked."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Mapping

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
        seconds, trades = _timed(run)
        print(json.dumps({"seconds": seconds, "trades": trades, "first": first}), file=answers)
        answers.flush()


def _timed(run: Work) -> tuple[float, int]:
    begun = time.perf_counter()
    trades = run()
    return time.perf_counter() - begun, trades
