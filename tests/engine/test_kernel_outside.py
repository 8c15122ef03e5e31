"""Rule 20: what is asked of a simulation from the outside, between two rows, as tables of bars."""

import pytest

from tests.engine.bar_table import play


@pytest.mark.parametrize("reason", ["kill_switch", "stale_data"])
def test_while_entries_are_blocked_none_is_traded_and_exits_go_on(reason: str) -> None:
    played = play(
        f"""
        1 | 100 100 100 100 | long           |
        2 | 100 100 100 100 |                | long 100
        3 | 100 100 100 100 | {reason}       |
        4 | 100 100 97 99   | long           | stop_loss 98
        5 | 99 99 99 99     | short          |
        6 | 99 99 99 99     | let long       |
        7 | 99 99 99 99     |                | long 99
        8 | 99 99 99 99     |                | end_of_data 99
        """,
        stop_rate=0.02,
    )
    assert played.rejected == {reason: 2}


def test_an_entry_that_waits_is_dropped_when_entries_are_blocked() -> None:
    played = play(
        """
        1 | 100 100 100 100 | long        |
        2 | 100 100 100 100 | kill_switch |
        3 | 100 100 100 100 | let         |
        """,
    )
    assert played.rejected == {"kill_switch": 1}


def test_what_would_reverse_a_position_closes_it_and_is_refused() -> None:
    played = play(
        """
        1 | 100 100 100 100 | long              |
        2 | 100 100 100 100 |                   | long 100
        3 | 100 100 100 100 | kill_switch short |
        4 | 101 101 101 101 |                   | opposite_signal 101
        """,
    )
    assert played.rejected == {"kill_switch": 1}


def test_a_reversal_that_waits_when_entries_are_blocked_still_closes() -> None:
    played = play(
        """
        1 | 100 100 100 100 | long        |
        2 | 100 100 100 100 | short       | long 100
        3 | 101 101 101 101 | kill_switch | opposite_signal 101
        """,
    )
    assert played.rejected == {"kill_switch": 1}


def test_rule_7_what_would_be_ignored_is_not_refused() -> None:
    played = play(
        """
        1 | 100 100 100 100 | long             |
        2 | 100 100 100 100 |                  | long 100
        3 | 100 100 100 100 | kill_switch long |
        4 | 100 100 100 100 | short            |
        5 | 100 100 100 100 |                  | end_of_data 100
        """,
        reverse=False,
    )
    assert not played.rejected


def test_what_is_asked_to_close_is_closed_at_the_next_open_with_slippage() -> None:
    play(
        """
        1 | 100 100 100 100 | long |
        2 | 100 100 100 100 |      | long 110
        3 | 100 100 99 100  | stop | stopped 90
        4 | 100 100 100 100 |      |
        """,
        slippage=0.1,
    )


def test_what_expires_is_closed_at_its_last_close_without_slippage_and_waits_for_nothing() -> None:
    played = play(
        """
        1 | 100 100 100 100 | long   |
        2 | 100 100 100 103 | short  | long 110, expiry 103
        3 | 200 200 200 200 | expire |
        """,
        slippage=0.1,
    )
    assert played.trades["exit_time"].tolist() == [2 * 60]
    assert not played.rejected
