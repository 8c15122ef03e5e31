"""The states of an algorithm, the transitions between them, and the numbers of its names."""

import pytest

from apps.algorithms.algorithm_names import copy_of, number_in, numbered
from apps.algorithms.lifecycle import (
    ALGORITHM_TRANSITIONS,
    LISTED_STATUSES,
    AlgorithmStatus,
    after_save,
    is_editable,
)


@pytest.mark.parametrize(
    ("before", "complete", "transition"),
    [
        ("draft", True, "complete"),
        ("draft", False, None),
        ("stopped", True, None),
        ("stopped", False, "reopen"),
        ("error", True, None),
        ("error", False, None),
    ],
)
def test_a_save_leads_where_the_configuration_says(
    before: str, complete: bool, transition: str | None
) -> None:
    assert after_save(AlgorithmStatus(before), complete=complete) == transition


def test_only_a_stopped_algorithm_can_be_edited() -> None:
    assert {status for status in AlgorithmStatus if is_editable(status)} == {
        "draft",
        "stopped",
        "error",
    }


def test_no_move_leads_out_of_the_archive() -> None:
    assert not any(
        AlgorithmStatus.ARCHIVED in sources for sources, _ in ALGORITHM_TRANSITIONS.values()
    )


def test_a_list_is_filtered_by_every_status_but_the_archive() -> None:
    assert set(LISTED_STATUSES) == {"draft", "active", "paused", "stopped", "error"}


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("Algorithm #1", 1),
        ("Algorithm #120", 120),
        ("Algorithm #0", 0),
        ("Algorithm #01", 0),
        ("algorithm #5", 0),
        ("Algorithm #5 (copy)", 0),
        ("Algorithm #٥", 0),
        ("", 0),
        ("Algorithm #" + "9" * 50, 0),
    ],
)
def test_the_number_of_a_name(name: str, number: int) -> None:
    assert number_in(name) == number
    assert number == 0 or numbered(number) == name


@pytest.mark.parametrize(
    ("name", "copy"),
    [
        ("Cross", "Cross (copy)"),
        ("Cross (copy)", "Cross (copy) (copy)"),
        ("x" * 93, "x" * 93 + " (copy)"),
        ("x" * 100, "x" * 93 + " (copy)"),
        ("x" * 92 + " yz", "x" * 92 + " (copy)"),
    ],
)
def test_the_name_of_a_copy(name: str, copy: str) -> None:
    assert copy_of(name) == copy
    assert len(copy) <= 100
