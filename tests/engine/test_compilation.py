"""Everything that a simulation can need is compiled before it, once, by one process."""

import ast
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import numba
import numpy as np
import pytest
from numba.core.dispatcher import Dispatcher

from apps.engine import compilation
from apps.engine.candles import Candles
from apps.engine.candles.sessions import Regime, Sessions
from apps.engine.kernel import kernel, kernel_cache
from apps.engine.simulation.simulate import ChargeRow, Contract, History, simulate, warm_up
from tests.engine.strategies import sma_cross, strategy
from tests.processes import PROJECT, until

PREPARE = """
from apps.engine import compilation
compilation.Compilation.run(lambda line: print(line, flush=True))
"""


@pytest.fixture
def kinds(monkeypatch: pytest.MonkeyPatch) -> set[object]:
    """Collect the kinds of arguments that the kernel was called with: it is compiled once
    for each.
    """
    calls: set[object] = set()

    def noting(name: str) -> Any:
        compiled = getattr(kernel, name)

        def call(*arguments: object) -> object:
            calls.add((name, *map(numba.typeof, arguments)))
            return compiled(*arguments)

        return call

    for name in ("run", "run_all", "settle"):
        monkeypatch.setattr(kernel, name, noting(name))
    return calls


CROSS = {"positionType": "both", "conditions": [sma_cross(3, 8)]}
ATR = {"type": "atr", "atrPeriod": 3, "atrMultiplier": 1}
EVERY_RULE = {
    "positionSizing": {
        "method": "volatility_based",
        "riskPercentage": 1,
        "atrPeriod": 5,
        "quantity": None,
        "pyramiding": {"enabled": True, "maxEntries": 2},
    },
    "exitConditions": {
        "stopLoss": ATR,
        "takeProfit": {"type": "risk_reward", "ratio": 2},
        "trailingStop": {"enabled": True, **ATR},
    },
    "riskParameters": {"maxDailyLoss": 100, "maxPositionSize": 5000, "maxOpenPositions": 2},
    "executionSettings": {"slippage": 0.1, "productType": "intraday", "charges": "standard"},
}


def histories(count: int, *, bars: int) -> list[History]:
    """Make histories of symbols that each miss some bars, with and without charges."""
    rng = np.random.default_rng(count)
    sessions = Sessions.build([Regime(0, 40_000, 9 * 3600, 15 * 3600)])
    histories_of_symbols = []
    for number in range(count):
        minutes = np.flatnonzero(rng.random(bars) < 0.9)
        close = np.round(100 * np.exp(np.cumsum(rng.normal(0, 0.002, minutes.size))), 2)
        candles = Candles.build(
            1_704_080_700 + minutes * 60,
            open=close,
            high=close + 0.5,
            low=close - 0.5,
            close=close,
            volume=np.full(minutes.size, 1e6),
        )
        contract = Contract(lot=1.0 + number, segment=("cash", "")[number % 2])
        histories_of_symbols.append(
            History(f"NSE:S{number}", candles, sessions=sessions, contract=contract)
        )
    return histories_of_symbols


@pytest.mark.parametrize("count", [1, 3])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        EVERY_RULE,
        {"positionSizing": {"method": "risk_based", "riskPercentage": 1, "quantity": None}},
        {"exitConditions": {"maxHoldingCandles": 5}},
        {"executionSettings": {"productType": "intraday", "charges": "none"}},
        {"executionSettings": {"maxVolumeShare": 50}},
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
    compilation.Compilation.run(print)
    lines: list[str] = []
    compilation.Compilation.run(lines.append)
    assert lines == []


# The seconds of a day and of India's offset from UTC do not change.
TIMELESS = frozenset({"DAY", "IST"})


