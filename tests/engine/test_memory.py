"""What was freed is there for the next run, and need not be made ready again."""

import platform
import subprocess
import sys

import pytest

RUNS = """
import resource
import numpy as np
from apps.engine import memory

if {kept}:
    memory.keep_freed()

def pages_made_ready():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    held = [np.ones(300_000) for _ in range(10)]  # 24 MB
    del held
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

print([pages_made_ready() for _ in range(4)])
"""


def pages_made_ready(*, kept: bool) -> list[int]:
    """In four runs of a process of its own."""
    command = [sys.executable, "-c", RUNS.format(kept=kept)]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [int(part) for part in told.strip("[]\n").split(",")]


@pytest.mark.skipif(platform.libc_ver()[0] != "glibc", reason="the C library is not glibc")
def test_only_the_first_run_has_its_memory_made_ready() -> None:
    first, *later = pages_made_ready(kept=True)
    assert first > 1000
    assert max(later) < 100
    assert min(pages_made_ready(kept=False)) > 1000
