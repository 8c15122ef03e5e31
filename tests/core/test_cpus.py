"""A container's number of processors comes from its control group, not from the machine."""

import os
from pathlib import Path

import pytest

from apps.core.machine import cpus


@pytest.mark.parametrize(
    ("text", "expected"),
    [("max 100000\n", None), ("100000 100000\n", 1), ("150000 100000\n", 2), ("1000 100000\n", 1)],
)
def test_a_quota_of_version_2(tmp_path: Path, text: str, expected: int | None) -> None:
    (tmp_path / "cpu.max").write_text(text)
    assert cpus.quota(tmp_path) == expected


@pytest.mark.parametrize(("quota", "expected"), [("-1\n", None), ("400000\n", 4)])
def test_a_quota_of_version_1(tmp_path: Path, quota: str, expected: int | None) -> None:
    (tmp_path / "cpu").mkdir()
    (tmp_path / "cpu/cpu.cfs_quota_us").write_text(quota)
    (tmp_path / "cpu/cpu.cfs_period_us").write_text("100000\n")
    assert cpus.quota(tmp_path) == expected


def test_no_control_group_limits_nothing(tmp_path: Path) -> None:
    assert cpus.quota(tmp_path) is None


def test_a_process_bound_to_one_processor_counts_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cpus, "CGROUP", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: {3}, raising=False)
    assert cpus.cpu_count() == 1


def test_the_smaller_of_both_counts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "cpu.max").write_text("200000 100000")
    monkeypatch.setattr(cpus, "CGROUP", tmp_path)
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(8)), raising=False)
    assert cpus.cpu_count() == 2


def test_containers_of_the_same_process_ids_begin_at_different_processors(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    chosen: set[int] = set()
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(64)), raising=False)
    monkeypatch.setattr(
        os, "sched_setaffinity", lambda pid, bound: chosen.update(bound), raising=False
    )
    monkeypatch.setattr(os, "getppid", lambda: 1)
    for name in ("web-1", "web-2", "web-3"):
        monkeypatch.setattr(cpus, "gethostname", lambda name=name: name)
        cpus.bind_to_processor(0)
        cpus.bind_to_processor(1)
    assert len(chosen) == 6
