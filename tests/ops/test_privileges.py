"""Started by root, web and workers are another account's; where that cannot be, it is said."""

import os
import pwd
import shutil
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from django.conf import LazySettings

from apps.ops import privileges
from apps.ops.privileges import Identity
from apps.ops.system_account import SystemAccount
from tests.processes import line, python

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another account")

DAEMON = (
    SystemAccount.for_service(Path("/"), group=None)
    if os.geteuid() == 0
    else SystemAccount(None, None)
)


@pytest.fixture
def data_dir(settings: LazySettings) -> Iterator[Path]:
    """Not tmp_path, which only root can enter."""
    directory = Path(tempfile.mkdtemp(prefix="algotrade-test-"))
    settings.DATA_DIR = directory
    settings.METRICS_DIR = directory / "metrics" / "8000"
    settings.METRICS_DIR.mkdir(parents=True)
    settings.STUDIES_DIR = directory / "studies"
    yield directory
    shutil.rmtree(directory)


def requires(monkeypatch: pytest.MonkeyPatch, require_access: Callable[[], None]) -> None:
    monkeypatch.setattr(privileges, "require_access", require_access)


def owner(path: Path) -> str:
    return pwd.getpwuid(path.stat().st_uid).pw_name


def test_web_and_workers_are_handed_to_an_account_that_can_run_them(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def require_access() -> None:
        assert (os.geteuid(), os.getgroups()) == (DAEMON.user, [])

    requires(monkeypatch, require_access)
    assert privileges.choose_identity(group=None) == Identity(DAEMON)
    assert owner(data_dir / "metrics" / "8000") == "daemon"
    assert owner(data_dir / "studies") == "daemon"
    assert stat.S_IMODE((data_dir / "studies").stat().st_mode) == 0o700
    assert owner(data_dir) == "root"
    assert stat.S_IMODE(data_dir.stat().st_mode) == 0o710


def test_what_root_makes_in_the_folder_of_an_account_can_be_used_by_it(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    requires(monkeypatch, lambda: None)
    os.chown(data_dir, 12345, 54321)
    assert privileges.choose_identity(group=1) == Identity(SystemAccount(12345, 54321))
    for made in (data_dir / "metrics", data_dir / "metrics" / "8000"):
        assert made.stat().st_uid == 12345


@pytest.mark.usefixtures("data_dir")
def test_an_account_that_cannot_run_them_is_named_with_the_reason_and_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def require_access() -> None:
        Path("/root/secret").read_bytes()

    requires(monkeypatch, require_access)
    identity = privileges.choose_identity(group=None)
    assert identity.account is None
    assert identity.warning.startswith(
        "web and workers run as root, as daemon cannot (PermissionError: [Errno 13] Permission"
        " denied: '/root/secret'): start as an ordinary user, or let others read "
    )


def test_the_owner_of_the_data_directory_runs_them_if_that_is_not_root(tmp_path: Path) -> None:
    os.chown(tmp_path, 12345, 54321)
    assert SystemAccount.for_service(tmp_path, group=1) == SystemAccount(12345, 54321)


RUN_AS_DAEMON = """
import os
from pathlib import Path
from apps.ops.supervisor import Child, Supervisor
from apps.ops.system_account import SystemAccount

def live():
    print(os.getuid(), os.getgid(), os.getgroups(), os.environ["HOME"], flush=True)
    try:
        os.setuid(0)
    except PermissionError:
        print("stays", Path("/proc/self/comm").read_text().strip(), flush=True)

daemon = SystemAccount.for_service(Path("/"), group=None)
Supervisor([Child("web", live)], say=print, account=daemon).run(on_poll=lambda: None)
"""


def test_a_child_runs_as_its_account_for_good() -> None:
    with python(RUN_AS_DAEMON) as supervisor:
        assert line(supervisor) == f"{DAEMON.user} {DAEMON.group} [] /"
        assert line(supervisor) == "stays web"
