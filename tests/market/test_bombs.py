"""Files that unpack, or claim, to be huge are refused before they exhaust memory."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.market.bombs import CANDLES, MASTERS
from tests.processes import PROJECT

MOST_MEMORY = 700
"""MB of a process: 160 are Python and its libraries, 256 a file that is as long as may be."""
QUICK = ("zeros.csv.gz", "records.json.gz")


def refusals(folder: Path, *names: str) -> list[str]:
    command = [sys.executable, "-m", "tests.market.bombs", str(folder), *names]
    answer = subprocess.run(command, cwd=PROJECT, capture_output=True, text=True, check=False)
    assert answer.returncode == 0, answer.stderr
    reasons = []
    for line in answer.stdout.splitlines():
        megabytes, _, reason = line.partition(" ")
        assert 0 < int(megabytes) < MOST_MEMORY, line
        reasons.append(reason)
    return reasons


@pytest.mark.slow
def test_a_file_that_unpacks_to_gigabytes_is_refused_in_little_memory(tmp_path: Path) -> None:
    zeros, records = refusals(tmp_path, *QUICK)
    assert zeros.startswith("zeros.csv.gz: holds more than 256 MB (2^20 bytes) once it is unpacked")
    assert "split long files into smaller ones" in zeros
    assert "records.json.gz: holds more than 8,000,000 values: split it" in records


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_every_kind_of_bomb_is_refused_in_little_memory(tmp_path: Path) -> None:
    assert len(refusals(tmp_path)) == len(CANDLES) + len(MASTERS) + 1
