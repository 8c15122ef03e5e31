"""Requests from outside between two rows (rule 20), as tables of bars."""

import numpy as np
import pytest

from apps.engine.kernel import codes as c
from apps.engine.kernel import kernel as k
from apps.engine.kernel import records as r
from apps.engine.kernel.reasons import CHARGE_KINDS
from tests.engine.bar_table import play


@pytest.mark.parametrize("reason", ["kill_switch", "stale_data"])
def test_while_entries_are_blocked_only_exits_trade(reason: str) -> None:
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


def test_a_blocked_reversal_closes_the_position() -> None:
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


def test_rule_7_an_ignored_entry_is_not_rejected() -> None:
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


def test_a_requested_close_fills_at_the_next_open_with_slippage() -> None:
    play(
        """
        1 | 100 100 100 100 | long |
        2 | 100 100 100 100 |      | long 110
        3 | 100 100 99 100  | stop | stopped 90
        4 | 100 100 100 100 |      |
        """,
        slippage=0.1,
    )


def test_an_expiry_fills_at_the_last_close_without_slippage_or_waiting() -> None:
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


def test_rule_13_a_contract_is_left_at_the_square_off_of_the_session_before_its_delivery() -> None:
    """Nothing else is squared off, over night or at the end of a day, and nothing enters then."""
    play(
        """
        day 1
        1 | 100 100 100 100 | long          |
        2 | 100 100 100 100 |               | long 100
        day 2
        3 | 101 101 101 101 | long          |
        4 | 102 103 101 102 | late delivery | expiry_close 102
        """,
        """
        day 1
        1 | 50 50 50 50 | long          |
        2 | 50 50 50 50 |               | long 50
        day 2
        3 | 51 51 51 51 |               |
        4 | 52 52 52 52 |               | end_of_data 52
        """,
    )


def test_rule_13_without_a_bar_after_the_square_off_the_position_exits_at_the_last_close() -> None:
    play("""
        1 | 100 100 100 100 | long          |
        2 | 100 104 100 103 | last delivery | long 100, expiry_close 103
    """)


def test_rule_13_a_settlement_costs_brokerage_and_the_tax_of_who_holds_the_option() -> None:
    """5 lots of 10 at 100 settle at 120 with a tax of 0.125 %; a short does not pay it."""
    rates = np.array(
        [(0, 0, 0.0, np.inf, 0.0, 0.001, 3e-4, 1e-6, 1e-6, 3e-5, 0.18, 20.0, 0.0)], r.RATE
    )
    for side, tax in ((1, 7.5), (-1, 0.0)):
        state = r.new_state(np.arange(1), cash=1e6)
        held = state.positions[0]
        held["side"], held["quantity"], held["average"], held["close"] = side, 50.0, 100.0, 119.0
        contracts = np.array([(10.0, 1.0, 1.0, 500.0, 0)], r.CONTRACT)
        held["contract"] = contracts[0]
        output = r.SimulationOutput(np.zeros(2, r.TRADE), np.zeros(1), np.zeros(9, r.FILL))
        rules = r.rules_of(r.Plan(), np.arange(1), contracts, rates)
        written = k.settle(state, rules, output, 0, c.BY_EXPIRY, r.Settlement(120.0, 0.00125))
        assert written == 1
        paid = dict(zip(CHARGE_KINDS, (output.fills[0]["paid"] / 100).tolist(), strict=True))
        assert paid == {
            **dict.fromkeys(CHARGE_KINDS, 0.0),
            "brokerage": 20,
            "gst": 3.6,
            "transactionTax": tax,
        }
        assert output.fills[0]["price"] == 120.0


def test_rule_13_a_worthless_expiry_costs_nothing() -> None:
    state = r.new_state(np.arange(1), cash=1e6)
    contracts = np.array([(10.0, 1.0, 1.0, 500.0, 0)], r.CONTRACT)
    held = state.positions[0]
    held["side"], held["quantity"], held["average"], held["close"] = 1, 50.0, 100.0, 2.0
    held["contract"], held["locked"] = contracts[0], 5_000.0
    rates = np.array([(0, 0, 0.0, np.inf, 0, 0.001, 3e-4, 0, 0, 0, 0.18, 20.0, 0.0)], r.RATE)
    output = r.SimulationOutput(np.zeros(2, r.TRADE), np.zeros(1), np.zeros(9, r.FILL))
    rules = r.rules_of(r.Plan(), np.arange(1), contracts, rates)
    k.settle(state, rules, output, 0, c.BY_EXPIRY, r.Settlement(0.0, 0.00125))
    assert (output.trades[0]["gross"], output.trades[0]["charges"]) == (-5_000.0, 0.0)
    assert state.account["cash"][0] == 1e6
