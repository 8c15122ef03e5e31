"""Parts of a position that leave earlier: rule 3 of the engine's README."""

from typing import Any

import numpy as np
import pytest

from apps.engine.kernel import codes as c
from apps.engine.kernel import records as r
from tests.engine.bar_table import play

HALF: dict[str, Any] = {
    "size": 10.0,
    "steps": 1,
    "step_points": (4.0, 0.0, 0.0),
    "step_percent": (50.0, 0.0, 0.0),
}
TWO: dict[str, Any] = {
    "size": 10.0,
    "steps": 2,
    "step_points": (4.0, 8.0, 0.0),
    "step_percent": (50.0, 25.0, 0.0),
}


def test_rule_3_steps_leave_at_their_levels_and_one_trade_has_the_average_exit() -> None:
    played = play(
        """
        1 | 100 100 100 100 | long |
        2 | 100 104 100 103 |      | long 100, step 5 at 104
        3 | 103 109 103 108 |      | step 2 at 108
        4 | 106 106 106 106 |      | end_of_data 105.4
        """,
        **TWO,
    )
    [trade] = played.trades
    assert (trade["quantity"], trade["gross"], trade["value"]) == (10, 20 + 16 + 18, 1000)


def test_rule_3_the_stop_comes_first_and_takes_all() -> None:
    play(
        """
        1 | 100 100 100 100 | long |
        2 | 100 109 96 100  |      | long 100, stop_loss 96
        """,
        stop_points=4.0,
        **TWO,
    )


def test_rule_3_an_open_beyond_steps_fills_them_there_and_then_the_target() -> None:
    play(
        """
        1 | 100 100 100 100 | short |
        2 | 100 100 100 100 |       | short 100
        3 | 91 92 90 91     |       | step 5 at 91, step 2 at 91
        """
        + "4 | 90 90 90 90 | | end_of_data 90.7",
        **TWO,
    )
    play(
        """
        1 | 100 100 100 100 | long |
        2 | 100 100 100 100 |      | long 100
        3 | 111 111 111 111 |      | step 5 at 111, step 2 at 111, take_profit 111
        """,
        target_points=10.0,
        **TWO,
    )


def test_rule_3_a_target_takes_all_steps_at_or_beyond_it() -> None:
    play(
        """
        1 | 100 100 100 100 | long |
        2 | 100 109 100 103 |      | long 100, step 5 at 104, take_profit 106
        """,
        target_points=8.0,
        **TWO,
    )


def test_rule_3_a_step_that_is_nearer_than_the_one_before_waits_for_it() -> None:
    play(
        """
        1 | 100 100 100 100 | long |
        2 | 100 107 100 103 |      | long 100
        3 | 103 108 103 108 |      | step 5 at 108, step 2 at 108
        4 | 108 108 108 108 |      | end_of_data 108
        """,
        **{**TWO, "step_points": (8.0, 4.0, 0.0)},
    )


@pytest.mark.parametrize(
    ("moves", "low", "left"),
    [(0, 97.0, "end_of_data 102.5"), (1, 97.0, "stop_loss 102"), (1, 100.0, "stop_loss 102")],
)
def test_rule_3_the_moved_stop_is_in_force_from_the_next_bar(
    moves: int, low: float, left: str
) -> None:
    play(
        f"""
        1 | 100 100 100 100 | long |
        2 | 100 104 99 103  |      | long 100, step 5 at 104
        3 | 101 101 {low} 101 |    | {left}
        """,
        stop_points=4.0,
        step_moves_stop=(moves, 0, 0),
        **HALF,
    )


def test_rule_3_a_moved_stop_never_loosens_a_trailing_one() -> None:
    play(
        """
        1 | 100 100 100 100 | long |
        2 | 100 104 100 104 |      | long 100, step 5 at 104
        3 | 104 104 102 103 |      | trailing_stop 103.5
        """,
        trail_points=1.0,
        step_moves_stop=(1, 0, 0),
        **HALF,
    )


def test_rule_3_a_step_of_less_than_a_lot_counts_as_taken_and_moves_the_stop() -> None:
    play(
        """
        1 | 100 100 100 100 | long |
        2 | 100 104 100 104 |      | long 100
        3 | 104 108 104 108 |      | step 1 at 108
        4 | 99 99 99 99     |      | stop_loss 103.5
        """,
        **{**TWO, "size": 2.0, "step_percent": (25.0, 50.0, 0.0)},
        step_moves_stop=(1, 0, 0),
    )


def test_rule_7_after_the_first_step_nothing_is_added() -> None:
    played = play(
        """
        1 | 100 100 100 100 | long |
        2 | 100 104 100 104 | long | long 100, step 5 at 104
        3 | 104 104 104 104 |      | end_of_data 104
        """,
        max_entries=3,
        **HALF,
    )
    assert played.rejected == {}


def test_rule_12_in_the_bar_of_an_order_a_step_counts_if_the_bar_closes_there() -> None:
    table = """
        1 | 100 100 100 100    | long |
        2 | 101 107 100 {close} |      | long 100{step}
        3 | 103 103 103 103    |      | end_of_data {exit}
        """
    order: dict[str, Any] = {"order_by": c.AT_LIMIT}
    play(table.format(close=103, step="", exit=103), **order, **HALF)
    play(table.format(close=104, step=", step 5 at 104", exit=103.5), **order, **HALF)


def test_rule_10_parts_of_one_day_pay_one_depository_charge() -> None:
    rates = np.zeros(1, r.RATE)
    rates["depository"], rates["brokerage_cap"] = 13.0, np.inf
    played = play(
        """
        day 1
        1 | 100 100 100 100 | long |
        2 | 100 100 100 100 |      | long 100
        day 2
        3 | 100 104 100 104 |      | step 5 at 104
        4 | 104 108 104 108 |      | step 2 at 108
        day 3
        5 | 108 108 108 108 |      | end_of_data 106
        """,
        rates=rates,
        **TWO,
    )
    assert played.trades["charges"].tolist() == [26]


def test_rule_22_a_step_waits_at_a_locked_price() -> None:
    played = play(
        """
        1 | 100 100 100 100 | long  |
        2 | 100 100 100 100 |       | long 100
        3 | 105 105 105 105 | lower |
        4 | 106 106 106 106 |       | step 5 at 106
        5 | 106 106 106 106 |       | end_of_data 106
        """,
        **HALF,
    )
    assert played.waited == [0, 0]
