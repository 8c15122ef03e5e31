"""Four tiny paths on which backtesting engines disagree, with the result of this one.

Each is flat at 100, has a signal at the close of bar 1, and a stop 1 % and a target 2 % away from
the fill.
"""

from tests.engine.bar_table import play


def test_path_a_a_stop_in_the_entry_bar_counts() -> None:
    play(
        """
        1 | 100 100 100 100     | long |
        2 | 100 100.5 98.5 100  |      | long 100, stop_loss 99
        3 | 100.2 100.2 100.2 100.2 |  |
        """,
        stop_rate=0.01,
        target_rate=0.02,
    )


def test_path_a_for_a_short() -> None:
    play(
        """
        1 | 100 100 100 100     | short |
        2 | 100 101.5 99.5 100  |       | short 100, stop_loss 101
        3 | 99.8 99.8 99.8 99.8 |       |
        """,
        stop_rate=0.01,
        target_rate=0.02,
    )


def test_path_b_where_both_are_touched_the_stop_was_first() -> None:
    play(
        """
        1 | 100 100 100 100 | long |
        2 | 100 100 100 100 |      | long 100
        3 | 100 103 98 100  |      | stop_loss 99
        """,
        stop_rate=0.01,
        target_rate=0.02,
    )


def test_path_b_for_a_short() -> None:
    play(
        """
        1 | 100 100 100 100 | short |
        2 | 100 100 100 100 |       | short 100
        3 | 100 102 97 100  |       | stop_loss 101
        """,
        stop_rate=0.01,
        target_rate=0.02,
    )


def test_path_c_an_open_beyond_the_target_is_filled_there_at_any_low() -> None:
    play(
        """
        1 | 100 100 100 100 | long |
        2 | 100 100 100 100 |      | long 100
        3 | 103 103 98 100  |      | take_profit 103
        """,
        stop_rate=0.01,
        target_rate=0.02,
    )


def test_path_c_for_a_short() -> None:
    play(
        """
        1 | 100 100 100 100 | short |
        2 | 100 100 100 100 |       | short 100
        3 | 97 102 97 100   |       | take_profit 97
        """,
        stop_rate=0.01,
        target_rate=0.02,
    )


def test_path_d_an_open_beyond_the_stop_is_filled_there() -> None:
    play(
        """
        1 | 100 100 100 100 | long |
        2 | 100 100 100 100 |      | long 100
        3 | 97 98 96 97     |      | stop_loss 97
        """,
        stop_rate=0.01,
        target_rate=0.02,
    )


def test_path_d_for_a_short() -> None:
    play(
        """
        1 | 100 100 100 100 | short |
        2 | 100 100 100 100 |       | short 100
        3 | 103 104 102 103 |       | stop_loss 103
        """,
        stop_rate=0.01,
        target_rate=0.02,
    )
