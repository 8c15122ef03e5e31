"""The accounts of the machine that root hands the database and the service to."""

import os
import pwd
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class SystemAccount:
    """A user and a group of this machine; None means those of this process."""

    user: int | None
    group: int | None

    @classmethod
    def for_data(cls, data: Path) -> "SystemAccount":
        """Return the account that runs PostgreSQL, which refuses root.

        For root it is the owner of the data, at first `nobody`; others run it themselves.
        """
        if os.geteuid() != 0:
            return cls(None, None)
        if data.exists():
            return cls(data.stat().st_uid, data.stat().st_gid)
        account = pwd.getpwnam("nobody")
        return cls(account.pw_uid, account.pw_gid)

    @classmethod
    def for_service(cls, data_dir: Path, group: int | None) -> "SystemAccount":
        """Return the account that runs web and workers.

        For root it is the owner of DATA_DIR, or when that is root too, `daemon` in the `group` that
        may enter: not the account that can write the database's files.
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
        """Run a program as the account, to its end."""
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

    def assume(self) -> None:
        """Give up this process's own account for good."""
        if self.user is not None and self.group is not None:
            os.setgroups([])
            os.setgid(self.group)
            os.setuid(self.user)
            os.environ["HOME"] = "/"  # libpq looks there for certificates

    def may_run(self, program: Path) -> bool:
        try:
            return self.run(program, "--version").returncode == 0
        except PermissionError:
            return False

    def may_enter(self, directory: Path) -> bool:
        return self.user is None or self.run("test", "-x", directory).returncode == 0

    def take_ownership(self, path: Path | int) -> None:
        """Make the account the owner of a path or of an open file."""
        if self.user is not None and self.group is not None:
            os.chown(path, self.user, self.group)


def plain_environment() -> dict[str, str]:
    """Return an environment without PGDATA, PGPORT or locale, which would change the server."""
    return {"PATH": os.environ.get("PATH", os.defpath), "LC_ALL": "C", "TZ": "UTC"}
