"""The demo walks the whole journey and leaves nothing behind."""

import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_the_demo_ends_well_and_cleans_up(tmp_path: Path) -> None:
    environment = {
        **os.environ,
        "DATA_DIR": str(tmp_path / "unused"),
        "NUMBA_CACHE_DIR": str(tmp_path / "nothing compiled"),
    }
    for name in ("DATABASE_URL", "DJANGO_SETTINGS_MODULE", "SECRET_KEY"):
        environment.pop(name, None)
    before = set(Path(tempfile.gettempdir()).glob("algotrade-demo-*"))
    process = subprocess.run(
        [sys.executable, str(ROOT / "manage.py"), "demo"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    said = process.stdout
    assert process.returncode == 0, said
    steps = (
        "compiling ",
        "workers   ",
        "completed after",
        "as if it came in now",
        "a page for everybody",
        "x trade.executed",
    )
    for step in steps:
        assert step in said
    assert set(Path(tempfile.gettempdir()).glob("algotrade-demo-*")) == before
    running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    assert "algotrade-demo-" not in running.stdout
