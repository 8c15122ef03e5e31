"""Rule 12: entries by limit and stop orders, as tables of bars."""

from typing import Any

import pytest

from apps.engine.kernel import codes as c
from tests.engine.bar_table import play

LIMIT: dict[str, Any] = {"order_by": c.AT_LIMIT, "order_offset": 0.01}
STOP: dict[str, Any] = {"order_by": c.AT_STOP, "order_offset": 0.01}


def test_a_limit_buys_below_the_close_and_sells_above_it() -> None:
    play(
        """
        1 | 100 100 100 100 | long      |
        2 | 100 100 99 99.5 |           | long 99
        3 | 100 100 100 100 | exit_long |
        4 | 100 100 100 100 | short     | opposite_signal 100
        5 | 100 101 100 100 |           | short 101
        6 | 100 100 100 100 |           | end_of_data 100
        """,
        **LIMIT,
    )


def test_a_stop_buys_above_the_close_and_sells_below_it() -> None:
    play(
        """
        1 | 100 100 100 100 | long      |
        2 | 100 101 100 100 |           | long 101
        3 | 100 100 100 100 | exit_long |
        4 | 100 100 100 100 | short     | opposite_signal 100
        5 | 100 100 99 100  |           | short 99
        6 | 100 100 100 100 |           | end_of_data 100
        """,
        **STOP,
    )


@pytest.mark.parametrize(
    ("order", "bar"), [(LIMIT, "100 105 99.05 100"), (STOP, "100 100.95 90 100")]
)
def test_an_order_lives_for_one_bar_and_is_rejected_if_it_is_not_reached(
    order: dict[str, Any], bar: str
) -> None:
    played = play(
        f"""
        1 | 100 100 100 100 | long |
        2 | {bar} |  |
        3 | 100 110 90 100  |      |
        """,
        **order,
    )
    assert played.rejected == {"limit_not_reached": 1}


def test_an_open_past_the_price_is_the_fill_and_begins_a_normal_bar() -> None:
    """Stop and target are both checked, the stop first."""
    for order, opens in ((LIMIT, "98"), (STOP, "102")):
        price = int(opens)
        play(
            f"""
            1 | 100 100 100 100 | long |
            2 | {opens} {price + 3} {price - 1} {price} | | long {opens}, take_profit {price + 2}
            3 | 100 100 100 100 | |
            """,
            **order,
            stop_points=2.0,
            target_points=2.0,
        )


def test_prices_are_rounded_a_limits_in_our_favour_a_stops_away() -> None:
    """1 % off 100.55 is 99.5445 and 101.5555; the tick is 0.05."""
    for order, marks, fill in (
        (LIMIT, "long", 99.5),
        (LIMIT, "short", 101.6),
        (STOP, "long", 101.6),
        (STOP, "short", 99.5),
    ):
        play(
            f"""
            1 | 100.55 100.55 100.55 100.55 | {marks} |
            2 | 100.55 105 95 100.55        |         | {marks} {fill}
            3 | 100.55 100.55 100.55 100.55 |         | end_of_data 100.55
            """,
            **order,
        )


def test_in_the_bar_of_the_fill_the_stop_counts_first_at_its_own_level() -> None:
    play(
        """
        1 | 100 100 100 100   | long |
        2 | 100 104 96 103    |      | long 99, stop_loss 97
        3 | 100 100 100 100   |      |
        """,
        **LIMIT,
        stop_points=2.0,
        target_points=2.0,
    )


def test_in_the_bar_of_the_fill_a_close_beyond_the_target_exits() -> None:
    play(
        """
        1 | 100 100 100 100   | long |
        2 | 100 104 99 103    |      | long 99, take_profit 101
        3 | 100 100 100 100   | long |
        4 | 100 104 99 101    |      | long 99, take_profit 101
        5 | 100 100 100 100   | long |
        6 | 100 104 99 100.95 |      | long 99
        7 | 100 101 100 100   |      | take_profit 101
        """,
        **LIMIT,
        stop_points=2.0,
        target_points=2.0,
    )
    play(
        """
        1 | 100 100 100 100   | short |
        2 | 100 101 96 97     |      | short 99, take_profit 97
        3 | 100 100 100 100   |      |
        """,
        **STOP,
        target_points=2.0,
    )


