"""The histories of a study in a file that all workers of a machine map into memory.

The first worker of the machine reads the candles from the database and writes the file; the others
wait for it. A file is of one attempt at one study, so no other candles are ever served by it, and
all shards of a machine see the same. Whatever is wrong with a file, the histories are read again;
where none can be written, each worker reads by itself.
"""

import fcntl
import json
import logging
import mmap
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import numpy as np
from django.conf import settings

from apps.backtests.histories import symbol_history
from apps.backtests.models import Backtest
from apps.core import disk
from apps.engine.candles import COLUMNS, Candles, CandleTable, Numbers, Placement, frozen
from apps.engine.simulation.timeline import History, Note
from apps.market.contracts import MarketRules

# Of all files together; the oldest make room.
MOST_BYTES_OF_FILES: Final = 512 * 2**20
_DIGEST_BYTES: Final = 32
_ALIGNMENT: Final = 64

log = logging.getLogger(__name__)


def load_shared(
    backtest: Backtest, rules: MarketRules, read: Callable[[], list[History]]
) -> list[History]:
    """Return what `read` returns, or has returned to another worker of this machine for the same
    attempt. Raises what `read` raises.
    """
    path = _path_of(backtest)
    with _locked(path.parent):
        histories = _open(path, backtest, rules)
        if histories is None:
            histories = read()
            _write(path, histories)
            histories = _open(path, backtest, rules) or histories
    return histories


def remove(backtest: Backtest) -> None:
    """Remove the file of a study that has ended; workers that have mapped it keep their bars."""
    try:
        _path_of(backtest).unlink(missing_ok=True)
    except OSError as error:
        log.warning("the bars of a study stay in %s: %s", settings.STUDIES_DIR, error)


def _path_of(backtest: Backtest) -> Path:
    folder: Path = settings.STUDIES_DIR
    return folder / f"{backtest.pk}-{backtest.attempt}"


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    """Hold the lock of the folder, where there can be one."""
    with ExitStack() as stack:
        try:
            folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            lock = stack.enter_context((folder / "lock").open("wb"))
            fcntl.flock(lock, fcntl.LOCK_EX)
        except OSError as error:
            log.warning("workers do not share the bars of studies: %s", error)
        yield


def _write(path: Path, histories: Sequence[History]) -> None:
    """Write the bars and what describes them, then the hash of both; other workers see the file
    when it is whole.
    """
    pieces = [history.candles for history in histories]
    pieces += [candles for history in histories for candles in history.higher_timeframes.values()]
    described = json.dumps([_describe(history) for history in histories]).encode()
    header = described.ljust(-(-(len(described) + 1) // _ALIGNMENT) * _ALIGNMENT - 1) + b"\n"
    size = len(header) + 8 * len(COLUMNS) * sum(map(len, pieces)) + _DIGEST_BYTES
    if disk.is_nearly_full() or size > MOST_BYTES_OF_FILES:
        return
    draft = path.with_suffix(".draft")
    try:
        _make_room(path.parent, size)
        digest = sha256(header)
        with draft.open("wb") as file:
            file.write(header)
            for name in COLUMNS:
                for candles in pieces:
                    column = getattr(candles, name).data
                    digest.update(column)
                    file.write(column)
            file.write(digest.digest())
        draft.rename(path)
    except OSError as error:
        log.warning("workers do not share the bars of studies: %s", error)
        with suppress(OSError):
            draft.unlink(missing_ok=True)


def _describe(history: History) -> dict[str, object]:
    return {
        "bars": len(history.candles),
        "notes": [[note.code, note.message] for note in history.notes],
        "longer": {name: len(bars) for name, bars in history.higher_timeframes.items()},
    }


def _make_room(folder: Path, size: int) -> None:
    """Remove drafts that were left, and the oldest files until one of so many bytes fits."""
    for draft in folder.glob("*.draft"):
        draft.unlink()
    files = sorted((path.stat().st_mtime_ns, path) for path in folder.glob("*-*"))
    held = sum(path.stat().st_size for _, path in files)
    for _, path in files:
        if held + size <= MOST_BYTES_OF_FILES:
            break
        held -= path.stat().st_size
        path.unlink()


def _open(path: Path, backtest: Backtest, rules: MarketRules) -> list[History] | None:
    """Return the histories of a file, None if it is not there or damaged.

    Its pages are shared by all processes, as nobody writes to them.
    """
    try:
        with path.open("rb") as file:
            content = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
    except (OSError, ValueError):  # there is none, or it is empty
        return None
    view = memoryview(content)
    if sha256(view[:-_DIGEST_BYTES]).digest() != view[-_DIGEST_BYTES:]:
        log.warning("the file %s is damaged, and is written anew", path)
        return None
    header = content.readline()
    described = json.loads(header)
    columns = np.frombuffer(view[len(header) : -_DIGEST_BYTES]).reshape(len(COLUMNS), -1)
    return list(_histories_of(described, columns, backtest, rules))


def _histories_of(
    described: Sequence[dict[str, Any]], columns: Numbers, backtest: Backtest, rules: MarketRules
) -> Iterator[History]:
    """Yield the histories; the bars of several symbols lie in one table."""
    symbols = rules.strategy.basicInfo.symbols
    table = CandleTable(columns[1:], columns.shape[1]) if len(symbols) > 1 else None
    own, longer = 0, sum(history["bars"] for history in described)
    for symbol, history in zip(symbols, described, strict=True):
        candles = _candles(columns, own, history["bars"])
        if table is not None:
            candles = replace(candles, placement=Placement(table, own))
        own += history["bars"]
        higher_timeframes = {}
        for name, bars in history["longer"].items():
            higher_timeframes[name] = _candles(columns, longer, bars)
            longer += bars
        yield replace(
            symbol_history(rules, symbol, candles, start=backtest.start),
            notes=tuple(Note(code, message) for code, message in history["notes"]),
            higher_timeframes=higher_timeframes,
        )


def _candles(columns: Numbers, first: int, bars: int) -> Candles:
    time, *numbers = columns[:, first : first + bars]
    return Candles(frozen(time.view(np.int64)), *map(frozen, numbers))
