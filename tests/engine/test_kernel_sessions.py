"""The end of a day: the daily loss and the square-off, rules 8 and 9 of the engine's README."""

import pytest

from apps.engine.kernel.codes import AT_LIMIT, AT_MARKET, AT_STOP
from tests.engine.bar_table import play


def test_rule_8_a_breach_closes_every_position_at_its_next_open() -> None:
    play(
        """
        day 1
        1 | 100 100 100 100 | long |
        2 | 100 100 100 100 |      | long 100
        3 | 90 90 90 90     |      |
        4 | 91 91 91 91     |      | daily_loss_limit 91
        """,
        """
        day 1
        1 | 50 50 50 50 | long |
        2 | 50 50 50 50 |      | long 50
        3 | 50 50 50 50 |      |
        day 2
        6 | 52 52 52 52 |      | daily_loss_limit 52
        """,
        max_daily_loss=10.0,
    )


def test_rule_8_a_loss_under_the_limit_is_not_a_breach() -> None:
    play(
        """
        1 | 100 100 100 100     | long |
        2 | 100 100 100 100     |      | long 100
        3 | 90.05 90.05 90.05 90.05 |  |
        4 | 91 91 91 91         |      | end_of_data 91
        """,
        max_daily_loss=10.0,
    )


def test_rule_8_a_loss_of_just_the_limit_is_a_breach_in_decimals() -> None:
    """38 shares lose 53.20 from 107.10 to 105.70; in binary it is 53.199999999997."""
    play(
        """
        1 | 107.1 107.1 107.1 107.1 | long |
        2 | 107.1 107.1 107.1 107.1 |      | long 107.1
        3 | 105.7 105.7 105.7 105.7 |      |
        4 | 106 106 106 106         |      | daily_loss_limit 106
        """,
        size=38.0,
        cash=100_000.0,
        max_daily_loss=53.2,
    )


def test_rule_8_a_loss_above_the_stop_that_is_made_good_later_is_a_breach() -> None:
    play(
        """
        1 | 100 100 100 100 | long |
        2 | 100 100 100 100 |      | long 100
        3 | 99 100 89 90    |      |
        4 | 91 120 91 120   |      | daily_loss_limit 91
        5 | 120 120 120 120 |      |
        """,
        stop_points=12.0,
        max_daily_loss=10.0,
    )
    play(
        """
        1 | 100 100 100 100 | short |
        2 | 100 100 100 100 |       | short 100
        3 | 101 111 100 110 |       |
        4 | 109 109 80 80   |       | daily_loss_limit 109
        5 | 80 80 80 80     |       |
        """,
        stop_points=12.0,
        max_daily_loss=10.0,
    )


def test_rule_8_entries_of_the_breach_close_and_later_that_day_are_dropped() -> None:
    played = play(
        """
        day 1
        1 | 100 100 100 100 | long |
        2 | 100 100 100 100 |      | long 100
        3 | 90 90 90 90     | long |
        4 | 90 90 90 90     | long | daily_loss_limit 90
        5 | 90 90 90 90     |      |
        day 2
        6 | 90 90 90 90     | long |
        7 | 90 90 90 90     |      | long 90, end_of_data 90
        """,
        max_daily_loss=10.0,
    )
    assert played.rejected == {"daily_loss_limit": 1}


def test_rule_7_a_position_ignores_signals_at_a_breach_too() -> None:
    """The first ignores the opposite signal, by choice; the second its own direction, without an
    add left.

    The third ignores that too, signalled before the breach in the row that was its last of the day.
    """
    played = play(
        """
        day 1
        1 | 100 100 100 100 | long  |
        2 | 100 100 100 100 |       | long 100
        3 | 90 90 90 90     | short |
        4 | 90 90 90 90     |       | daily_loss_limit 90
        """,
        """
        day 1
        1 | 50 50 50 50 | short |
        2 | 50 50 50 50 |       | short 50
        3 | 50 50 50 50 | short |
        4 | 50 50 50 50 |       | daily_loss_limit 50
        """,
        """
        day 1
        1 | 50 50 50 50 | long |
        2 | 50 50 50 50 | long | long 50
        4 | 50 50 50 50 |      | daily_loss_limit 50
        """,
        max_daily_loss=10.0,
        reverse=False,
    )
    assert played.rejected == {}


