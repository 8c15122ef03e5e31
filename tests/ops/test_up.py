import http.client
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path
from urllib.parse import urlencode

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from pytest_django import Settings

from apps.ops.database.local_postgres import running, socket_folder
from apps.ops.management.commands.up import exposure_warnings
from tests.processes import PROJECT, is_alive, line, until

NO_SERVER = "postgresql://nobody@127.0.0.1:1/nothing"


def manage(*words: str, **environment: str) -> subprocess.Popen[str]:
    inherited = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
    inherited |= {"DJANGO_SETTINGS_MODULE": "config.settings", **environment}
    return subprocess.Popen(
        [sys.executable, "manage.py", *words],
        cwd=PROJECT,
        env=inherited,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )


def refusal(**environment: str) -> str:
    """Return the error of `up` when it cannot start: one line, and exit code 1."""
    process = manage("up", **environment)
    said, _ = process.communicate()
    assert process.returncode == 1
    assert "Traceback" not in said
    return said.strip().splitlines()[-1]


@pytest.fixture
def port() -> int:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        return int(server.getsockname()[1])


@pytest.fixture
def data_dir() -> Iterator[Path]:
    directory = Path(tempfile.mkdtemp(prefix="algotrade-test-"))
    directory.chmod(0o711)
    yield directory
    shutil.rmtree(directory)
    shutil.rmtree(socket_folder(directory), ignore_errors=True)


@pytest.mark.slow
def test_a_port_in_use_is_named(data_dir: Path) -> None:
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        port = server.getsockname()[1]
        said = refusal(PORT=str(port), DATA_DIR=str(data_dir))
    assert said == f"CommandError: port {port} is taken: stop what uses it, or set PORT to another"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--web 0 --workers 0 --runners 0", "there is nothing to run"),
        ("--workers -1", "'-1': use a whole number from 0 to 64"),
        ("--web 65", "'65': use a whole number from 0 to 64"),
    ],
)
def test_roles_that_cannot_run_are_refused(words: str, message: str) -> None:
    with pytest.raises(CommandError, match=message):
        call_command("up", *words.split())


@pytest.mark.slow
def test_a_host_that_is_not_allowed_is_named(data_dir: Path) -> None:
    said = refusal(HOST="192.0.2.1", DATA_DIR=str(data_dir))
    assert "HOST=192.0.2.1: not an address of this machine" in said


@pytest.mark.slow
def test_a_database_that_cannot_be_reached_is_named(port: int, data_dir: Path) -> None:
    said = refusal(PORT=str(port), DATA_DIR=str(data_dir), DATABASE_URL=NO_SERVER)
    assert "the database cannot be reached" in said
    assert "127.0.0.1" in said


@pytest.mark.slow
def test_a_data_directory_that_cannot_be_written_is_named(port: int) -> None:
    said = refusal(PORT=str(port), DATA_DIR="/dev/null/x")
    assert "DATA_DIR" in said
    assert "/dev/null/x: Not a directory" in said


@pytest.mark.slow
def test_missing_postgres_programs_are_named(port: int, data_dir: Path) -> None:
    said = refusal(PORT=str(port), DATA_DIR=str(data_dir), PG_BIN="/nowhere")
    assert said.startswith("error: no PostgreSQL found in /nowhere: install the package")


@pytest.mark.parametrize(
    "words",
    [
        ["seed_symbols"],
        pytest.param(["load_candles", "--sample"], marks=pytest.mark.slow),
        pytest.param(["kill_switch", "on", "--reason", "x"], marks=pytest.mark.slow),
    ],
)
def test_a_command_before_the_first_start_gives_advice(
    words: list[str], never_started: str
) -> None:
    process = manage(*words, DATABASE_URL=never_started)
    said, _ = process.communicate()
    assert process.returncode == 1
    assert "Traceback" not in said
    message = said.strip().splitlines()[-1]
    assert message.startswith('error: the database is not set up for this version (relation "')
    assert "start the service once (make run), or run .venv/bin/python manage.py migrate" in message


@pytest.fixture
def never_started(db: None) -> Iterator[str]:
    """Return the URL of an empty database on the tests' server."""
    params = connection.get_connection_params()
    name = f"never_started_{os.getpid()}"
    url = psycopg.conninfo.make_conninfo(
        **{key: params[key] for key in ("host", "port", "user", "password") if params.get(key)}
    )
    with psycopg.connect(url, dbname="postgres", autocommit=True) as server:
        server.execute(f"CREATE DATABASE {name}")
        values = psycopg.conninfo.conninfo_to_dict(url)
        yield f"postgresql:///{name}?{urlencode(values)}"
        server.execute(f"DROP DATABASE {name}")


def status(port: int, path: str) -> int:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=10)) as connection:
        connection.request("GET", path)
        return connection.getresponse().status


def children(parents: set[int]) -> set[int]:
    listing = subprocess.run(
        ["ps", "-A", "-o", "pid=,ppid="], capture_output=True, text=True, check=True
    ).stdout
    pairs = re.findall(r"(\d+)\s+(\d+)", listing)
    return {int(child) for child, parent in pairs if int(parent) in parents}


def descendants(pid: int) -> set[int]:
    """Return the supervisor, web and workers with their descendants."""
    pids = {pid}
    while grown := children(pids) - pids:
        pids |= grown
    return pids - {pid}


def wait_for(process: subprocess.Popen[str], words: str) -> str:
    """Read its output until these words appear."""
    said = [line(process)]
    while words not in said[-1]:
        assert said[-1] or process.poll() is None, "\n".join(said)
        said.append(line(process))
    return said[-1]


