"""The workers of a machine read the bars of a study from the database once."""

import resource
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from django.conf import LazySettings

from apps.accounts.models import User
from apps.backtests import execution, history_files, shards, studies, tasks
from apps.backtests.execution import LoadedBacktest
from apps.backtests.models import Backtest, BacktestKind
from apps.engine.candles import shared_columns
from apps.engine.simulation.simulations import ignore_progress
from apps.engine.simulation.timeline import History
from apps.market import chunk_slices, corporate_actions
from apps.market.importers.corporate_actions import ActionRow
from tests import make
from tests.backtests.submissions import submit
from tests.backtests.test_shards import STUDIES, begin_shard, result_of
from tests.backtests.waves import waves
from tests.backtests.workers import begin, never
from tests.market.bars import at, flat, same, store_candles

pytestmark = pytest.mark.django_db

SYMBOLS = ["NSE:INFY", "NSE:NIFTY"]
HOURLY = {
    "type": "indicator_value", "operator": "above", "value": 1,
    "indicator": {"type": "RSI", "period": 9, "timeframe": "1h"},
}  # fmt: skip


@pytest.fixture(autouse=True)
def folder(settings: LazySettings, tmp_path: Path) -> Path:
    settings.STUDIES_DIR = tmp_path / "studies"
    return tmp_path / "studies"


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many chunks each reading of the database took."""
    counts = list[int]()

    def read_data(slices: Any) -> dict[int, bytes]:
        data = chunk_slices.read_data(slices)
        counts.append(len(data))
        return data

    monkeypatch.setattr("apps.market.history.read_data", read_data)
    return counts


@pytest.fixture
def study(alice: User) -> Backtest:
    """Of two symbols and a longer timeframe; one symbol has a bonus on the way."""
    for symbol in SYMBOLS:
        store_candles(symbol, "15m", waves("2024-01-01", 45))
    bonus = ActionRow("NSE:INFY", make.NOW.date().replace(2024, 2, 15), "bonus", 1, 2, "a test")
    corporate_actions.store_actions(rows=[bonus], now=make.NOW)
    steps = make.steps()
    basics = {**steps["basicInfo"], "symbols": SYMBOLS}
    conditions = [*steps["entryConditions"]["conditions"], HOURLY]
    entry = {**steps["entryConditions"], "conditions": conditions}
    algorithm = make.algorithm(alice, **make.steps(basicInfo=basics, entryConditions=entry))
    kind = BacktestKind.OPTIMIZATION
    submit(alice, algorithm.pk, kind=kind, configs=STUDIES[kind])
    return begin()


def load(study: Backtest, *, is_shared: bool = True) -> LoadedBacktest:
    return execution.load_backtest(study, ignore_progress, is_shared=is_shared)


def assert_equal(left: LoadedBacktest, right: LoadedBacktest) -> None:
    assert left.coverage == right.coverage
    for history, other in zip(left.inputs.histories, right.inputs.histories, strict=True):
        assert same(history.candles, other.candles)
        assert history.higher_timeframes.keys() == other.higher_timeframes.keys() == {"1h"}
        assert same(history.higher_timeframes["1h"], other.higher_timeframes["1h"])
        assert (history.symbol, history.contract, history.notes) == (
            other.symbol, other.contract, other.notes,
        )  # fmt: skip


def test_the_second_worker_reads_no_candles(study: Backtest, reads: list[int]) -> None:
    own = load(study, is_shared=False)
    assert sum(reads) > 4
    reads.clear()
    first = load(study)
    assert sum(reads) > 4
    reads.clear()
    second = load(study)
    assert not reads
    assert_equal(first, own)
    assert_equal(second, own)
    assert "adjusted_prices" in [note.code for note in second.inputs.histories[0].notes]
    assert shared_columns([history.candles for history in second.inputs.histories]) is not None


def test_workers_that_begin_at_once_read_once(study: Backtest) -> None:
    rules = studies.market_rules_for(study, study.configuration)
    whole = [*load(study, is_shared=False).inputs.histories]
    reads, results = list[float](), list[list[History]]()

    def read() -> list[History]:
        reads.append(time.monotonic())
        time.sleep(0.2)
        return whole

    def work() -> None:
        results.append(history_files.load_shared(study, rules, read))

    workers = [threading.Thread(target=work) for _ in range(3)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(reads) == 1
    assert [len(histories[1].candles) for histories in results] == [len(whole[1].candles)] * 3


def test_files_are_private(study: Backtest, folder: Path) -> None:
    load(study)
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert sorted(path.name for path in folder.iterdir()) == [f"{study.pk}-1", "lock"]


def test_candles_that_have_changed_are_in_the_next_attempt(study: Backtest) -> None:
    before = load(study)
    store_candles("NSE:INFY", "15m", flat([at("2024-02-29 15:30")], 777.0))
    assert_equal(load(study), before)  # the shards of one attempt see the same
    study.attempt += 1
    assert load(study).inputs.histories[0].candles.close[-1] == 777.0


@pytest.mark.parametrize("offset", [0, 100, -1, None])
def test_a_damaged_file_is_written_anew(
    study: Backtest, folder: Path, reads: list[int], offset: int | None
) -> None:
    own, path = load(study), folder / f"{study.pk}-1"
    content = path.read_bytes()
    damaged = bytearray(content[: len(content) // 2] if offset is None else content)
    if offset is not None:
        damaged[offset] ^= 1
    path.unlink()  # as a file that is mapped must never become shorter
    path.write_bytes(damaged)
    assert_equal(load(study), own)
    assert path.read_bytes() == content
    path.unlink()
    path.write_bytes(b"")
    reads.clear()
    assert_equal(load(study), own)
    assert reads


@contextmanager
def limited_files(size: int) -> Iterator[None]:
    """Let a write beyond so many bytes of a file fail, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def test_without_room_each_worker_reads_by_itself(
    study: Backtest, folder: Path, reads: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    own = load(study, is_shared=False)
    with limited_files(20_000):
        assert_equal(load(study), own)
        reads.clear()
        assert_equal(load(study), own)
        assert reads
    assert "workers do not share the bars of studies" in caplog.text
    assert [path.name for path in folder.iterdir()] == ["lock"]
    assert_equal(load(study), own)
    assert (folder / f"{study.pk}-1").exists()


def test_without_a_folder_each_worker_reads_by_itself(
    study: Backtest, settings: LazySettings, tmp_path: Path
) -> None:
    own = load(study, is_shared=False)
    (tmp_path / "file").write_text("")
    settings.STUDIES_DIR = tmp_path / "file" / "studies"
    assert_equal(load(study), own)


def test_the_oldest_files_make_room(
    study: Backtest, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = load(study)
    size = (folder / f"{study.pk}-1").stat().st_size
    monkeypatch.setattr(history_files, "MOST_BYTES_OF_FILES", 2 * size)
    (folder / "left.draft").write_text("of a worker that was killed")
    for _ in range(3):
        study.attempt += 1
        load(study)
    assert sorted(path.name for path in folder.glob("*-*")) == [f"{study.pk}-3", f"{study.pk}-4"]
    assert not list(folder.glob("*.draft"))
    assert_equal(held, load(study))  # it is mapped still
    monkeypatch.setattr(history_files, "MOST_BYTES_OF_FILES", size - 1)
    study.attempt += 1
    assert_equal(held, load(study))
    assert not (folder / f"{study.pk}-5").exists()


@pytest.mark.usefixtures("divided")
def test_a_study_of_shared_bars_has_the_result_of_one_that_shares_none(
    study: Backtest, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    again = submit(
        study.owner,
        study.algorithm_id,
        kind=BacktestKind.OPTIMIZATION,
        configs=STUDIES[BacktestKind.OPTIMIZATION],
    )
    for running in (study, begin()):
        assert shards.run_study(running, ignore_progress) is not None
        while running.shards.exists():
            tasks.run_attempt(begin_shard(), None, is_stopping=never)
        assert not list(folder.glob("*-*"))
        monkeypatch.setattr(history_files, "MOST_BYTES_OF_FILES", 0)
    assert result_of(study) == result_of(again)