def test_rule_8_an_add_that_is_left_is_refused_at_a_breach() -> None:
    played = play(
        """
        day 1
        1 | 100 100 100 100 | long |
        2 | 100 100 100 100 |      | long 100
        3 | 90 90 90 90     | long |
        4 | 90 90 90 90     |      | daily_loss_limit 90
        """,
        max_daily_loss=10.0,
        max_entries=2,
    )
    assert played.rejected == {"daily_loss_limit": 1}


def test_rule_8_a_breach_at_the_days_last_close_enters_nothing_next_morning() -> None:
    played = play(
        """
        day 1
        1 | 100 100 100 100 | long  |
        2 | 100 100 100 100 |       | long 100
        3 | 90 90 90 90     | short |
        day 2
        4 | 90 90 90 90     |       | daily_loss_limit 90
        """,
        """
        day 1
        3 | 50 50 50 50 | long |
        day 2
        4 | 50 50 50 50 |      |
        """,
        max_daily_loss=10.0,
    )
    assert played.rejected == {"daily_loss_limit": 2}


def test_rule_8_an_entry_that_waits_for_a_later_day_is_dropped_too() -> None:
    played = play(
        """
        day 1
        1 | 100 100 100 100 | long |
        2 | 100 100 100 100 |      | long 100
        3 | 90 90 90 90     |      |
        4 | 90 90 90 90     |      | daily_loss_limit 90
        """,
        """
        day 1
        2 | 50 50 50 50 | long |
        day 2
        6 | 50 50 50 50 |      |
        7 | 50 50 50 50 |      |
        """,
        max_daily_loss=10.0,
    )
    assert played.rejected == {"daily_loss_limit": 1}


def test_rule_8_the_loss_counts_from_the_last_mark_before_the_session() -> None:
    """The position lost 8 yesterday and 8 today: no day lost 10."""
    play(
        """
        day 1
        1 | 100 100 100 100 | long |
        2 | 100 100 92 92   |      | long 100
        day 2
        3 | 84 84 84 84     |      |
        4 | 84 84 84 84     |      | end_of_data 84
        """,
        max_daily_loss=10.0,
    )
    play(
        """
        day 1
        1 | 100 100 100 100 | long |
        2 | 100 100 92 92   |      | long 100
        day 2
        3 | 82 82 82 82     |      |
        4 | 83 83 83 83     |      | daily_loss_limit 83
        """,
        max_daily_loss=10.0,
    )


def test_rule_9_positions_are_squared_off_at_the_first_late_open() -> None:
    play(
        """
        1 | 100 100 100 100 | long |
        2 | 100 100 100 100 |      | long 100
        3 | 103 104 102 103 | late | square_off 103
        4 | 104 104 104 104 | late last |
        """,
        stop_rate=0.01,
    )


def test_rule_9_an_entry_that_would_start_late_is_outside_the_session() -> None:
    played = play(
        """
        day 1
        1 | 100 100 100 100 | long      |
        2 | 100 100 100 100 | late      |
        3 | 100 100 100 100 | late last long |
        day 2
        4 | 101 101 101 101 |           | long 101
        5 | 102 102 102 102 | late last | square_off 102
        """
    )
    assert played.rejected == {"outside_session": 1}


def test_rule_9_an_open_position_is_closed_at_the_sessions_last_close() -> None:
    play(
        """
        1 | 100 100 100 100 | long |
        2 | 100 102 99 101  | last | long 100, square_off 101
        """
    )


def test_rule_9_stop_and_target_of_the_last_bar_come_before_its_close() -> None:
    play(
        """
        1 | 100 100 100 100 | long |
        2 | 100 102 98 101  | last | long 100, stop_loss 99
        """,
        stop_rate=0.01,
    )


