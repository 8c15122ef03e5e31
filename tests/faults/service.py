"""`manage.py up` as users run it, with access to its processes for tests of faults."""

import http.client
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from socket import create_server

import psycopg

from apps.ops.database.local_postgres import socket_folder
from tests.processes import PROJECT, until

COMPILED = PROJECT / ".data" / "numba"  # compiled once for all services that tests start
WORKERS = ("small-worker", "runner", "backtest-worker")
# All Python processes are forks of the supervisor, which is `up` itself.
ROLES = ("supervisor", "web", *WORKERS, "postmaster", "backend")


@dataclass(slots=True)
class Service:
    """The service of one DATA_DIR and port; it may end and be started again."""

    directory: Path
    port: int
    settings: Mapping[str, str] = field(default_factory=dict)
    process: subprocess.Popen[bytes] | None = None
    code: Path = PROJECT
    options: Sequence[str] = ()

    @property
    def log(self) -> Path:
        return self.directory / "up.log"

    def environment(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if name != "DATABASE_URL"}
        inherited.pop("SECRET_KEY", None)
        inherited.pop("NUMBA_CACHE_LOCATOR_CLASSES", None)  # older code has the class elsewhere
        return inherited | {
            "DJANGO_SETTINGS_MODULE": "config.settings",
            "DATA_DIR": str(self.directory),
            "HOST": "127.0.0.1",
            "PORT": str(self.port),
            "NUMBA_CACHE_DIR": str(COMPILED),
            # One machine plays a crowd.
            **{
                f"RATE_LIMIT_{name}": "off"
                for name in ("AUTH", "TRADING", "BACKTESTS", "GENERAL", "PAGES", "ALERTS")
            },
            **self.settings,
        }

    def start(self) -> None:
        if self.process is not None:
            self.process.wait(30)
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                [sys.executable, "manage.py", "up", *self.options],
                cwd=self.code,
                env=self.environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,
            )
        until(self.is_ready, seconds=300)

    def manage(self, *words: str) -> None:
        """Run another command beside it, to its end."""
        subprocess.run(
            [sys.executable, "manage.py", *words],
            cwd=PROJECT,
            env=self.environment(),
            capture_output=True,
            check=True,
        )

    def is_ready(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, self.said()
        return self.answers()

    def answers(self) -> bool:
        return self.get("/readyz")[0] == 200

    def get(self, path: str) -> tuple[int, str]:
        """Return status and text of a page without a token; 0 without an answer."""
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=10)) as connection:
            try:
                connection.request("GET", path)
                response = connection.getresponse()
                return response.status, response.read().decode()
            except (OSError, http.client.HTTPException):
                return 0, ""

    def said(self, *, lines: int = 40) -> str:
        return "\n".join(self.log.read_text(errors="replace").splitlines()[-lines:])

    def stop(self) -> None:
        """Send one signal to `up`; everything must end within half a minute."""
        if self.process is not None:
            self.process.send_signal(signal.SIGTERM)
            self.process.wait(30)

    def kill(self, pid: int, number: signal.Signals = signal.SIGKILL) -> None:
        """Kill a process; wait for our own child, so that it does not stay a zombie."""
        with suppress(ProcessLookupError):
            os.kill(pid, number)
        if self.process is not None and self.process.pid == pid and number == signal.SIGKILL:
            self.process.wait()

    def running(self) -> dict[str, list[int]]:
        """Return the processes of this service by role, the oldest first, orphans included."""
        pids: dict[str, list[int]] = {role: [] for role in ROLES}
        for pid in sorted(map(int, filter(str.isdigit, os.listdir("/proc")))):
            if role := self._role(pid):
                pids[role].append(pid)
        return pids

    def all_pids(self) -> set[int]:
        return {pid for pids in self.running().values() for pid in pids}

    def database(self) -> psycopg.Connection:
        """Connect. Raises psycopg.OperationalError while it is down."""
        return psycopg.connect(
            host=str(socket_folder(self.directory)),
            port=5432,
            user="algotrade",
            dbname="algotrade",
            connect_timeout=5,
            autocommit=True,
        )

    def postmaster(self) -> int:
        return self.running()["postmaster"][0]

    def _role(self, pid: int) -> str | None:
        try:
            command = Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
            folder = os.readlink(f"/proc/{pid}/cwd")
            surroundings = Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
            name = Path(f"/proc/{pid}/comm").read_text().strip()
        except OSError:  # it has ended
            return None
        data = os.path.realpath(next(self.directory.glob("pg[0-9]*"), self.directory / "pg"))
        if "-D" in command and data in command:
            return "postmaster"
        if folder == data:
            return "backend"
        if f"DATA_DIR={self.directory}".encode() not in surroundings:
            return None
        if command[1:3] != ["manage.py", "up"]:
            return None
        return name if name in ("web", *WORKERS) else "supervisor"


@contextmanager
def service(
    code: Path = PROJECT,
    /,
    *,
    directory: Path | None = None,
    options: Sequence[str] = (),
    **settings: str,
) -> Iterator[Service]:
    """Yield a new, ready service, by default in a new folder; at the end stop it, and kill any
    remains.
    """
    made = Service(directory or fresh_folder(), free_port(), settings, code=code, options=options)
    try:
        made.start()
        yield made
        made.stop()
    finally:
        for pid in made.all_pids():
            made.kill(pid)
        until(lambda: not made.all_pids())
        if directory is None:
            shutil.rmtree(made.directory)
        for folder in (Path("/tmp"), Path("/dev/shm")):
            shutil.rmtree(folder / socket_folder(made.directory).name, ignore_errors=True)


def fresh_folder() -> Path:
    directory = Path(tempfile.mkdtemp(prefix="algotrade-faults-"))
    directory.chmod(0o711)  # root hands the server to another account, which needs access
    return directory


def free_port() -> int:
    with closing(create_server(("127.0.0.1", 0))) as probe:
        return int(probe.getsockname()[1])


@dataclass(frozen=True, slots=True)
class Answer:
    """`status` 0: the connection was refused or broke before an answer."""

    status: int
    body: object
    headers: Mapping[str, str] | http.client.HTTPMessage

    @property
    def is_good(self) -> bool:
        return 200 <= self.status < 300

    def __getitem__(self, name: str) -> object:
        assert isinstance(self.body, dict)
        return self.body[name]


@dataclass(slots=True)
class Caller:
    """A client with a connection for each call, and its tokens; `address` is the client address
    that a proxy reports.
    """

    port: int
    token: str = field(default="", repr=False)
    cookie: str = field(default="", repr=False)
    address: str = ""

    def call(self, method: str, path: str, body: object = None) -> Answer:
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        headers |= {"Cookie": self.cookie} if self.cookie and path.startswith("/api/auth") else {}
        headers |= {"X-Forwarded-For": self.address} if self.address else {}
        sent = None
        if body is not None:
            sent = json.dumps(body).encode()
            headers["Content-Type"] = "application/json"
        with closing(http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)) as connection:
            try:
                connection.request(method, path, body=sent, headers=headers)
                response = connection.getresponse()
                text = response.read()
            except (OSError, http.client.HTTPException):
                return Answer(0, None, {})
        answer = Answer(response.status, json.loads(text or b"null"), response.headers)
        if answer.is_good and "refreshToken" in answer.headers.get("Set-Cookie", ""):
            self.cookie = answer.headers["Set-Cookie"].split(";")[0]
            self.token = str(answer["accessToken"])
        return answer
