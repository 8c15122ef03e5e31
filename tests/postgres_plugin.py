"""A PostgreSQL server for one test run, deleted after it.

Its address is in DATABASE_URL before pytest-django reads the settings. The server is created while
tests are collected. The workers of a parallel run share it: its database is migrated once, and each
worker copies that. If DATABASE_URL names a server already, that is used. Other shared things are
also made once: compiled kernels and the byte code of modules.
"""

import fcntl
import os
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import TextIO
from urllib.parse import quote

import pytest

from apps.ops.database.local_postgres import DATABASE, running, socket_folder

ROOT = Path(__file__).resolve().parents[1]
KERNELS = ROOT / ".data" / "numba"  # as tests.settings has it
# The file that is locked until the server is ready, and then has the error, if any.
_NOTE = "TEST_DATABASE_NOTE"
_RUN = ExitStack()
_SERVER = ExitStack()


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> None:
    asked = early_config.known_args_namespace
    if "DATABASE_URL" in os.environ or "PYTEST_XDIST_WORKER" in os.environ:
        return
    if asked.file_or_dir and all(map(_is_of_the_engine, asked.file_or_dir)):
        return
    directory = Path(tempfile.mkdtemp(prefix="algotrade-tests-"))
    _RUN.callback(shutil.rmtree, directory, ignore_errors=True)
    directory.chmod(0o711)  # root hands the server to another account, which needs access
    socket = quote(str(socket_folder(directory)), safe="")
    _set("DATABASE_URL", f"postgresql://{DATABASE}@/{DATABASE}?host={socket}")
    _set(_NOTE, str(directory / "ready"))
    note = (directory / "ready").open("w")
    fcntl.flock(note, fcntl.LOCK_EX)
    _RUN.push(_SERVER)
    is_shared = bool(getattr(asked, "numprocesses", None))  # xdist may be switched off
    if is_shared:
        # Or each of the processes that tests start compiles all modules anew.
        os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
        _begin_to_compile()
    _RUN.enter_context(ThreadPoolExecutor(1)).submit(_make, directory, note, is_shared)


def _begin_to_compile() -> None:
    """Without kernels, let workers collect during compilation, and then wait for it."""
    if not KERNELS.exists():
        code = "import tests.settings, apps.engine as engine; engine.Compilation.run(print)"
        compiling = subprocess.Popen(
            [sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.DEVNULL
        )
        _RUN.callback(compiling.wait)


def _is_of_the_engine(asked: str) -> bool:
    """The engine and its tests need no database."""
    return Path(asked).resolve().is_relative_to(ROOT / "tests" / "engine")


def _set(name: str, value: str) -> None:
    os.environ[name] = value
    _RUN.callback(os.environ.pop, name)


def _make(directory: Path, note: TextIO, is_shared: bool) -> None:
    """Prepare the server; waiting processes report an error."""
    with note:
        try:
            _SERVER.enter_context(running(directory, durable=False))
            if is_shared:
                _migrate()
        except Exception as error:
            note.write(f"{type(error).__name__}: {error}")


def _migrate() -> None:
    """Migrate in a separate process, so that this one can collect."""
    command = [sys.executable, str(ROOT / "manage.py"), "migrate", "--verbosity=0"]
    environment = os.environ | {"DJANGO_SETTINGS_MODULE": "tests.settings"}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise RuntimeError(done.stderr)


def is_server_of_run() -> bool:
    """Return whether the server is deleted after this run."""
    return _NOTE in os.environ


def database_to_copy() -> str | None:
    """Wait for the server.

    Only the workers of a parallel run find a migrated database. Raises RuntimeError if the server
    could not be prepared.
    """
    if not is_server_of_run():
        return None
    with Path(os.environ[_NOTE]).open() as note:
        fcntl.flock(note, fcntl.LOCK_SH)
        if problem := note.read():
            raise RuntimeError(problem)
    return DATABASE if "PYTEST_XDIST_WORKER" in os.environ else None


def pytest_unconfigure() -> None:
    """Clean up, also after Ctrl-C and after an error in collection."""
    _RUN.close()
