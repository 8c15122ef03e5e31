"""A separate process: imports, kernels from their cache, then ten backtests of a file's candles.

Prints as JSON the times of readiness and of each finished backtest, in seconds since the epoch.
"""

from __future__ import annotations

import gc
import json
import sys
import time

import manage

BACKTESTS = 10


def main(path: str) -> None:
    gc.set_threshold(manage.OBJECTS_BETWEEN_COLLECTIONS)  # before all imports, as there
    from apps.engine import compilation
    from tests.benchmarks.peers.with_ours import whole_backtest

    compilation.Compilation.run(lambda line: print(line, file=sys.stderr))
    run = whole_backtest(path)
    ends = [time.time()]
    for _ in range(BACKTESTS):
        run()
        ends.append(time.time())
    print(json.dumps(ends))


if __name__ == "__main__":
    main(sys.argv[1])
