"""Started by root, web and workers are another account's; where that cannot be, it is said."""

import os
import pwd
import shutil
import stat
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.conf import LazySettings

from apps.ops import privileges
from apps.ops.supervisor import Child
from apps.ops.system_account import SystemAccount
from tests.processes import PROJECT

pytestmark = pytest.mark.skipif(os.geteuid() != 0, reason="only root can act as another account")

DAEMON = (
    SystemAccount.for_service(Path("/"), group=None)
    if os.geteuid() == 0
    else SystemAccount(None, None)
)


@pytest.fixture
def data_dir(settings: LazySettings, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Not tmp_path, which only root can enter."""
    directory = Path(tempfile.mkdtemp(prefix="algotrade-test-"))
    settings.DATA_DIR, settings.SERVICE_DIR = directory, directory / "service"
    settings.METRICS_DIR = directory / "metrics" / "8000"
    settings.METRICS_DIR.mkdir(parents=True)
    (directory / "numba" / "kernels").mkdir(parents=True)
    (directory / "numba" / "kernels" / "one.nbi").write_bytes(b"compiled")
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(directory / "numba"))
    yield directory
    shutil.rmtree(directory)


@pytest.fixture
def anybodys_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """One that every account can run, whatever the tests' own is."""
    monkeypatch.setattr(sys, "executable", "/usr/bin/python3")
    if subprocess.run(["/usr/bin/python3", "-c", ""], check=False).returncode != 0:
        pytest.skip("there is no /usr/bin/python3")


def owner(path: Path) -> str:
    return pwd.getpwuid(path.stat().st_uid).pw_name


@pytest.mark.usefixtures("anybodys_python")
def test_web_and_workers_are_handed_to_an_account_that_can_run_them(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(privileges, "PROBE", "import os; assert os.geteuid() != 0")
    identity = privileges.choose_identity(group=None)
    assert (identity.account, identity.warning) == (DAEMON, "")
    assert identity.environment is not None
    kernels = Path(identity.environment["NUMBA_CACHE_DIR"])
    assert kernels == data_dir / "service" / "numba"
    assert (kernels / "kernels" / "one.nbi").read_bytes() == b"compiled"
    assert {owner(path) for path in (kernels, *kernels.rglob("*"))} == {"daemon"}
    assert owner(data_dir / "metrics" / "8000") == "daemon"
    assert owner(data_dir) == owner(data_dir / "numba") == "root"
    assert stat.S_IMODE(data_dir.stat().st_mode) == 0o710
    assert identity.account is not None
    writes = identity.account.run("touch", kernels / "another")
    assert writes.returncode == 0, writes.stderr


@pytest.mark.usefixtures("anybodys_python")
def test_what_root_makes_in_the_folder_of_an_account_can_be_used_by_it(
    data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(privileges, "PROBE", "")
    os.chown(data_dir, 12345, 54321)
    identity = privileges.choose_identity(group=1)
    assert identity.account == SystemAccount(12345, 54321)
    assert identity.environment is not None
    assert identity.environment["NUMBA_CACHE_DIR"] == str(data_dir / "numba")
    for made in (data_dir / "metrics", data_dir / "metrics" / "8000"):
        assert made.stat().st_uid == 12345


@pytest.mark.usefixtures("anybodys_python", "data_dir")
def test_an_account_that_cannot_run_them_is_named_with_the_reason_and_what_to_do(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(privileges, "PROBE", "open('/root/secret')")
    identity = privileges.choose_identity(group=None)
    assert identity.account is None
    assert identity.environment is None
    assert identity.warning.startswith(
        "web and workers run as root, as daemon cannot (PermissionError: [Errno 13] Permission"
        " denied: '/root/secret'): start as an ordinary user, or let others read "
    )


@pytest.mark.usefixtures("data_dir")
def test_a_python_that_the_account_cannot_run_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    (tmp_path / "python").symlink_to("/usr/bin/python3")
    tmp_path.chmod(0o700)
    assert (
        f"Permission denied: '{tmp_path}/python'" in privileges.choose_identity(group=None).warning
    )


def test_the_owner_of_the_data_directory_runs_them_if_that_is_not_root(tmp_path: Path) -> None:
    os.chown(tmp_path, 12345, 54321)
    assert SystemAccount.for_service(tmp_path, group=1) == SystemAccount(12345, 54321)


@pytest.mark.usefixtures("anybodys_python")
def test_a_child_runs_as_its_account_in_its_environment() -> None:
    folder = Path(tempfile.mkdtemp(prefix="algotrade-test-"))
    folder.chmod(0o755)
    (folder / "apps" / "ops").mkdir(parents=True)
    shutil.copy(PROJECT / "apps" / "ops" / "parent_watcher.py", folder / "apps" / "ops")
    (folder / "said.py").write_text(
        "import os\nos.write(1, f'{os.getuid()} {os.getgroups()} {os.environ}'.encode())"
    )
    read, written = os.pipe()
    child = Child("said", "said", [], account=DAEMON, environment={"ONLY": "this"})
    before = os.dup(1)
    out, into = os.pipe()
    os.dup2(into, 1)
    try:
        child.start(watched=read, directory=folder, now=0.0)
        child.wait()
    finally:
        os.dup2(before, 1)
        os.close(into)
        shutil.rmtree(folder)
    with open(out) as said:
        text = said.read()
    for descriptor in (read, written, before):
        os.close(descriptor)
    assert text.startswith(f"{DAEMON.user} [] ")
    assert "'ONLY': 'this'" in text
    assert "PATH" not in text
