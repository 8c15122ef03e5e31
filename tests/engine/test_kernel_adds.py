"""Adds by distance from the last fill: rule 7 of the engine's README."""

from typing import Any

import pytest

from apps.engine.kernel import codes as c
from tests.engine.bar_table import play

UP: dict[str, Any] = {"max_entries": 3, "add_direction": 1.0, "add_points": 2.0}


def test_rule_7_a_close_at_the_distance_from_the_last_fill_adds_at_the_next_open() -> None:
    played = play(
        """
        1 | 100 100 100 100 | long |
        2 | 100 103 100 101 |      | long 102
        3 | 101 102 101 102 |      |
        4 | 103 103 103 104 |      |
        5 | 103 106 103 105 |      |
        6 | 103 103 103 103 |      | end_of_data 103
        """,
        **UP,
    )
    assert played.trades["quantity"].tolist() == [3]
    assert played.trades["entry_price"].tolist() == [(100 + 103 + 103) / 3]


def test_rule_7_signals_of_the_held_side_add_nothing_and_are_not_refused() -> None:
    played = play(
        """
        1 | 100 100 100 100 | long |
        2 | 100 100 100 100 | long | long 100
        3 | 100 100 100 100 |      | end_of_data 100
        """,
        **UP,
    )
    assert played.rejected == {}


def test_rule_7_an_add_never_enters_anew_and_a_signal_at_that_open_does() -> None:
    play(
        """
        1 | 100 100 100 100 | long |
        2 | 100 102 100 102 |      | long 100
        3 | 97 97 97 97     |      | stop_loss 97
        4 | 97 97 97 97     |      |
        """,
        stop_points=2.0,
        **UP,
    )
    play(
        """
        1 | 100 100 100 100 | long |
        2 | 100 102 100 102 | long | long 100
        3 | 97 97 97 97     |      | stop_loss 97, long 97
        4 | 97 97 97 97     |      | end_of_data 97
        """,
        stop_points=2.0,
        **UP,
    )


@pytest.mark.parametrize("direction", ["long", "short"])
def test_rule_7_an_add_against_a_position_is_reached_by_a_touch(direction: str) -> None:
    closes = (100, 98, 96) if direction == "long" else (100, 102, 104)
    first, second, third = closes
    average = (first + second) / 2
    play(
        f"""
        1 | {first} {first} {first} {first}     | {direction} |
        2 | {first} {max(closes[:2])} {min(closes[:2])} {second} | | {direction} {average:g}
        3 | {second} {max(closes[1:])} {min(closes[1:])} {third} | |
        4 | {third} {third} {third} {third}     |             | end_of_data {third}
        """,
        max_entries=2,
        add_direction=-1.0,
        add_points=2.0,
    )


def test_rule_7_a_percentage_is_of_the_last_fill_after_slippage() -> None:
    play(
        """
        1 | 100 100 100 100       | long |
        2 | 100 103.02 100 103.01 |      | long 103.53
        3 | 102 103.02 102 103.02 |      |
        4 | 103 103 103 103       |      | end_of_data 103
        """,
        max_entries=2,
        add_direction=1.0,
        add_rate=0.01,
        slippage=0.02,
    )


def test_rule_7_a_blocked_add_is_not_counted_and_looked_at_again() -> None:
    played = play(
        """
        1 | 100 100 100 100 | long        |
        2 | 100 102 100 102 |             | long 101.5
        3 | 102 102 102 102 | kill_switch |
        4 | 103 103 103 103 | let         |
        5 | 103 103 103 103 |             | end_of_data 103
        """,
        max_entries=2,
        add_direction=1.0,
        add_points=2.0,
    )
    assert played.rejected == {}


def test_rule_7_a_limit_order_of_an_add_waits_during_the_next_bar_alone() -> None:
    played = play(
        """
        1 | 100 100 100 100 | long |
        2 | 100 102 98.5 102 |      | long 100.475
        3 | 102 103 102 103 |      |
        4 | 103 103 101 103 |      |
        5 | 103 103 103 103 |      | end_of_data 103
        """,
        order_by=c.AT_LIMIT,
        order_offset=0.01,
        max_entries=2,
        add_direction=1.0,
        add_points=2.0,
    )
    assert played.rejected == {"limit_not_reached": 1}


def test_rule_8_adds_are_no_entries_of_the_day() -> None:
    played = play(
        """
        1 | 100 100 100 100 | long |
        2 | 100 102 100 102 |      | long 101
        3 | 102 102 102 102 |      | end_of_data 102
        """,
        max_entries_a_day=1,
        **UP,
    )
    assert played.trades["quantity"].tolist() == [2]
