"""Limits on entries, cooldowns and the profit of a day: rule 8 of the engine's README."""

from tests.engine.bar_table import play


def test_rule_8_a_profit_at_its_limit_closes_everything_and_ends_the_day() -> None:
    played = play(
        """
        day 1
        1 | 100 100 100 100 | long |
        2 | 100 100 100 105 |      | long 100
        3 | 104 104 104 104 |      | end_of_data 104
        """,
        """
        day 1
        2 | 50 50 50 50 | long |
        3 | 50 55 50 55 | long | long 50
        4 | 56 56 56 56 | long | daily_profit_limit 56
        day 2
        5 | 56 56 56 56 | long |
        6 | 57 57 57 57 |      | long 57, end_of_data 57
        """,
        max_daily_profit=9.0,
    )
    assert played.rejected == {"daily_profit_limit": 1}


def test_rule_8_of_both_limits_of_a_day_the_first_one_reached_counts() -> None:
    played = play(
        """
        day 1
        1 | 100 100 100 100 | long  |
        2 | 100 110 100 110 |       | long 100
        3 | 80 80 80 80     | long  | daily_profit_limit 80
        4 | 80 80 80 80     |       |
        """,
        max_daily_profit=10.0,
        max_daily_loss=10.0,
    )
    assert played.rejected == {"daily_profit_limit": 1}


def test_rule_8_entries_of_a_day_are_counted_over_all_symbols_and_in_each() -> None:
    first = """
        day 1
        0 | 100 100 100 100 |            |
        1 | 100 100 100 100 | long       |
        2 | 100 100 100 100 | close_long | long 100
        3 | 100 100 100 100 | long       | signal 100
        4 | 100 100 100 100 |            |
        day 2
        5 | 100 100 100 100 | long       |
        6 | 100 100 100 100 |            | long 100, end_of_data 100
        """
    other = """
        day 1
        0 | 50 50 50 50 | long |
        1 | 50 50 50 50 |      | {}
        """
    both = (first, other.format("long 50, end_of_data 50"))
    assert play(*both, max_entries_a_symbol=1).rejected == {"entry_limit": 1}
    assert play(*both, max_entries_a_day=2).rejected == {"entry_limit": 1}


def test_rule_8_an_add_is_no_entry_and_a_reversal_is_one() -> None:
    played = play(
        """
        1 | 100 100 100 100 | long  |
        2 | 100 100 100 100 | long  | long 100.5
        3 | 101 101 101 101 | short |
        4 | 101 101 101 101 |       | opposite_signal 101
        """,
        max_entries=2,
        max_entries_a_day=1,
    )
    assert played.rejected == {"entry_limit": 1}


def test_rule_8_a_cooldown_counts_the_bars_of_its_symbol_over_nights() -> None:
    played = play(
        """
        day 1
        1 | 100 100 100 100 | long       |
        2 | 100 100 100 100 | close_long | long 100
        4 | 99 99 99 99     | long       | signal 99
        day 2
        7 | 99 99 99 99     | long       |
        8 | 99 99 99 99     |            | long 99, end_of_data 99
        """,
        """
        day 1
        1 | 50 50 50 50 | |
        3 | 50 50 50 50 | |
        5 | 50 50 50 50 | |
        6 | 50 50 50 50 | |
        """,
        cooldown=1,
    )
    assert played.rejected == {"cooldown": 1}


def test_rule_8_a_cooldown_refuses_the_entry_of_a_reversal_at_the_same_open() -> None:
    table = """
        1 | 100 100 100 100 | long  |
        2 | 100 100 100 100 | short | long 100
        3 | 99 99 99 99     |       | opposite_signal 99
        """
    assert play(table, cooldown=1).rejected == {"cooldown": 1}


def test_rule_8_a_cooldown_after_losses_ignores_a_trade_without_one() -> None:
    gained = """
        1 | 100 100 100 100 | long       |
        2 | 100 100 100 100 | close_long | long 100
        3 | 100 100 100 100 | long       | signal 100
        4 | 100 100 100 100 |            | long 100, end_of_data 100
        """
    assert play(gained, cooldown=5, cools_after_loss=True).rejected == {}


def test_rule_8_a_position_left_in_a_later_row_cools_from_its_last_bar() -> None:
    """It is squared off at the close of its last bar, two bars before the one that enters."""
    played = play(
        """
        day 1
        1 | 100 100 100 100 | long |
        2 | 100 100 100 100 |      | long 100, square_off 100
        day 2
        3 | 100 100 100 100 | long |
        4 | 100 100 100 100 |      | long 100, end_of_data 100
        """,
        squaring=True,
        cooldown=1,
    )
    assert played.rejected == {}
