"""A PostgreSQL server for one test run, thrown away after it.

Runs before pytest-django reads the settings, which take the address from DATABASE_URL. A server
that DATABASE_URL already names is used instead; the workers of a parallel run share their parent's.
"""

import os
import shutil
import tempfile
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import quote

import pytest

from config.postgres import DATABASE, ROLE, attached

_RUN = ExitStack()


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests() -> None:
    if "DATABASE_URL" in os.environ or "PYTEST_XDIST_WORKER" in os.environ:
        return
    directory = Path(tempfile.mkdtemp(prefix="algotrade-tests-"))
    _RUN.callback(shutil.rmtree, directory, ignore_errors=True)
    directory.chmod(0o711)  # root hands the server to another account, which must get in
    cluster = _RUN.enter_context(attached(directory, durable=False))
    os.environ["DATABASE_URL"] = (
        f"postgresql://{ROLE}@/{DATABASE}?host={quote(str(cluster.socket), safe='')}"
    )
    _RUN.callback(os.environ.pop, "DATABASE_URL")


def pytest_unconfigure() -> None:
    """Also after Ctrl-C and after an error in collection."""
    _RUN.close()