@pytest.fixture
def service(port: int, data_dir: Path) -> Iterator[subprocess.Popen[str]]:
    with manage("up", PORT=str(port), DATA_DIR=str(data_dir), BACKTEST_WORKERS="1") as process:
        wait_for(process, f"ready: http://127.0.0.1:{port}")
        yield process
        process.terminate()


def postmaster(data_dir: Path) -> int:
    (note,) = data_dir.glob("pg*/postmaster.pid")
    return int(note.read_text().split()[0])


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_one_signal_ends_the_whole_service(
    service: subprocess.Popen[str], port: int, data_dir: Path
) -> None:
    assert status(port, "/healthz") == status(port, "/readyz") == 200
    # two web processes, two workers and a runner
    until(lambda: len(descendants(service.pid)) == 5)
    pids = {*descendants(service.pid), postmaster(data_dir)}
    service.send_signal(signal.SIGTERM)
    wait_for(service, "stopped")
    assert service.wait() == 0
    assert not {pid for pid in pids if is_alive(pid)}


def names_of(pids: set[int]) -> list[str]:
    return sorted(map(process_name, pids))


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_roles_run_apart_and_together_are_the_service(port: int, data_dir: Path) -> None:
    """Web here, workers there, runners elsewhere: all on one database and port."""
    roles = {
        "--web 2 --workers 0 --runners 0": ["web", "web"],
        "--web 0 --workers 1 --runners 0": ["backtest-worker", "small-worker"],
        "--web 0 --workers 0 --runners 2": ["runner", "runner"],
    }
    with ExitStack() as stack:
        for words, names in roles.items():
            started = manage("up", *words.split(), PORT=str(port), DATA_DIR=str(data_dir))
            stack.enter_context(started)
            stack.callback(started.terminate)
            wait_for(started, "ready")
            until(lambda names=names, pid=started.pid: names_of(descendants(pid)) == names)  # type: ignore[misc]  # mypy infers no lambda with a default
        until(
            lambda: (
                counted_processes(port)
                == {"web": 2, "small+webhooks": 1, "backtests": 1, "runner": 2}
            ),
            seconds=30,
        )


def counted_processes(port: int) -> dict[str, int]:
    """Return the live processes in /metrics, by role."""
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=10)) as connection:
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
    counts = re.findall(
        r'^algotrade_processes\{role="([^"]+)",state="alive"\} (\S+)$', text, re.MULTILINE
    )
    return {role: int(float(count)) for role, count in counts}


@pytest.mark.slow
@pytest.mark.timeout(180)
@pytest.mark.usefixtures("service")
def test_any_web_process_gives_the_counts_of_all(port: int) -> None:
    for _ in range(40):
        assert status(port, "/healthz") == 200
    counts = {counted(port, "/healthz") for _ in range(20)}
    assert counts == {40}


def counted(port: int, route: str) -> int:
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=10)) as connection:
        connection.request("GET", "/metrics")
        text = connection.getresponse().read().decode()
    (count,) = re.findall(
        rf'^algotrade_http_requests_total.*"{route}".* (\S+)$', text, re.MULTILINE
    )
    return int(float(count))


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_only_the_database_outlives_a_killed_service(
    service: subprocess.Popen[str], data_dir: Path
) -> None:
    pids, server = descendants(service.pid), postmaster(data_dir)
    service.kill()
    until(lambda: not {pid for pid in pids if is_alive(pid)}, seconds=60)
    assert is_alive(server)
    with running(data_dir):  # takes it over, and stops it
        assert postmaster(data_dir) == server
    assert not is_alive(server)


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_web_recovers_after_it_and_the_database_were_killed(
    service: subprocess.Popen[str], port: int, data_dir: Path
) -> None:
    os.kill(postmaster(data_dir), signal.SIGKILL)
    wait_for(service, "database ended: starting it again")
    until(lambda: status(port, "/readyz") == 200)
    web = next(pid for pid in descendants(service.pid) if process_name(pid) == "web")
    os.kill(web, signal.SIGKILL)
    wait_for(service, "web ended (SIGKILL)")
    until(lambda: answers(port))


def process_name(pid: int) -> str:
    """Return the name of a process; "" once it has ended."""
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except FileNotFoundError:
        return ""


def answers(port: int) -> bool:
    try:
        return status(port, "/readyz") == 200
    except OSError:
        return False


@pytest.mark.slow
@pytest.mark.timeout(180)
def test_a_machine_with_another_key_does_not_start(
    service: subprocess.Popen[str], port: int, data_dir: Path
) -> None:
    service.send_signal(signal.SIGTERM)
    service.wait()
    said = refusal(PORT=str(port), DATA_DIR=str(data_dir), SECRET_KEY="another " * 8)
    assert re.match(r"error: SECRET_KEY: this machine's key \(fingerprint [0-9a-f]{16}\)", said)
    assert "SECRET_KEY_FALLBACKS" in said
    work = manage("work", "--queue", "small", DATA_DIR=str(data_dir), SECRET_KEY="another " * 8)
    assert (work.communicate()[0].strip(), work.returncode) == (said, 1)


def test_a_reachable_service_reports_its_weak_settings(settings: Settings) -> None:
    assert list(exposure_warnings()) == []
    settings.SERVES_LOOPBACK_ALONE = False
    passwords, mails = exposure_warnings()
    assert ("PASSWORD_VALIDATORS" in passwords, "EMAIL_URL" in mails) == (True, True)
    settings.PASSWORD_VALIDATORS, settings.EMAIL_HOST = "strict", "mail.example.com"
    [links] = exposure_warnings()
    assert "PUBLIC_URL" in links
    settings.PUBLIC_URL = "https://algotrade.example.com"
    assert list(exposure_warnings()) == []
