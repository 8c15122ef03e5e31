"""A backup under load, restored: acknowledged writes are there, and the copy waits for an
operator.
"""

import copy
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
from psycopg import sql

from apps.ops.database import local_postgres
from apps.ops.demo.walkthrough import DEMO_ALGORITHM
from apps.ops.demo.webhook_receiver import WebhookReceiver, receiving
from apps.trading.models import BarRow, Fill
from apps.webhooks.models import Attempt, Delivery
from tests.faults.clients import Journal, writing
from tests.faults.service import Caller, Service, free_port, service
from tests.processes import until

SEED: Final = 20261124
BACKUPS: Final = 3
BARS_OF_A_DAY: Final = 75
SECONDS_OF_SILENCE: Final = 12.0  # sweeps come every five
SETTINGS: Final = {
    "BACKTEST_WORKERS": "1",
    "WEBHOOK_ALLOW_CIDRS": "127.0.0.1/32",
    "WEBHOOK_ALLOW_HTTP": "1",
}
Table = type[BarRow] | type[Fill] | type[Attempt] | type[Delivery]


@contextmanager
def shared_folder() -> Iterator[Path]:
    """Return a folder outside of tmp_path, which root's account for the server could not enter."""
    folder = Path(tempfile.mkdtemp(prefix="algotrade-backups-"))
    folder.chmod(0o711)
    try:
        yield folder
    finally:
        shutil.rmtree(folder)


def count(up: Service, table: Table) -> int:
    query = sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table._meta.db_table))
    with up.database() as database:
        row = database.execute(query).fetchone()
    assert row is not None
    return int(row[0])


def feed(up: Service, day: str) -> None:
    up.manage("feed", "--symbols", "NSE:RELIANCE", "--from", day, "--to", day, "--speed", "max")


def trade_for_a_day(up: Service, caller: Caller, receiver: WebhookReceiver) -> str:
    """Leave an open run and waiting deliveries; return the webhook's secret.

    Until it has the secret, the receiver answers 401.
    """
    events = ["algorithm.started", "trade.executed"]
    webhook = caller.call("POST", "/api/webhooks", {"url": receiver.url, "events": events})
    created = caller.call("POST", "/api/trading/algorithms", DEMO_ALGORITHM)
    started = caller.call("POST", f"/api/trading/algorithms/{created['id']}/start")
    assert started.is_good, started
    feed(up, "2026-06-29")
    until(lambda: count(up, BarRow) >= BARS_OF_A_DAY)
    until(lambda: count(up, Attempt) > 0)
    return str(webhook["secret"])


def require_all(journals: Sequence[Journal], copied: Service) -> None:
    """Assert that the copy has the writes acknowledged before the backup, or later ones of the
    client.
    """
    with copied.database() as database:
        algorithms = database.execute("SELECT id, name FROM algorithms_algorithm").fetchall()
        rows = database.execute("SELECT id FROM backtests_backtest").fetchall()
    names: dict[str, str] = dict(algorithms)
    backtests = {backtest for (backtest,) in rows}
    for journal in journals:
        for algorithm, known in journal.names.items():
            acknowledged = min(int(name.split()[1]) for name in known)
            assert int(names[algorithm].split()[1]) >= acknowledged
        assert backtests >= set(journal.backtests)
        assert len(journal.names) > 1


def restored(path: Path, folder: Path) -> Service:
    """Restore into a new folder."""
    folder.mkdir(mode=0o711)
    key = subprocess.check_output(["tar", "-xOf", path, "secret"])
    (folder / "secret").write_bytes(key)
    copied = Service(folder, free_port(), SETTINGS)
    copied.manage("restore", str(path))
    return copied


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_a_backup_under_load_has_all_acknowledged_writes_and_its_copy_waits() -> None:
    with shared_folder() as folder, receiving() as receiver:
        journals: list[list[Journal]] = []
        with service(directory=None, **SETTINGS) as up:
            up.manage("load_candles", "--sample")
            with writing(up.port, count=3, seed=SEED) as writers:
                until(lambda: all(writer.journal.names for writer in writers))
                caller = copy.copy(writers[0].caller)
                secret = trade_for_a_day(up, caller, receiver)
                for _ in range(BACKUPS):
                    time.sleep(2)
                    journals.append([copy.deepcopy(writer.journal) for writer in writers])
                    up.manage("backup", str(folder / "backups"))
            assert not [problem for writer in writers for problem in writer.journal.unexpected]
        paths = sorted((folder / "backups").iterdir())
        assert len(paths) == BACKUPS
        for number, (path, at_backup) in enumerate(zip(paths, journals, strict=True)):
            copied = restored(path, folder / f"copy-{number}")
            with local_postgres.running(copied.directory):
                require_all(at_backup, copied)
            acknowledged = sum(len(journal.good) for journal in at_backup)
            print(f"\n{path.stat().st_size} bytes hold {acknowledged} acknowledged writes")
        with running(copied):
            caller.port, receiver.secret = copied.port, secret
            require_quiet_start(copied, caller, receiver)


@contextmanager
def running(copied: Service) -> Iterator[None]:
    copied.start()
    try:
        yield
    finally:
        copied.stop()


def require_quiet_start(copied: Service, caller: Caller, receiver: WebhookReceiver) -> None:
    """Bars arrive and deliveries are due: nothing is done before the quiet start ends, and then
    everything.
    """
    with copied.database() as database:
        database.execute("UPDATE webhooks_delivery SET due_at = now() WHERE status = 'waiting'")
    before = count(copied, BarRow), count(copied, Fill), count(copied, Attempt)
    feed(copied, "2026-06-30")
    time.sleep(SECONDS_OF_SILENCE)
    assert (count(copied, BarRow), count(copied, Fill), count(copied, Attempt)) == before
    assert not receiver.messages
    [algorithm] = [row["id"] for row in page(caller) if row["name"] == DEMO_ALGORITHM["name"]]
    path = f"/api/trading/algorithms/{algorithm}"
    assert caller.call("POST", f"{path}/pause").is_good
    refused = caller.call("POST", f"{path}/resume")
    assert (refused.status, refused.headers["Retry-After"]) == (503, "60")
    copied.manage("end_quiet_start", "--reason", "the original has ended")
    assert caller.call("POST", f"{path}/resume").is_good
    until(lambda: count(copied, BarRow) >= before[0] + BARS_OF_A_DAY)
    until(lambda: receiver.count_by_type().keys() == {"algorithm.started", "trade.executed"})


def page(caller: Caller) -> Sequence[dict[str, str]]:
    answer = caller.call("GET", "/api/trading/algorithms?limit=100&sortBy=createdAt&order=asc")
    assert isinstance(answer.body, dict), answer
    return list(answer.body["data"])
