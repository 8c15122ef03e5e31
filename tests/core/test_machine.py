"""A container's memory comes from its control group, not from the machine."""

from pathlib import Path

import pytest

from apps.core.machine import process

V2, V1 = "0::/user.slice/algotrade.service\n", "7:cpu:/other\n4:memory:/box/algotrade\n"


@pytest.fixture
def groups(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder in place of the control groups; its file `groups` lists those of this
    process.
    """
    monkeypatch.setattr(process, "CGROUP", tmp_path / "cgroup")
    monkeypatch.setattr(process, "GROUPS_OF_PROCESS", tmp_path / "groups")
    return tmp_path


def limit(groups: Path, folder: str, name: str, text: str) -> None:
    path = groups / "cgroup" / folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def test_the_lowest_limit_of_a_group_and_its_parents_holds(groups: Path) -> None:
    (groups / "groups").write_text(V2)
    limit(groups, "user.slice/algotrade.service", "memory.max", "max\n")
    limit(groups, "user.slice", "memory.max", "629145600\n")
    assert process.memory_limit() == 600 * 2**20
    limit(groups, "user.slice/algotrade.service", "memory.max", "314572800\n")
    assert process.memory_limit() == 300 * 2**20


def test_a_limit_of_version_1(groups: Path) -> None:
    (groups / "groups").write_text(V1)
    limit(groups, "memory/box", "memory.limit_in_bytes", "524288000\n")
    limit(groups, "memory", "memory.limit_in_bytes", "9223372036854771712\n")
    limit(groups, "cpu/other", "memory.limit_in_bytes", "1\n")
    assert process.memory_limit() == 500 * 2**20


def test_without_control_groups_the_machine_counts(groups: Path) -> None:
    assert process.memory_limit() > 2**28
