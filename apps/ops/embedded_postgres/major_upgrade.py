"""Take the data of DATA_DIR to the next major version of PostgreSQL, by its own pg_upgrade.

It needs the programs of both versions: PG_BIN_OLD is the folder of the old ones. Before that a
backup is made by the old version. The files are copied: the old data stays, under another name.
"""

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from apps.ops import private_files
from apps.ops.embedded_postgres.binaries import (
    Binaries,
    NoDatabase,
    find,
    for_account,
    old_programs,
)
from apps.ops.embedded_postgres.cluster import OWNER
from apps.ops.system_account import SystemAccount

MANAGE: Final = Path(__file__).resolve().parents[3] / "manage.py"
# For the time of the upgrade: both servers listen where the account alone can enter.
TRUST: Final = "local all all trust\n"
_LONGEST_REASON: Final = 800


@dataclass(frozen=True, slots=True)
class _Upgrade:
    old: Binaries
    new: Binaries
    data: Path
    account: SystemAccount

    @property
    def target(self) -> Path:
        return self.data.resolve().with_name(f"pg{self.new.major}")


def upgrade_if_asked(data_dir: Path, say: Callable[[str], None]) -> None:
    """Upgrade the data if it is of the version of PG_BIN_OLD. Raises NoDatabase.

    The caller holds no lock: the server must not run, which pg_upgrade checks by itself.
    """
    old = old_programs()
    new = find()
    if old is None or (data_dir / f"pg{new.major}").exists():
        return
    data = data_dir / f"pg{old.major}"
    if not (data / "PG_VERSION").exists():
        return
    account = SystemAccount.for_data(data)
    upgrade = _Upgrade(for_account(old, account), for_account(new, account), data, account)
    backup = _back_up(data_dir, old)
    say(f"database  backed up into {backup}")
    say(f"database  upgrading PostgreSQL {old.major} to {new.major}")
    _run(upgrade)
    kept = data.resolve().with_name(f"pg{old.major}-before-{new.major}")
    if not (data_dir / upgrade.target.name).exists():  # the data stands elsewhere
        (data_dir / upgrade.target.name).symlink_to(upgrade.target)
    data.resolve().rename(kept)
    if data.is_symlink():
        data.unlink()
    say(f"database  upgraded; the old data is kept in {kept}")


def _back_up(data_dir: Path, old: Binaries) -> Path:
    """Back up by a process that runs the old version's server."""
    path = data_dir / f"before-upgrade-of-pg{old.major}.tar"
    environment = os.environ | {"PG_BIN": str(old.directory), "DATA_DIR": str(data_dir)}
    del environment["PG_BIN_OLD"]
    with private_files.private_file(path, os.O_WRONLY | os.O_TRUNC) as file:
        answer = subprocess.run(
            [sys.executable, str(MANAGE), "backup", "-"],
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
        os.fsync(file)
    if answer.returncode != 0:
        path.unlink()
        raise NoDatabase(f"no upgrade without a backup: {answer.stderr.strip()[-_LONGEST_REASON:]}")
    return path


def _run(upgrade: _Upgrade) -> None:
    """Make the new data beside the old, and give it its name when it is complete."""
    unfinished = upgrade.target.with_name(f"pg{upgrade.new.major}.upgrading")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(mode=0o700)
    upgrade.account.take_ownership(unfinished)
    _require_success(
        upgrade.account.run(
            *(upgrade.new.directory / "initdb", "--pgdata", unfinished, "--username", OWNER),
            *("--auth=peer", "--locale=C", "--encoding=UTF8"),
            "--data-checksums" if _has_checksums(upgrade) else "--no-data-checksums",
        )
    )
    with _working_folder(upgrade.account) as folder:
        for data in (upgrade.data.resolve(), unfinished):
            _trust_local(data, upgrade.account)
        _require_success(
            upgrade.account.run(
                upgrade.new.directory / "pg_upgrade",
                *("--old-bindir", upgrade.old.directory, "--new-bindir", upgrade.new.directory),
                *("--old-datadir", upgrade.data.resolve(), "--new-datadir", unfinished),
                *("--username", OWNER, "--socketdir", folder),
                directory=folder,
            )
        )
    shutil.rmtree(upgrade.target, ignore_errors=True)  # of an upgrade that was killed; none uses it
    unfinished.rename(upgrade.target)


def _has_checksums(upgrade: _Upgrade) -> bool:
    """Both versions must agree on them."""
    answer = upgrade.account.run(upgrade.old.directory / "pg_controldata", upgrade.data.resolve())
    _require_success(answer)
    return re.search(r"checksum version:\s+[1-9]", answer.stdout) is not None


def _require_success(answer: subprocess.CompletedProcess[str]) -> None:
    if answer.returncode != 0:
        output = " ".join(f"{answer.stdout} {answer.stderr}".split())[-_LONGEST_REASON:]
        raise NoDatabase(f"the upgrade failed, and the old data is as it was: {output}")


@contextmanager
def _working_folder(account: SystemAccount) -> Iterator[Path]:
    """Yield a folder that the account alone can enter, with a path that is short enough for a
    socket.
    """
    with tempfile.TemporaryDirectory(prefix="algotrade-upgrade-", dir="/tmp") as folder:
        account.take_ownership(Path(folder))
        yield Path(folder)


def _trust_local(data: Path, account: SystemAccount) -> None:
    """Let the account connect as the owner; the next start writes the rules of the service."""
    handle, unfinished = tempfile.mkstemp(dir=data)
    with os.fdopen(handle, "w") as file:
        account.take_ownership(handle)
        file.write(TRUST)
    os.replace(unfinished, data / "pg_hba.conf")
