"""The account of web and workers: when root starts them, another one, if it can run them."""

import os
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import django
from django.conf import settings
from django.db import connection

from apps.ops import private_files
from apps.ops.system_account import SystemAccount

_LONGEST_PROBLEM: Final = 1000


@dataclass(frozen=True, slots=True)
class Identity:
    """The account of child processes; None is this process's own.

    `warning` says why web and workers run as root.
    """

    account: SystemAccount | None
    warning: str = ""


def choose_identity(*, group: int | None) -> Identity:
    """Return this process's own identity unless it is root.

    Members of `group` may enter where the embedded database is.
    """
    if os.geteuid() != 0:
        return Identity(None)
    account = SystemAccount.for_service(settings.DATA_DIR, group)
    private_files.keep_private(settings.DATA_DIR, group=account.group)
    with suppress(OSError):  # without room for it each worker says so, and reads by itself
        private_files.make(settings.STUDIES_DIR)
        account.take_ownership(settings.STUDIES_DIR)
    if settings.METRICS_DIR.exists():  # where there is a web process
        _prepare_metrics(account, settings.METRICS_DIR)
    if problem := problem_of(account):
        warning = (
            f"web and workers run as root, as {account.name} cannot ({problem}): start as an"
            f" ordinary user, or let others read {settings.BASE_DIR} and {sys.executable}"
        )
        return Identity(None, warning)
    return Identity(account)


def problem_of(account: SystemAccount) -> str:
    """Return why the account cannot run web and workers, or "".

    It must be able to read project, packages and Python's own modules, and to reach the database.
    A fork tries.
    """
    read, written = os.pipe()
    pid = os.fork()
    if pid == 0:
        try:
            account.assume()
            require_access()
        except BaseException as error:
            os.write(written, f"{type(error).__name__}: {error}".encode()[:_LONGEST_PROBLEM])
        finally:
            os._exit(0)
    os.close(written)
    with open(read, "rb") as pipe:
        problem = pipe.read().decode(errors="replace")
    os.waitpid(pid, 0)
    return problem.strip().splitlines()[-1] if problem else ""


def require_access() -> None:
    """Raise an error if this process cannot read the project or reach the database."""
    for path in (settings.BASE_DIR / "manage.py", django.__file__, os.__file__):
        Path(path).read_bytes()
    connection.ensure_connection()


def _prepare_metrics(account: SystemAccount, metrics: Path) -> None:
    """Make the account own the folder of metrics, and the owner of DATA_DIR its parent."""
    parent, owner = metrics.parent, settings.DATA_DIR.stat()
    os.chown(parent, owner.st_uid, owner.st_gid)
    parent.chmod(0o711)
    account.take_ownership(metrics)
