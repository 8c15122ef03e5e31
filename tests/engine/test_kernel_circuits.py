"""Locked prices: rule 22 of the engine's README."""

from typing import Any

import pytest

from apps.engine.kernel.codes import AT_LIMIT, AT_MARKET, AT_STOP
from tests.engine.bar_table import play


@pytest.mark.parametrize("order", [AT_MARKET, AT_LIMIT, AT_STOP])
def test_no_sale_at_the_upper_and_no_purchase_at_the_lower_circuit(order: int) -> None:
    bought = """
        1 | 110 110 110 110 | long |
        2 | 110 110 110 110 | {}   | {}
        3 | 110 110 110 110 |      | {}
        """
    sold = bought.replace("| long", "| short")
    for table, flag in ((bought, "upper"), (sold, "lower")):
        played = play(table.format(flag, "", ""), order_by=order)
        assert (played.rejected, len(played.trades)) == ({"circuit": 1}, 0)
    play(bought.format("lower", "long 110", "end_of_data 110"), order_by=order)
    play(sold.format("upper", "short 110", "end_of_data 110"), order_by=order)


def test_an_order_that_is_not_reached_has_no_other_reason() -> None:
    played = play(
        """
        1 | 100 100 100 100 | long  |
        2 | 110 110 110 110 | upper |
        """,
        order_by=AT_LIMIT,
    )
    assert played.rejected == {"limit_not_reached": 1}


EXITS: dict[str, tuple[str, str, dict[str, Any]]] = {
    "signal": ("close_long", "", {}),
    "opposite_signal": ("exit_long", "", {}),
    "max_holding": ("", "", {"max_holding": 2}),
    "stop_loss": ("", "", {"stop_rate": 0.02}),
    "trailing_stop": ("", "", {"trail_rate": 0.03}),
    "stopped": ("", "stop", {}),
    "daily_loss_limit": ("", "", {"max_daily_loss": 1.0}),
}


@pytest.mark.parametrize("reason", EXITS)
def test_an_exit_waits_for_the_lock_to_open(reason: str) -> None:
    """The position exits at the open that ends the lock, however far from its price."""
    signal, asked, plan = EXITS[reason]
    low = 98.9 if reason == "daily_loss_limit" else 100
    played = play(
        f"""
        1 | 100 100 100 100   | long     |
        2 | 100 101 99 100    |          | long 100
        3 | 100 100 98.5 {low} | {signal} |
        4 | 90 90 90 90       | lower {asked} |
        5 | 90 90 90 90       | lower    |
        6 | 97 98 90 95       |          | {reason} 97
        7 | 95 95 95 95       |          |
        """,
        **plan,
    )
    assert played.waited == [1, 2]


def test_a_short_waits_at_the_upper_and_leaves_at_the_lower() -> None:
    table = """
        1 | 100 100 100 100 | short |
        2 | 100 100 100 100 |       | short 100
        3 | 110 110 110 110 | {}    | {}
        4 | 112 112 112 112 |       | {}
        """
    waited = play(table.format("upper", "", "stop_loss 112"), stop_rate=0.05)
    assert waited.waited == [1, 1]
    left = play(table.format("lower", "stop_loss 110", ""), stop_rate=0.05)
    assert left.waited == [0, 0]


def test_a_target_waits_as_a_limit_order() -> None:
    played = play(
        """
        1 | 100 100 100 100 | long  |
        2 | 100 100 100 100 |       | long 100
        3 | 112 112 112 112 | lower |
        4 | 109 109 108 108 |       |
        5 | 108 111 108 108 |       | take_profit 110
        """,
        target_rate=0.10,
    )
    assert played.waited == [1, 1]


def test_slippage_works_against_an_exit_that_waited() -> None:
    play(
        """
        1 | 100 100 100 100 | long  |
        2 | 100 100 100 100 |       | long 101
        3 | 90 90 90 90     | lower |
        4 | 88 88 88 88     |       | stop_loss 87.12
        """,
        stop_rate=0.05,
        slippage=0.01,
    )


def test_the_reason_is_that_of_the_first_exit_that_waited() -> None:
    played = play(
        """
        1 | 100 100 100 100 | long             |
        2 | 100 100 100 100 |                  | long 100
        3 | 90 90 90 90     | lower            |
        4 | 90 90 90 90     | lower close_long |
        5 | 91 91 91 91     | stop             | stop_loss 91
        """,
        stop_rate=0.05,
        max_daily_loss=5.0,
    )
    assert played.waited == [1, 2]


def test_a_reversal_waits_with_its_exit_and_its_entry_is_refused() -> None:
    played = play(
        """
        1 | 100 100 100 100 | long  |
        2 | 100 100 100 100 | short | long 100
        3 | 90 90 90 90     | lower |
        4 | 91 91 91 91     |       | opposite_signal 91
        """
    )
    assert (played.rejected, played.waited) == ({"circuit": 1}, [1, 1])


def test_adds_stop_while_an_exit_waits_and_the_open_after_the_lock_may_enter() -> None:
    played = play(
        """
        1 | 100 100 100 100 | long       |
        2 | 100 100 100 100 |            | long 100
        3 | 90 90 90 90     | lower long |
        4 | 90 90 90 90     | lower long |
        5 | 91 91 91 91     |            | stop_loss 91, long 91, end_of_data 91
        """,
        stop_rate=0.05,
        max_entries=4,
    )
    assert played.rejected == {}


def test_a_square_off_waits_into_the_next_session() -> None:
    """Its position is not closed at the locked price of the session before."""
    played = play(
        """
        day 1
        1 | 100 100 100 100 | long       |
        2 | 100 100 100 100 |            | long 100
        3 | 90 90 90 90     | lower late |
        4 | 90 90 90 90     | lower last |
        day 2
        5 | 81 81 81 81     | lower      |
        6 | 85 85 85 85     |            | square_off 85
        """
    )
    assert played.waited == [1, 3]


def test_a_session_that_is_locked_to_an_end_without_a_last_bar_is_left_at_the_next_open() -> None:
    played = play(
        """
        day 1
        1 | 100 100 100 100 | long  |
        2 | 100 100 100 100 |       | long 100
        3 | 90 90 90 90     | lower |
        day 2
        5 | 85 85 85 85     |       | square_off 85
        """,
        squaring=True,
    )
    assert played.waited == [0, 0]


def test_the_end_of_the_data_and_an_expiry_are_no_trades() -> None:
    table = """
        1 | 100 100 100 100 | long  |
        2 | 100 100 100 100 |       | long 100
        3 | 90 90 90 90     | lower | {}
        4 | 90 90 90 90     | lower {} | {}
        """
    play(table.format("", "", "end_of_data 90"))
    play(table.format("expiry 90", "expire", ""))
