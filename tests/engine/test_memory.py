"""What was freed is there for the next run, need not be made ready again, and can be given back."""

import platform
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(
    platform.libc_ver()[0] != "glibc", reason="the C library is not glibc"
)

MADE_READY = """
import resource
import numpy as np
from apps.engine import memory

if {kept}:
    memory.keep_freed()

def made_ready():
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    held = [np.ones(300_000) for _ in range(10)] + [np.ones(10_000_000)]  # 24 MB, and 80 at once
    del held
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

print(*(made_ready() for _ in range(4)))
"""

HELD = """
from pathlib import Path
import numpy as np
from apps.engine import memory

def held():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))

memory.keep_freed()
before = held()
arrays = [np.ones(300_000) for _ in range(100)] + [np.ones(10_000_000)]  # 240 MB, and 80 at once
del arrays
kept = held() - before
memory.give_back()
print(kept, held() - before)
"""


def told_by(program: str) -> list[int]:
    """What a process of its own prints."""
    command = [sys.executable, "-c", program]
    told = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [int(part) for part in told.split()]


def test_only_the_first_run_has_its_memory_made_ready() -> None:
    first, *later = told_by(MADE_READY.format(kept=True))
    assert first > 20  # pages of 4 kB, or of 2 MB
    assert max(later) < 10


def test_by_itself_each_run_has_its_memory_made_ready() -> None:
    assert min(told_by(MADE_READY.format(kept=False))) > 20


def test_what_is_kept_is_given_back() -> None:
    kept, left = told_by(HELD)  # kB
    assert kept > 250_000
    assert left < 30_000
