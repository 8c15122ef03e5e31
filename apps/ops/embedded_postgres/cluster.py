"""One PostgreSQL data directory: how it is made, its server started and stopped.

The server listens on a Unix socket alone, in a directory that only its owner can enter (started by
root, its group too), and identifies its clients by what the kernel says of them (peer): the user
who starts it, the owner of DATA_DIR, and root. The account that root hands web and workers to gets
the service's role alone. There is no password that could leak.
"""

import os
import pwd
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psycopg

from apps.ops import private_files
from apps.ops.embedded_postgres import launcher
from apps.ops.embedded_postgres.binaries import Binaries, NoDatabase, find, for_account, shared
from apps.ops.system_account import SystemAccount, plain_environment

OWNER = DATABASE = "algotrade"  # made with the data: a superuser, who owns the tables
SERVICE = "algotrade_service"  # who reads and writes them (roles.py)
MAP = "accounts"  # of the machine's accounts to roles, in pg_ident.conf
_PORT = 5432  # part of the socket's file name; nothing listens on TCP
SECONDS_TO_START = 120.0  # recovery after a crash replays what was written since the checkpoint

SETTINGS = {
    "listen_addresses": "",
    "port": str(_PORT),
    "log_min_messages": "log",  # a refused statement is logged by its client
    "log_checkpoints": "off",
}
THROW_AWAY = {"fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}


@dataclass(frozen=True, slots=True)
class Cluster:
    """The server of one DATA_DIR. `data` may be a link to where the data is."""

    binaries: Binaries
    account: SystemAccount
    data: Path
    socket: Path
    lock: Path
    log: Path
    durable: bool

    @classmethod
    def of(cls, directory: Path, *, socket: Path, lock: Path, durable: bool) -> "Cluster":
        binaries = find()
        data = directory / f"pg{binaries.major}"
        _refuse_another_major(data)
        _refuse_another_owner(data)
        account = SystemAccount.for_data(data)
        return cls(
            binaries=for_account(binaries, account),
            account=account,
            data=data,
            socket=socket,
            lock=lock,
            log=directory / "postgres.log",
            durable=durable,
        )

    def ensure_running(self) -> None:
        """Attach to the server when it answers, wait when it is starting, else start it."""
        self._prepare_socket()
        if self._problem(DATABASE) is not None:
            if self.process() is None:
                self._start()
            elif not self._wait(ended=lambda: self.process() is None):
                raise NoDatabase(f"PostgreSQL ended while it was starting: see {self.log}")
        self._create_database()

    def connect(self, database: str = DATABASE) -> psycopg.Connection:
        return psycopg.connect(
            host=str(self.socket),
            port=_PORT,
            user=OWNER,
            dbname=database,
            connect_timeout=10,
            autocommit=True,
        )

    def process(self) -> int | None:
        """Return the id of the running postmaster of this data directory, if there is one."""
        pid = self._recorded_process()
        return pid if pid and str(self.data.resolve()) in _command_line(pid) else None

    def stop(self) -> None:
        """Shut down fast: open transactions are rolled back, everything committed is on disk."""
        pid = self.process()
        deadline = 0.0
        stop_signals = iter([signal.SIGINT, signal.SIGQUIT, signal.SIGKILL])
        while pid is not None and self.process() == pid:
            if time.monotonic() > deadline:
                with suppress(ProcessLookupError):  # it has just ended
                    os.kill(pid, next(stop_signals))
                deadline = time.monotonic() + launcher.SECONDS_FOR_A_FAST_STOP
            time.sleep(0.01)

    def _problem(self, database: str) -> str | None:
        """Return why the server does not answer, or None if it does, for this data directory."""
        try:
            with self.connect(database) as connection:
                row = connection.execute("SELECT current_setting('data_directory')").fetchone()
        except psycopg.OperationalError as error:
            return str(error)
        if row is None or Path(row[0]).resolve() != self.data.resolve():
            raise NoDatabase(f"{self.socket} is in use by the server of another data directory")
        return None

    def _wait(self, *, ended: Callable[[], bool]) -> bool:
        """Wait until the server answers (True) or ends (False)."""
        deadline = time.monotonic() + SECONDS_TO_START
        while problem := self._problem("postgres"):
            if "authentication failed" in problem or time.monotonic() > deadline:
                raise NoDatabase(f"PostgreSQL runs but does not answer: {problem}")
            if ended():
                return False
            time.sleep(0.02)
        return True

    def _start(self) -> None:
        if not (self.data / "PG_VERSION").exists():
            _refuse_missing_data(self.data)
            self._create()
        self._write_access_rules()
        self._remove_stale_pid_file()
        for seconds in (0, 1, 3):  # after kill -9 its children may still hold its shared memory
            time.sleep(seconds)
            with self._launch() as ended:
                if self._wait(ended=ended):
                    return
        raise NoDatabase(f"PostgreSQL does not start: {_last_line(self.log)} (all: {self.log})")

    @contextmanager
    def _launch(self) -> Iterator[Callable[[], bool]]:
        """Start the launcher, in a session of its own that Ctrl-C in the terminal does not reach.

        Yields a function that tells whether it has ended: it alone holds the write end of a pipe.
        """
        user, group = self.account.user, self.account.group
        settings = SETTINGS | {
            "unix_socket_directories": str(self.socket),
            "unix_socket_permissions": "0700" if user is None else "0770",
        }
        settings |= {} if self.durable else THROW_AWAY
        end, held = os.pipe()
        appending = os.O_WRONLY | os.O_APPEND
        with open(end, "rb"), private_files.private_file(self.log, appending) as log:
            subprocess.run(
                [
                    *(sys.executable, "-I", "-S", launcher.__file__, self.lock),
                    *("-" if user is None else str(user), "-" if group is None else str(group)),
                    *(self.binaries.directory / "postgres", "-D", self.data.resolve()),
                    *(word for pair in settings.items() for word in ("-c", "=".join(pair))),
                ],
                start_new_session=True,
                pass_fds=[held],
                env=plain_environment(),
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                check=True,
            )
            os.close(held)
            yield lambda: bool(select.select([end], [], [], 0)[0])

    def _create(self) -> None:
        """Make the data directory beside its place and move it there, so that it is complete."""
        folder = self._shared_folder()
        unfinished = folder / f"{self.data.name}.new"
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(mode=0o700)
        self.account.take_ownership(unfinished)
        answer = self.account.run(
            *(self.binaries.directory / "initdb", "--pgdata", unfinished, "--username", OWNER),
            *("--auth=peer", "--locale=C", "--encoding=UTF8"),
            *([] if self.durable else ["--no-sync"]),
        )
        if answer.returncode != 0:
            raise NoDatabase(f"initdb failed: {' '.join(answer.stderr.split())}")
        finished = unfinished.rename(folder / self.data.name)
        if finished != self.data:
            self.data.symlink_to(finished)

    def _shared_folder(self) -> Path:
        """Return DATA_DIR, or a directory that the account can enter if it cannot enter that."""
        if self.account.may_enter(self.data.parent):
            return self.data.parent
        folder = Path(tempfile.mkdtemp(prefix="data-", dir=shared()))
        folder.chmod(0o711)
        return folder

    def _create_database(self) -> None:
        """Create the database and the service's role; older data has only the first."""
        with self.connect("postgres") as connection:
            databases = connection.execute("SELECT datname FROM pg_database").fetchall()
            if (DATABASE,) not in databases:
                connection.execute(f"CREATE DATABASE {DATABASE}")
            roles = connection.execute("SELECT rolname FROM pg_roles").fetchall()
            if (SERVICE,) not in roles:
                connection.execute(f"CREATE ROLE {SERVICE} LOGIN")
            if not connection.execute(
                "SELECT FROM pg_hba_file_rules WHERE %s = ANY(user_name)", [SERVICE]
            ).rowcount:  # an older version has started this server
                self._write_access_rules()
                connection.execute("SELECT pg_reload_conf()")

    def _prepare_socket(self) -> None:
        """Make the socket's directory, and refuse one that somebody else has made in /tmp."""
        server = os.geteuid() if self.account.user is None else self.account.user
        with suppress(FileExistsError):
            self.socket.mkdir(mode=0o700)
            self.account.take_ownership(self.socket)
        status = self.socket.lstat()
        if status.st_uid != server or status.st_mode & 0o170067 != 0o040000:
            raise NoDatabase(
                f"{self.socket} is not a directory of the database's account alone: remove it"
            )
        if self.account.group is not None:
            self.socket.chmod(0o710)

    def _write_access_rules(self) -> None:
        users = {os.geteuid(), self.data.parent.stat().st_uid, 0}
        names = {pwd.getpwuid(user).pw_name for user in users}
        service = SystemAccount.for_service(self.data.parent, self.account.group).name
        lines = {f'{MAP} "{name}" {role}\n' for name in names for role in (OWNER, SERVICE)}
        lines.add(f'{MAP} "{service}" {SERVICE}\n')
        self._write("pg_hba.conf", f"local all {OWNER},{SERVICE} peer map={MAP}\n")
        self._write("pg_ident.conf", "".join(sorted(lines)))

    def _write(self, name: str, text: str) -> None:
        """Replace a file by a new one: root follows no link in another account's directory."""
        handle, unfinished = tempfile.mkstemp(dir=self.data)
        with os.fdopen(handle, "w") as file:
            self.account.take_ownership(handle)
            file.write(text)
        os.replace(unfinished, self.data / name)

    def _recorded_process(self) -> int | None:
        try:
            return int((self.data / "postmaster.pid").read_text().split()[0])
        except (FileNotFoundError, IndexError, ValueError):
            return None

    def _remove_stale_pid_file(self) -> None:
        """Remove a process id that another program has by now: PostgreSQL would wait for it to end.

        PostgreSQL removes every other leftover itself.
        """
        pid = self._recorded_process()
        if pid and (command := _command_line(pid)) and "postgres" not in command:
            (self.data / "postmaster.pid").unlink()


def _refuse_another_major(data: Path) -> None:
    clusters = [path for path in data.parent.glob("pg[0-9]*") if path.name[2:].isdigit()]
    if clusters and data not in clusters:
        raise NoDatabase(
            f"{clusters[0]} was made by PostgreSQL {clusters[0].name[2:]}, found is"
            f" {data.name[2:]}: set PG_BIN to the old one's bin directory to go on with it, or"
            " PG_BIN_OLD to have `manage.py up` upgrade the data, or DATA_DIR to another directory"
        )


def _refuse_missing_data(data: Path) -> None:
    """Refuse to begin with an empty database where there was one, such as on a disk that is not
    mounted.
    """
    if data.is_symlink():
        raise NoDatabase(
            f"{data} leads to {data.readlink()}, and no database is there: bring it back, or remove"
            " the link to begin with an empty one"
        )
    if data.exists():
        raise NoDatabase(
            f"{data} holds no database: bring it back, such as by mounting its disk, or remove the"
            " folder to begin with an empty one"
        )


def _refuse_another_owner(data: Path) -> None:
    if not data.exists() or os.geteuid() in (0, data.stat().st_uid):
        return
    raise NoDatabase(
        f"{data} belongs to another user ({data.owner()}): start as that user or as root, "
        "or set DATA_DIR to another directory"
    )


def _command_line(pid: int) -> str:
    """Return the command line of a running process, or "" when it has ended."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").replace("\0", " ")
    except (FileNotFoundError, ProcessLookupError):  # it may end between open and read
        if Path("/proc/self").exists():
            return ""
    listing = ["ps", "-ww", "-o", "command=", "-p", str(pid)]
    return subprocess.run(listing, capture_output=True, text=True, check=False).stdout


def _last_line(log: Path) -> str:
    lines = log.read_text(errors="replace").splitlines()
    return lines[-1] if lines else "its log is empty"
