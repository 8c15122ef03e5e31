"""The account of web and workers: when root starts them, another one, if it can run them.

They write to a folder of their own: root never loads what such an account has written, above all
compiled kernels.
"""

import os
import shutil
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from django.conf import settings

from apps.ops import private_files
from apps.ops.system_account import SystemAccount

# The account must be able to read project and environment, to listen and to reach the database.
PROBE: Final = """
from django.db import connection
from apps.ops.management.commands.up import require_free_port
require_free_port()
connection.ensure_connection()
"""


@dataclass(frozen=True, slots=True)
class Identity:
    """The account and environment of child processes; `warning` says why that is root."""

    account: SystemAccount | None
    environment: Mapping[str, str] | None
    warning: str = ""


UNCHANGED: Final = Identity(None, None)


def choose_identity(*, group: int | None) -> Identity:
    """Return this process's own identity unless it is root.

    Members of `group` may enter where the embedded database is.
    """
    if os.geteuid() != 0:
        return UNCHANGED
    account = SystemAccount.for_service(settings.DATA_DIR, group)
    private_files.keep_private(settings.DATA_DIR, group=account.group)
    # HOME: libpq looks there for certificates.
    environment = {**os.environ, "HOME": "/", "SECRET_KEY": settings.SECRET_KEY}
    folder = (
        settings.DATA_DIR if private_files.is_guest(settings.DATA_DIR) else settings.SERVICE_DIR
    )
    environment["NUMBA_CACHE_DIR"] = str(folder / "numba")
    _prepare_folder(account, folder)
    _prepare_metrics(account, settings.METRICS_DIR)
    problem = _problem(account, environment)
    if not problem:
        return Identity(account, environment)
    return Identity(
        None,
        None,
        f"web and workers run as root, as {account.name} cannot ({problem}): start as an ordinary"
        f" user, or let others read {settings.BASE_DIR} and {sys.executable}",
    )


def _problem(account: SystemAccount, environment: Mapping[str, str]) -> str:
    """Return why the account cannot run web and workers, or ""."""
    try:
        answer = account.run(
            *(sys.executable, "-c", PROBE), environment=environment, directory=settings.BASE_DIR
        )
    except OSError as error:
        return str(error)
    lines = answer.stderr.strip().splitlines() or [f"exit code {answer.returncode}"]
    return "" if answer.returncode == 0 else lines[-1]


def _prepare_metrics(account: SystemAccount, metrics: Path) -> None:
    """Make the account own the folder of metrics, and the owner of DATA_DIR its parent."""
    parent, owner = metrics.parent, settings.DATA_DIR.stat()
    os.chown(parent, owner.st_uid, owner.st_gid)
    parent.chmod(0o711)
    account.take_ownership(metrics)


def _prepare_folder(account: SystemAccount, folder: Path) -> None:
    """Make the account's folder, with a copy of what root has compiled."""
    if folder.exists():
        return
    compiled, unfinished = Path(os.environ["NUMBA_CACHE_DIR"]), folder.with_name("service.new")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(mode=0o700)
    if compiled.is_dir():
        shutil.copytree(compiled, unfinished / "numba")
    for path in (unfinished, *unfinished.rglob("*")):
        account.take_ownership(path)
    unfinished.rename(folder)
