"""Virtual environments of the peers, installed once for each version of their requirements."""

from __future__ import annotations

import subprocess
import sys
from hashlib import sha256
from pathlib import Path

PROJECT = Path(__file__).parents[3]
FOLDER = Path(__file__).parent


class PeersMissing(Exception):
    """A peers' environment cannot be made: no network, or no wheel for this machine."""


def python_of(environment: Path, *, requirements: str, peers: str) -> Path:
    """Return its Python, with the requirements of that file.

    Raises PeersMissing, naming `peers`.
    """
    wanted = (FOLDER / requirements).read_bytes()
    python, done = environment / "bin" / "python", environment / "installed"
    if done.exists() and done.read_text() == sha256(wanted).hexdigest():
        return python
    print(f"\ninstalling {peers} in {environment}", flush=True)
    quiet = ["--quiet", "--disable-pip-version-check"]
    for command in (
        [sys.executable, "-m", "venv", str(environment)],
        [str(python), "-m", "pip", "install", *quiet, "-r", str(FOLDER / requirements)],
    ):
        made = subprocess.run(command, capture_output=True, text=True, check=False)
        if made.returncode:
            last = (made.stderr.strip() or made.stdout.strip() or "no word").splitlines()[-1]
            raise PeersMissing(f"{peers}: {last}")
    done.write_text(sha256(wanted).hexdigest())
    return python