def test_rule_9_a_session_without_a_last_bar_is_squared_off_at_its_last_close() -> None:
    """The trade carries the time of that close; the signal of that close trades next morning."""
    played = play(
        """
        day 1
        1 | 100 100 100 100 | long |
        2 | 100 103 100 102 | long | long 100, square_off 102
        day 2
        3 | 90 91 89 90     |      | long 90
        4 | 90 90 90 90     | late | square_off 90
        """,
        squaring=True,
    )
    assert played.trades["exit_time"].tolist() == [120, 240]
    assert played.curve == [1_000_000, 1_000_002, 1_000_002, 1_000_002]


def test_rule_9_an_entry_of_the_sessions_last_bar_is_dropped_at_its_close() -> None:
    """The entry is dropped by the bar's end, whether another bar follows or not."""
    table = """
        day 1
        1 | 100 100 100 100 | long      |
        2 | 100 100 100 100 | last long | long 100, square_off 100
        """
    next_day = """
        day 2
        3 | 101 101 101 101 | long      |
        4 | 102 102 102 102 | last      | long 102, square_off 102
        """
    for tables in (table, table + next_day):
        played = play(tables, within_session=True)
        assert played.rejected == {"after_session": 1}


@pytest.mark.parametrize("order", [AT_MARKET, AT_LIMIT, AT_STOP])
def test_rule_9_an_entry_never_waits_for_a_later_session(order: int) -> None:
    """The entry comes from the symbol's final bar of its session, which has no last bar."""
    played = play(
        """
        day 1
        1 | 100 100 100 100 | long |
        day 2
        4 | 100 100 100 100 |      |
        """,
        """
        day 1
        1 | 50 50 50 50 | |
        2 | 50 50 50 50 | |
        day 2
        3 | 50 50 50 50 | |
        """,
        squaring=True,
        within_session=True,
        order_by=order,
    )
    assert played.rejected == {"after_session": 1}
    assert not len(played.trades)


def test_rule_9_an_ignored_entry_at_the_end_of_a_session_is_not_rejected() -> None:
    played = play(
        """
        day 1
        1 | 100 100 100 100 | long  |
        2 | 100 100 100 102 | long  | long 100, square_off 102
        day 2
        3 | 90 91 89 90     | short |
        4 | 90 91 89 90     |       | short 90, square_off 90
        day 3
        5 | 80 80 80 80     |       |
        """,
        squaring=True,
        within_session=True,
    )
    assert played.rejected == {}


def test_rule_9_an_opposite_entry_at_the_end_of_a_session_is_refused() -> None:
    played = play(
        """
        day 1
        1 | 100 100 100 100 | long  |
        2 | 100 100 100 102 | short | long 100, square_off 102
        day 2
        3 | 90 91 89 90     |       |
        """,
        squaring=True,
        within_session=True,
    )
    assert played.rejected == {"after_session": 1}


def test_rule_9_a_breach_of_the_daily_loss_comes_before_the_end_of_the_session() -> None:
    played = play(
        """
        day 1
        1 | 100 100 100 100 | long      |
        2 | 100 100 80 80   | last long | long 100, square_off 80
        """,
        within_session=True,
        max_daily_loss=10.0,
    )
    assert played.rejected == {"daily_loss_limit": 1}


def test_rule_9_each_symbol_waits_for_its_own_first_later_row() -> None:
    play(
        """
        day 1
        1 | 100 100 100 100 | long |
        2 | 100 100 100 102 |      | long 100, square_off 102
        day 2
        5 | 90 91 89 90     |      |
        """,
        """
        day 1
        1 | 50 50 50 50 |           |
        day 2
        4 | 50 50 50 50 |           |
        5 | 50 50 50 50 | late last |
        """,
        squaring=True,
    )


def test_rule_9_square_offs_are_market_fills_and_slip() -> None:
    play(
        """
        1 | 100 100 100 100 | long      |
        2 | 100 100 100 100 | last long | long 101, square_off 99
        3 | 100 100 100 100 |           | long 101
        4 | 110 110 110 110 | late      | square_off 108.9
        """,
        slippage=0.01,
    )


def test_positions_are_squared_off_only_if_the_plan_says_so() -> None:
    play(
        """
        day 1
        1 | 100 100 100 100 | long |
        2 | 100 100 100 100 |      | long 100
        day 2
        3 | 101 101 101 101 |      | end_of_data 101
        """
    )
