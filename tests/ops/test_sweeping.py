"""Sweeps go on, whatever one of them meets."""

import threading
from datetime import datetime

import pytest

from apps.ops.reaper import sweeping


class Broom:
    """Fails as often as it is told; `rested` when it has swept without failing."""

    def __init__(self, *failures: Exception) -> None:
        self.failures = list(failures)
        self.rested = threading.Event()

    def __call__(self, *, now: datetime) -> int:
        if self.failures:
            raise self.failures.pop(0)
        self.rested.set()
        return 0


def test_a_failed_sweep_is_said_once_and_the_next_is_tried(
    caplog: pytest.LogCaptureFixture,
) -> None:
    broom = Broom(ValueError("nobody foresaw this"), ValueError("nor this"))
    with sweeping(broom, every=0.001):
        assert broom.rested.wait(10)
    said = [record.getMessage() for record in caplog.records if record.name == "apps.ops.reaper"]
    assert said == ["the sweep fails and is tried again: nobody foresaw this"]


def test_no_sweep_begins_after_the_end() -> None:
    broom = Broom()
    with sweeping(broom, every=0.001):
        assert broom.rested.wait(10)
    sweeps = [thread for thread in threading.enumerate() if thread.name == "sweep"]
    for thread in sweeps:
        thread.join(10)
    broom.rested.clear()
    assert not broom.rested.wait(0.05)