def test_the_trail_starts_at_the_fill_and_skips_its_bar() -> None:
    """The high of 110 came before the position: the stop follows from 101 and then from 103."""
    play(
        """
        1 | 100 100 100 100   | long |
        2 | 100 110 95 102    |      | long 101
        3 | 102 102 98 102    |      | trailing_stop 99
        4 | 102 102 102 102   |      |
        """,
        **STOP,
        trail_points=2.0,
    )
    play(
        """
        1 | 100 100 100 100   | long |
        2 | 100 110 100 102   |      | long 101
        3 | 102 103 100.5 102 |      |
        4 | 102 102 101 101   |      | trailing_stop 101
        """,
        **STOP,
        trail_points=2.0,
    )


def test_slippage_works_against_stops_and_not_against_limits() -> None:
    play(
        """
        1 | 100 100 100 100 | long |
        2 | 98 98 98 98     |      | long 98
        3 | 98 98 98 98     |      | end_of_data 98
        """,
        **LIMIT,
        slippage=0.01,
    )
    play(
        """
        1 | 100 100 100 100 | long |
        2 | 100 102 100 102 |      | long 102.01
        3 | 102 102 102 102 |      | end_of_data 102
        """,
        **STOP,
        slippage=0.01,
    )


def test_a_stop_that_slippage_puts_beyond_the_order_is_filled_at_the_order() -> None:
    """The entry at 101 with 5 % is 106.05; the stop at 104.05 is left at 101 less 5 %."""
    play(
        """
        1 | 100 100 100 100 | long |
        2 | 100 102 100 102 |      | long 106.05, stop_loss 95.95
        3 | 102 102 102 102 |      |
        """,
        **STOP,
        stop_points=2.0,
        slippage=0.05,
    )


def test_an_add_that_lies_beyond_the_stop_comes_too_late() -> None:
    """On the way down to 96 the stop at 96.5 is met first."""
    played = play(
        """
        1 | 100 100 100 100 | long |
        2 | 98 98 98 98     | long | long 98
        3 | 98 98 95 97     |      | stop_loss 96.5
        4 | 99 99 99 99     |      |
        """,
        order_by=c.AT_LIMIT,
        order_offset=0.02,
        max_entries=2,
        stop_points=1.5,
    )
    assert played.rejected == {"limit_not_reached": 1}


def test_an_add_that_lies_beyond_the_target_comes_too_late() -> None:
    """On the way up to 103.55 the target at 103 is met first."""
    played = play(
        """
        1 | 100 100 100 100         | long |
        2 | 100 102 100 101.5       | long | long 102
        3 | 101.6 104 101.5 101.5   |      | take_profit 103
        4 | 100 100 92 92           |      |
        """,
        order_by=c.AT_STOP,
        order_offset=0.02,
        max_entries=2,
        target_points=1.0,
    )
    assert played.rejected == {"limit_not_reached": 1}


def test_the_bar_of_an_add_leaves_the_target_to_the_next() -> None:
    """The fills are at 99 and 98.5; the high of 101.5 may have come before the second."""
    play(
        """
        1 | 100 100 100 100     | long |
        2 | 99 100 99 99.5      | long | long 98.75
        3 | 99.5 101.5 98 100   |      |
        4 | 100 101 100 101     |      | take_profit 100.75
        """,
        order_by=c.AT_LIMIT,
        order_offset=0.01,
        max_entries=2,
        target_points=2.0,
    )


def test_a_position_filled_inside_the_last_bar_ends_with_the_session() -> None:
    play(
        """
        day 1
        1 | 100 100 100 100 | long |
        2 | 100 101 99 100  | last | long 99, square_off 100
        day 2
        3 | 100 100 100 100 |      |
        """,
        **LIMIT,
        squaring=True,
    )


def test_rule_12_the_position_limit_is_asked_before_whether_an_order_is_reached() -> None:
    """The second limit at 50 is not reached, the third is: neither has room beside the first."""
    played = play(
        """
        1 | 100 100 100 100 | long |
        2 | 100 100 100 100 |      | long 100, end_of_data 100
        """,
        """
        1 | 50 50 50 50 | long |
        2 | 55 56 54 55 |      |
        """,
        """
        1 | 50 50 50 50 | long |
        2 | 50 50 50 50 |      |
        """,
        order_by=c.AT_LIMIT,
        max_positions=1,
    )
    assert played.rejected == {"position_limit": 2}
