"""FastAPI's service as a process beside ours."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from socket import create_connection, create_server
from typing import NamedTuple

from tests.benchmarks.peers.environments import FOLDER, PROJECT, python_of
from tests.processes import until

ENVIRONMENT = PROJECT / ".data" / "peers_web"


class Web(NamedTuple):
    port: int
    pid: int


@contextmanager
def fastapi(settings: Mapping[str, str]) -> Iterator[Web]:
    """Run one process of it. Raises PeersMissing."""
    python = python_of(
        ENVIRONMENT, requirements="requirements_web.txt", peers="FastAPI and SQLAlchemy"
    )
    with closing(create_server(("127.0.0.1", 0))) as probe:
        port = int(probe.getsockname()[1])
    with (
        tempfile.TemporaryFile() as log,
        subprocess.Popen(
            [str(python), "-m", "uvicorn", "with_fastapi:app", "--port", str(port)],
            cwd=FOLDER,
            env=os.environ | settings,
            stdout=log,
            stderr=log,
        ) as process,
    ):
        try:
            until(lambda: _answers(port), every=0.1)
            yield Web(port, process.pid)
        finally:
            process.terminate()


def _answers(port: int) -> bool:
    try:
        create_connection(("127.0.0.1", port), timeout=1).close()
    except OSError:
        return False
    return True