def kernels() -> Iterator[tuple[Path, Dispatcher]]:
    """Each compiled function of the engine with the file that defines it."""
    for module in list(sys.modules.values()):
        if module.__name__.startswith("apps.engine."):
            for value in vars(module).values():
                if isinstance(value, Dispatcher) and value.py_func.__module__ == module.__name__:
                    yield Path(str(module.__file__)), value


@cache
def folders_of_imports(path: Path) -> dict[str, Path]:
    """Map the names that a file imports from the engine to their folders."""
    nodes = [
        node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)
    ]
    folders = {}
    for node in nodes:
        if node.module and node.module.startswith("apps.engine"):
            folder = PROJECT / node.module.replace(".", "/")
            for name in node.names:
                folders[name.asname or name.name] = folder if folder.is_dir() else folder.parent
    return folders


def test_compiled_functions_use_names_of_their_own_folder() -> None:
    """A change in another folder would not compile them again."""
    compilation.load_kernels()
    foreign = [
        f"{path.name}: {function.py_func.__name__} uses {name} of {folders[name].name}"
        for path, function in kernels()
        for folders in [folders_of_imports(path)]
        for name in function.py_func.__code__.co_names
        if folders.get(name, path.parent) != path.parent and name not in TIMELESS
    ]
    assert foreign == []


def test_a_change_in_any_file_of_a_folder_compiles_its_functions_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "codes.py").write_text("LIMIT = 1")
    (tmp_path / "rules.py").write_text("")
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))

    def stamp() -> object:
        kernel_cache.folder_digest.cache_clear()
        locator = kernel_cache.FolderCacheLocator(stamp, str(tmp_path / "rules.py"))
        return locator.get_cache_path()

    first = stamp()
    assert stamp() == first
    (tmp_path / "codes.py").write_text("LIMIT = 2")
    assert stamp() != first


def test_files_of_other_versions_are_removed(tmp_path: Path) -> None:
    engine, cache = tmp_path / "engine", tmp_path / "cache"
    (engine / "kernel").mkdir(parents=True)
    current = kernel_cache.version_of(engine / "kernel")
    for name in (current, "kernel-0123456789abcdef", "somebody_elses"):
        (cache / name).mkdir(parents=True)
    kernel_cache.remove_old(cache, engine)
    assert {path.name for path in cache.iterdir()} == {current, "somebody_elses"}


@contextmanager
def preparing(cache: Path) -> Iterator[subprocess.Popen[str]]:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(cache)}
    with subprocess.Popen(
        [sys.executable, "-c", PREPARE],
        env=environment,
        cwd=PROJECT,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as process:
        try:
            yield process
        finally:
            process.kill()


def compiled(cache: Path) -> dict[Path, float]:
    """Return the compiled functions in a cache, and when each was written."""
    return {path: path.stat().st_mtime for path in cache.rglob("*.nbc")}


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_of_two_processes_with_a_cold_cache_one_compiles_and_both_load(
    tmp_path: Path,
) -> None:
    with preparing(tmp_path) as first, preparing(tmp_path) as second:
        until(lambda: len(list(tmp_path.glob("*.compiled"))) == 2, seconds=500)
        written = compiled(tmp_path)
        functions: set[str] = set()
        for process in (first, second):
            *progress, last = process.communicate()[0].splitlines()
            assert process.returncode == 0
            assert last.startswith("compiled in ")
            for line in progress:
                names = re.fullmatch(r"compiling ([\w, ]+): \d+ s", line)
                assert names, line
                functions |= set(names[1].split(", "))
    assert functions & {function.py_func.__name__ for _, function in kernels()}
    assert compiled(tmp_path) == written


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_another_process_compiles_if_the_compiling_one_is_killed(tmp_path: Path) -> None:
    with preparing(tmp_path) as first:
        until(lambda: compiled(tmp_path), seconds=300)
        first.kill()
    with preparing(tmp_path) as second:
        second.communicate()
        assert second.returncode == 0
    assert {path.stem for path in tmp_path.glob("*.compiled")} == set(compilation.GROUPS)
