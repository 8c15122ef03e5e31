"""The kernel is compiled once, by one process, for everything that a simulation can be."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, cast

import numba
import numpy as np
import pytest

from apps.engine.candles import Candles
from apps.engine.compilation import FUNCTIONS, prepare
from apps.engine.kernel import ahead, codes, entries, fills, kernel, marks, phases, prices, rest
from apps.engine.sessions import Regime, Sessions
from apps.engine.simulation.simulate import ChargeRow, Contract, History, simulate, warm_up
from tests.engine.strategies import sma_cross, strategy

PREPARE = """
import sys
from apps.engine.compilation import prepare
prepare(lambda line: print(line, flush=True), every=float(sys.argv[1]))
"""

LATER = """
import sys
from numba import njit
from apps.engine.compilation import prepare
prepare(print)
print("numba.np.npyimpl" in sys.modules)
print(njit(lambda number: number + 1)(1), "numba.np.npyimpl" in sys.modules)
"""


@pytest.fixture
def kinds(monkeypatch: pytest.MonkeyPatch) -> set[object]:
    """Of arguments that the kernel was called with: it is compiled once for each."""
    found: set[object] = set()

    def noting(name: str) -> Any:
        compiled = getattr(kernel, name)

        def call(*arguments: object) -> object:
            found.add((name, *map(numba.typeof, arguments)))
            return compiled(*arguments)

        return call

    for name in ("run", "finish"):
        monkeypatch.setattr(kernel, name, noting(name))
    return found


CROSS = {"positionType": "both", "conditions": [sma_cross(3, 8)]}
ATR = {"type": "atr", "atrPeriod": 3, "atrMultiplier": 1}
EVERYTHING = {
    "positionSizing": {
        "method": "volatility_based", "riskPercentage": 1, "atrPeriod": 5, "quantity": None,
        "pyramiding": {"enabled": True, "maxEntries": 2},
    },
    "exitConditions": {
        "stopLoss": ATR, "takeProfit": {"type": "risk_reward", "ratio": 2},
        "trailingStop": {"enabled": True, **ATR},
    },
    "riskParameters": {"maxDailyLoss": 100, "maxPositionSize": 5000, "maxOpenPositions": 2},
    "executionSettings": {"slippage": 0.1, "productType": "intraday", "charges": "standard"},
}  # fmt: skip


def histories(count: int, *, bars: int) -> list[History]:
    """Of symbols that miss some bars, each, as of contracts with and without charges."""
    rng = np.random.default_rng(count)
    sessions = Sessions.build([Regime(0, 40_000, 9 * 3600, 15 * 3600)])
    found = []
    for number in range(count):
        there = np.flatnonzero(rng.random(bars) < 0.9)
        close = np.round(100 * np.exp(np.cumsum(rng.normal(0, 0.002, there.size))), 2)
        candles = Candles.build(
            1_704_080_700 + there * 60,
            open=close, high=close + 0.5, low=close - 0.5, close=close, volume=np.ones(there.size),
        )  # fmt: skip
        contract = Contract(lot=1.0 + number, segment=("cash", "")[number % 2])
        found.append(History(f"NSE:S{number}", candles, sessions=sessions, contract=contract))
    return found


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        EVERYTHING,
        {"positionSizing": {"method": "risk_based", "riskPercentage": 1, "quantity": None}},
        {"exitConditions": {"maxHoldingCandles": 5}},
        {"executionSettings": {"productType": "intraday", "charges": "none"}},
    ],
)
def test_no_simulation_needs_more_than_was_prepared(
    kinds: set[object], count: int, changes: dict[str, Any]
) -> None:
    warm_up()
    prepared = set(kinds)
    given = strategy(entryConditions=CROSS, **changes)
    schedule = (ChargeRow("cash", 0, brokerage=0.001),)
    result = simulate(
        given, histories(count, bars=400), start=0, end=2**33, capital=1e5, schedule=schedule
    )
    assert len(result.trades)
    assert kinds == prepared


def test_a_warm_cache_is_loaded_without_a_word() -> None:
    prepare(print)
    said: list[str] = []
    prepare(said.append)
    assert not said


@pytest.mark.slow
def test_what_was_compiled_is_loaded_without_the_compiler_which_still_comes_when_needed() -> None:
    """By one of its parts."""
    prepare(print)
    done = subprocess.run([sys.executable, "-c", LATER], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines() == ["False", "2 True"]


@contextmanager
def preparing(cache: Path, *, every: float) -> Iterator[subprocess.Popen[str]]:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    with subprocess.Popen(
        [sys.executable, "-c", PREPARE, str(every)],
        env=environment, stdout=subprocess.PIPE, text=True,
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            process.kill()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_of_processes_that_find_the_cache_cold_one_compiles(tmp_path: Path) -> None:
    with ExitStack() as stack:
        processes = [stack.enter_context(preparing(tmp_path, every=0)) for _ in range(3)]
        said = sorted((process.communicate()[0].splitlines() for process in processes), key=len)
    functions = len(FUNCTIONS)
    waited, compiled = said[:2], said[2]
    assert waited == [["waiting for another process that compiles"]] * 2
    assert compiled[0] == f"compiling 1 of {functions}: _lay_days"
    assert compiled[-2].startswith(f"compiling {functions} of {functions}: ")
    assert compiled[-1].startswith("compiled in ")


def test_the_cache_of_the_kernels_notices_a_change_in_any_file_they_are_made_of() -> None:
    """By a hash of all files, which Numba compares with that of what it has stored."""
    prepare(print)
    index = cast(Any, kernel.run)._cache._cache_file._index_path
    files = [
        module.__file__
        for module in (kernel, phases, marks, rest, ahead, entries, fills, prices, codes)
    ]
    digest = sha256(b"".join(Path(str(file)).read_bytes() for file in files)).hexdigest()
    assert digest.encode() in Path(index).read_bytes()


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_another_compiles_when_the_one_that_does_is_killed(tmp_path: Path) -> None:
    with preparing(tmp_path, every=0) as first, preparing(tmp_path, every=0) as second:
        assert first.stdout is not None
        assert second.stdout is not None
        lines = {first: first.stdout.readline(), second: second.stdout.readline()}
        (compiles,) = (process for process, line in lines.items() if line.startswith("compiling"))
        (waits,) = lines.keys() - {compiles}
        compiles.kill()
        assert "compiled in" in waits.communicate()[0]
        assert waits.returncode == 0
