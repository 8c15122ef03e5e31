"""The demo walks the whole journey, is never silent for long, and leaves nothing behind."""

import os
import subprocess
import sys
import tempfile
import time
from itertools import pairwise
from pathlib import Path

import pytest

from apps.ops.demo import output
from tests.processes import until

MOST_SECONDS_OF_SILENCE = 5.0
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
    moments, lines = [time.monotonic()], []
    with subprocess.Popen(
        [sys.executable, str(ROOT / "manage.py"), "demo"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        assert process.stdout is not None
        for line in process.stdout:
            moments.append(time.monotonic())
            lines.append(line)
    said = "".join(lines)
    assert process.returncode == 0, said
    steps = (
        "compiling ",
        "workers   ",
        "completed after",
        "as if it came in now",
        "x trade.executed",
        "Sign out",
    )
    for step in steps:
        assert step in said
    assert max(later - earlier for earlier, later in pairwise(moments)) < MOST_SECONDS_OF_SILENCE
    assert set(Path(tempfile.gettempdir()).glob("algotrade-demo-*")) == before
    running = subprocess.run(["ps", "-eo", "args"], capture_output=True, text=True, check=True)
    assert "algotrade-demo-" not in running.stdout


def test_a_long_step_says_that_it_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(output, "SECONDS_OF_SILENCE", 0.1)
    lines: list[str] = []
    shown = output.Output(lines.append)
    shown.say("Wait")
    with shown.never_silent():
        until(lambda: len(lines) > 2)
    assert lines[0] == "Wait"
    assert set(lines[1:]) == {"    still at it: 0 s"}
    silent = len(lines)
    time.sleep(0.3)
    assert len(lines) == silent
