"""The data of an older major version of PostgreSQL is upgraded when `up` is asked to."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from apps.ops.backups import archive
from apps.ops.embedded_postgres import binaries, major_upgrade
from apps.ops.embedded_postgres.binaries import Binaries, NoDatabase, find
from apps.ops.embedded_postgres.shared_server import attached, socket_directory
from tests.faults.service import COMPILED, fresh_folder
from tests.processes import PROJECT

OLD = next(
    (
        folder
        for folder in sorted(Path("/usr/lib/postgresql").glob("*/bin"))
        if int(folder.parent.name) < find().major and (folder / "initdb").exists()
    ),
    None,
)
needs_old = pytest.mark.skipif(OLD is None, reason="no older PostgreSQL on this machine")


@pytest.fixture
def data_dir() -> Iterator[Path]:
    folder = fresh_folder()
    yield folder
    shutil.rmtree(folder)
    shutil.rmtree(socket_directory(folder), ignore_errors=True)


def manage(data_dir: Path, *words: str, **environment: str) -> None:
    inherited = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    settings = {"DATA_DIR": str(data_dir), "NUMBA_CACHE_DIR": str(COMPILED), **environment}
    subprocess.run(
        [sys.executable, "manage.py", *words],
        cwd=PROJECT, env=inherited | settings, check=True, stdout=subprocess.DEVNULL,
    )  # fmt: skip


@needs_old
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_data_of_an_older_version_is_upgraded_after_a_backup(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert OLD is not None
    manage(data_dir, "migrate", "--verbosity=0", PG_BIN=str(OLD))
    manage(data_dir, "seed_symbols", PG_BIN=str(OLD))
    old_data = data_dir / f"pg{OLD.parent.name}"
    assert old_data.exists()
    with pytest.raises(NoDatabase, match=r"PG_BIN_OLD to have `manage.py up` upgrade"):
        attached(data_dir).__enter__()
    monkeypatch.setenv("PG_BIN_OLD", str(OLD))
    monkeypatch.delenv("DATABASE_URL", raising=False)
    lines: list[str] = []
    major_upgrade.upgrade_if_asked(data_dir, lines.append)
    assert [line.split()[1] for line in lines] == ["backed", "upgrading", "upgraded;"]
    with attached(data_dir) as cluster, cluster.connect() as connection:
        assert cluster.binaries.major == find().major
        row = connection.execute("SELECT count(*) FROM symbols_instrument").fetchone()
        assert row is not None
        assert row[0] > 10
    [backup] = data_dir.glob("before-upgrade-of-*.tar")
    with archive.opened(backup) as opened:
        assert opened.manifest.rows["symbols_instrument"] == row[0]
    assert not old_data.exists()
    manage(data_dir, "migrate", "--check", "--verbosity=0")
    major_upgrade.upgrade_if_asked(data_dir, lines.append)  # a second start finds nothing to do
    assert len(lines) == 3


@needs_old
@pytest.mark.slow
def test_without_a_backup_nothing_is_upgraded(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert OLD is not None
    monkeypatch.delenv("DATABASE_URL", raising=False)
    with monkeypatch.context() as old:
        old.setenv("PG_BIN", str(OLD))
        with attached(data_dir, durable=False):
            pass  # an empty database: there is nothing to back up
    monkeypatch.setenv("PG_BIN_OLD", str(OLD))
    with pytest.raises(NoDatabase, match=r"no upgrade without a backup: .*not set up"):
        major_upgrade.upgrade_if_asked(data_dir, print)
    assert (data_dir / f"pg{OLD.parent.name}" / "PG_VERSION").exists()
    assert not list(data_dir.glob("*.tar"))


def test_old_programs_that_are_not_there_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PG_BIN_OLD", "/nowhere")
    with pytest.raises(NoDatabase, match="PG_BIN_OLD=/nowhere holds no working postgres"):
        binaries.old_programs()


def test_killed_at_its_end_it_leaves_data_that_is_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where DATA_DIR has a link to the data, the next start must not begin with an empty one."""
    elsewhere, data_dir = tmp_path / "elsewhere", tmp_path / "data"
    data_dir.mkdir()
    (elsewhere / "pg17").mkdir(parents=True)
    (elsewhere / "pg17" / "PG_VERSION").write_text("17")
    (data_dir / "pg17").symlink_to(elsewhere / "pg17")

    def make_data(upgrade: Any) -> None:
        upgrade.target.mkdir()
        (upgrade.target / "PG_VERSION").write_text("18")

    def be_killed(path: Path, target: Path) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(major_upgrade, "old_programs", lambda: Binaries(tmp_path, 17))
    monkeypatch.setattr(major_upgrade, "find", lambda: Binaries(tmp_path, 18))
    monkeypatch.setattr(major_upgrade, "for_account", lambda binaries, account: binaries)
    monkeypatch.setattr(major_upgrade, "_back_up", lambda *_: tmp_path / "backup.tar")
    monkeypatch.setattr(major_upgrade, "_run", make_data)
    monkeypatch.setattr(Path, "rename", be_killed)
    with pytest.raises(KeyboardInterrupt):
        major_upgrade.upgrade_if_asked(data_dir, print)
    assert (data_dir / "pg18" / "PG_VERSION").read_text() == "18"
