"""The reaper continues after any error."""

import threading
from datetime import datetime

import pytest

from apps.ops.processes.reaper import reaping


class Reaper:
    """Fails this often; `succeeded` is set once it does not."""

    def __init__(self, *failures: Exception) -> None:
        self.failures = list(failures)
        self.succeeded = threading.Event()

    def __call__(self, *, now: datetime) -> int:
        if self.failures:
            raise self.failures.pop(0)
        self.succeeded.set()
        return 0


def test_a_failure_is_logged_once_and_the_next_call_is_tried(
    caplog: pytest.LogCaptureFixture,
) -> None:
    reaper = Reaper(ValueError("nobody foresaw this"), ValueError("nor this"))
    with reaping(reaper, every=0.001):
        assert reaper.succeeded.wait(10)
    messages = [
        record.getMessage()
        for record in caplog.records
        if record.name == "apps.ops.processes.reaper"
    ]
    assert messages == ["the sweep fails and is tried again: nobody foresaw this"]


def test_no_call_happens_after_the_end() -> None:
    reaper = Reaper()
    with reaping(reaper, every=0.001):
        assert reaper.succeeded.wait(10)
    threads = [thread for thread in threading.enumerate() if thread.name == "reaper"]
    for thread in threads:
        thread.join(10)
    reaper.succeeded.clear()
    assert not reaper.succeeded.wait(0.05)
