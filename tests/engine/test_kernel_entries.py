"""Sizes and rejections of entries: rules 6, 7 and 10 of the engine's README."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from apps.engine.kernel import codes as c
from apps.engine.kernel import records as r
from apps.engine.kernel.reasons import CHARGE_KINDS
from tests.engine.bar_table import play

ONE_TRADE = """
1 | 100 100 100 100 | long |
2 | 100 100 100 100 |      | long 100, end_of_data 100
"""
NO_TRADE = """
1 | 100 100 100 100 | long |
2 | 100 100 100 100 |      |
"""


def quantity(**given: Any) -> list[float]:
    sizes: list[float] = play(ONE_TRADE, **given).trades["quantity"].tolist()
    return sizes


def rates(**fields: float) -> NDArray[Any]:
    row = np.zeros(1, r.RATE)
    row["brokerage_cap"] = np.inf
    for name, value in fields.items():
        row[name] = value
    return row


@pytest.mark.parametrize(
    ("plan", "units"),
    [
        ({"size_by": c.BY_QUANTITY, "size": 40.0}, 40),
        ({"size_by": c.BY_AMOUNT, "size": 5_050.0}, 50),
        ({"size_by": c.BY_EQUITY, "size": 0.25}, 250),
        ({"size_by": c.BY_RISK, "size": 0.01, "stop_rate": 0.02}, 500),
        ({"size_by": c.BY_RISK, "size": 0.01, "stop_rate": 0.02, "second_stop_rate": 0.05}, 500),
        ({"size_by": c.BY_RISK, "size": 0.01, "stop_rate": 0.05, "second_stop_rate": 0.02}, 500),
    ],
)
def test_rule_6_the_size_each_method_wants(plan: dict[str, Any], units: float) -> None:
    assert quantity(cash=100_000.0, **plan) == [units]


def test_rule_6_by_volatility_the_risk_is_lost_over_so_many_average_ranges() -> None:
    played = play(
        """
        1 | 100 100 100 100 | long atr 4 |
        2 | 100 100 100 100 |            | long 100, end_of_data 100
        """,
        cash=100_000.0,
        size_by=c.BY_VOLATILITY,
        size=0.01,
        size_atr=2.5,
    )
    assert played.trades["quantity"].tolist() == [100]


def test_rule_6_the_price_that_sizes_is_the_fill_after_slippage() -> None:
    played = play(
        """
        1 | 100 100 100 100 | long |
        2 | 100 100 100 100 |      | long 102, end_of_data 100
        """,
        size_by=c.BY_AMOUNT,
        size=10_199.0,
        slippage=0.02,
    )
    assert played.trades["quantity"].tolist() == [99]


def test_rule_6_only_whole_lots_are_traded() -> None:
    assert quantity(size=99.0, contract={"lot": 25.0}) == [75]


def test_rule_6_less_than_one_lot_is_not_traded() -> None:
    assert play(NO_TRADE, size=24.0, contract={"lot": 25.0}).rejected == {"below_one_lot": 1}


def test_rule_6_the_position_limit_caps_the_value_at_the_fill() -> None:
    assert quantity(size=500.0, max_position_value=12_345.0) == [123]


@pytest.mark.parametrize(
    ("cash", "limit", "bought", "counted"),
    [
        (1_000_000.0, np.inf, 9_990, {"cash": 1}),
        (1_000_000.0, 500_000.0, 5_000, {"max_position_size": 1}),
        (400_000.0, 500_000.0, 3_996, {"cash": 1}),
        (500_500.0, 500_000.0, 5_000, {"max_position_size": 1}),
        (2e9, np.inf, 10_000_000, {}),
    ],
)
def test_rule_6_a_reduced_entry_is_counted_by_its_tightest_limit(
    cash: float, limit: float, bought: float, counted: dict[str, int]
) -> None:
    played = play(
        ONE_TRADE,
        size=10_000_000.0,
        cash=cash,
        max_position_value=limit,
        rates=rates(brokerage=0.001),
    )
    assert (played.trades["quantity"].tolist(), played.reduced) == ([bought], counted)


VOLUMES = """
    1 | 100 100 100 100 | long volume 90 |
    2 | 100 100 100 100 | volume {}      | {}
    """


@pytest.mark.parametrize(
    ("volume", "cash", "bought", "counted"),
    [
        (2_050, 1e6, 200, {"volume": 1}),
        (5_000, 1e6, 500, {}),
        (2_050, 15_000.0, 150, {"cash": 1}),
        (9_000, 1e6, 500, {}),
    ],
)
def test_rule_6_an_entry_takes_at_most_a_share_of_the_volume_of_its_bar(
    volume: int, cash: float, bought: float, counted: dict[str, int]
) -> None:
    table = VOLUMES.format(volume, "long 100, end_of_data 100")
    played = play(table, size=500.0, cash=cash, max_volume_share=0.1, contract={"lot": 50.0})
    assert (played.trades["quantity"].tolist(), played.reduced) == ([bought], counted)


@pytest.mark.parametrize("volume", [0, 499])
def test_rule_6_a_bar_whose_share_is_under_one_lot_fills_nothing(volume: int) -> None:
    table = VOLUMES.format(volume, "")
    played = play(table, size=500.0, max_volume_share=0.1, contract={"lot": 50.0})
    assert played.rejected == {"below_one_lot": 1}


def test_rule_6_no_room_for_a_lot_under_the_position_limit() -> None:
    assert play(NO_TRADE, max_position_value=99.0).rejected == {"position_limit": 1}


def test_rule_6_the_position_limit_counts_open_positions() -> None:
    played = play(
        """
        1 | 100 100 100 100 | long |
        2 | 100 100 100 100 | long | long 110
        3 | 120 120 120 120 | long |
        4 | 120 120 120 120 |      | end_of_data 120
        """,
        size=60.0,
        max_position_value=14_400.0,
        max_entries=3,
    )
    assert played.trades["quantity"].tolist() == [120]
    assert played.rejected == {"position_limit": 1}


def test_rule_6_cash_buys_as_many_lots_as_it_can() -> None:
    assert quantity(size=500.0, cash=12_345.0) == [123]


def test_rule_6_only_charges_of_the_purchase_are_paid_too() -> None:
    """At a million the charges alone exceed the cash; 99 units with theirs just fit."""
    one_percent = rates(brokerage=0.01)
    assert quantity(size=1_000_000.0, cash=10_000.0, rates=one_percent) == [99]
    assert quantity(size=1_000_000.0, cash=9_999.0, rates=one_percent) == [99]
    assert quantity(size=1_000_000.0, cash=9_998.99, rates=one_percent) == [98]


def test_rule_6_binary_fractions_do_not_cost_a_lot() -> None:
    """50 x 19.85 is 992.5000000000001 in binary."""
    played = play(
        """
        1 | 19.85 19.85 19.85 19.85 | long |
        2 | 19.85 19.85 19.85 19.85 |      | long 19.85, end_of_data 19.85
        """,
        size_by=c.BY_EQUITY,
        size=1.0,
        cash=992.5,
    )
    assert played.trades["quantity"].tolist() == [50]


def test_rule_6_cash_below_one_lot_buys_nothing() -> None:
    assert play(NO_TRADE, cash=100.5, rates=rates(brokerage=0.01)).rejected == {
        "insufficient_cash": 1
    }


def test_rule_6_shorts_lock_their_full_value_too() -> None:
    table = """
    1 | 100 100 100 100 | short |
    2 | 100 100 100 100 |       | short 100, end_of_data 100
    """
    assert play(table, size=500.0, cash=12_345.0).trades["quantity"].tolist() == [123]


def test_rule_6_derivatives_lock_a_margin_of_their_contract_value() -> None:
    terms = {"lot": 5.0, "multiplier": 10.0, "margin": 0.2}
    assert quantity(size=500.0, cash=12_345.0, contract=terms) == [60]


def test_rule_6_a_short_gains_when_the_price_falls() -> None:
    played = play(
        """
        1 | 100 100 100 100 | short |
        2 | 100 100 100 90  |       | short 100
        3 | 80 80 80 80     |       | end_of_data 80
        """,
        size=10.0,
        cash=1_000.0,
    )
    assert played.curve == [1_000, 1_100, 1_200]


def test_rule_6_equity_is_marked_at_the_opens_of_the_bar_that_enters() -> None:
    played = play(
        """
        1 | 100 100 100 100 | long |
        2 | 100 100 100 100 |      | long 100
        3 | 120 120 120 120 |      | end_of_data 120
        """,
        """
        1 | 10 10 10 10 |      |
        2 | 10 10 10 10 | long |
        3 | 10 10 10 10 |      | long 10, end_of_data 10
        """,
        size_by=c.BY_EQUITY,
        size=0.4,
        cash=10_000.0,
    )
    assert played.trades["quantity"].tolist() == [40, 432]  # 40 % of 10,800


def test_rule_6_a_symbol_without_a_bar_is_marked_at_its_last_close() -> None:
    played = play(
        """
        1 | 100 100 100 100 | long |
        2 | 100 100 100 110 |      | long 100, end_of_data 110
        """,
        """
        1 | 10 10 10 10 |      |
        2 | 10 10 10 10 | long |
        3 | 10 10 10 10 |      | long 10, end_of_data 10
        """,
        size_by=c.BY_EQUITY,
        size=0.4,
        cash=10_000.0,
    )
    assert played.trades["quantity"].tolist() == [40, 416]


def test_rule_6_money_that_is_gone_ends_the_run_at_that_close() -> None:
    played = play(
        """
        1 | 100 100 100 100 | long |
        2 | 100 100 100 100 |      | long 100
        3 | 80 80 80 80     |      | end_of_data 80
        4 | 200 200 200 200 |      |
        """,
        size_by=c.BY_EQUITY,
        size=5.0,
        cash=10_000.0,
        contract={"margin": 0.1},
    )
    assert played.account["status"] == c.RUINED
    assert played.curve == [10_000, 10_000, 0]


def test_rule_7_an_add_averages_the_entry_and_never_loosens_the_stop() -> None:
    play(
        """
        1 | 100 100 100 100   | long |
        2 | 100 100 100 100   | long | long 99.5
        3 | 99 99 99 99       |      |
        4 | 99 99 98 99       |      | stop_loss 98
        """,
        stop_rate=0.02,  # of the average 99.5 it is 97.5
        max_entries=2,
    )


def test_rule_7_an_add_moves_stop_and_target_with_the_average() -> None:
    play(
        """
        1 | 100 100 100 100   | long |
        2 | 100 100 100 100   | long | long 101
        3 | 102 102 102 102   |      |
        4 | 102 111 102 102   |      |
        5 | 102 111.1 99.5 102 |     | take_profit 111.1
        """,
        target_rate=0.1,
        max_entries=2,
    )
    play(
        """
        1 | 100 100 100 100   | long |
        2 | 100 100 100 100   | long | long 101
        3 | 102 102 102 102   |      |
        4 | 102 102 98.95 102 |      | stop_loss 98.95
        """,
        stop_rate=0.02,  # 98.98 in full
        max_entries=2,
    )


def test_rule_7_an_add_keeps_the_trailing_extreme() -> None:
    play(
        """
        1 | 100 100 100 100 | long |
        2 | 100 110 100 108 | long | long 104
        3 | 108 108 108 108 |      |
        4 | 108 108 107 108 |      | trailing_stop 107
        """,
        trail_points=3.0,
        max_entries=2,
    )


def test_rule_7_adds_go_up_to_max_entries_and_one_more_is_not_a_rejection() -> None:
    played = play(
        """
        1 | 100 100 100 100 | long |
        2 | 100 100 100 100 | long | long 100
        3 | 100 100 100 100 | long |
        4 | 100 100 100 100 | long |
        5 | 100 100 100 100 |      | end_of_data 100
        """,
        max_entries=3,
    )
    assert played.trades["quantity"].tolist() == [3]
    assert played.rejected == {}


def test_rule_7_an_add_does_not_count_as_a_position() -> None:
    played = play(
        """
        1 | 100 100 100 100 | long |
        2 | 100 100 100 100 | long | long 100
        3 | 100 100 100 100 |      | end_of_data 100
        """,
        max_entries=2,
        max_positions=1,
    )
    assert played.trades["quantity"].tolist() == [2]


def test_rule_7_a_stop_raised_by_an_add_above_the_trailing_one_is_a_stop_again() -> None:
    """The trailing stop was at 99; the average of 100 and 106, less 2, is 101."""
    play(
        """
        1 | 100 100 100 100 | long |
        2 | 100 102 100 102 | long | long 103
        3 | 106 106 101 105 |      | stop_loss 101
        """,
        stop_points=2.0,
        trail_points=3.0,
        max_entries=2,
    )


def test_rule_5_a_stop_raised_by_an_add_to_the_trailing_one_is_the_stop() -> None:
    """The trailing stop was at 99; the average of 100 and 102, less 2, is 99 too."""
    play(
        """
        1 | 100 100 100 100 | long |
        2 | 100 102 100 102 | long | long 101
        3 | 102 102 99 101  |      | stop_loss 99
        """,
        stop_points=2.0,
        trail_points=3.0,
        max_entries=2,
    )


def test_rule_8_at_most_so_many_positions_are_open_in_the_listed_order() -> None:
    played = play(
        """
        1 | 100 100 100 100 | long |
        2 | 100 100 100 100 |      | long 100, end_of_data 100
        """,
        """
        1 | 50 50 50 50 | long |
        2 | 50 50 50 50 |      |
        """,
        max_positions=1,
    )
    assert played.rejected == {"position_limit": 1}


def test_rule_8_cash_is_shared_in_the_listed_order() -> None:
    played = play(
        """
        1 | 100 100 100 100 | long |
        2 | 100 100 100 100 |      | long 100, end_of_data 100
        """,
        """
        1 | 100 100 100 100 | long |
        2 | 100 100 100 100 |      | long 100, end_of_data 100
        """,
        size=60.0,
        cash=10_000.0,
    )
    assert played.trades["quantity"].tolist() == [60, 40]


def test_signals_on_both_sides_at_one_close_cancel_out() -> None:
    played = play(
        """
        1 | 100 100 100 100 | long       |
        2 | 100 100 100 100 | long short | long 100
        3 | 101 101 101 101 |            | end_of_data 101
        """
    )
    assert played.rejected == {"both_sides": 1}


def test_an_entry_and_the_opposite_signal_of_one_side_cancel_out() -> None:
    played = play(
        """
        1 | 100 100 100 100 | long           |
        2 | 100 100 100 100 | long exit_long | long 100
        3 | 101 101 101 101 |                |
        4 | 102 102 102 102 |                | end_of_data 102
        """
    )
    assert played.rejected == {"both_sides": 1}


def test_an_opposite_signal_that_is_ignored_starts_nothing_either() -> None:
    """The stop is met at the open at which a short would have been entered."""
    played = play(
        """
        1 | 100 100 100 100 | long  |
        2 | 100 100 99 99   | short | long 100
        3 | 90 90 89 90     |       | stop_loss 90
        4 | 90 90 90 90     |       |
        """,
        stop_points=5.0,
        reverse=False,
    )
    assert played.rejected == {}


def test_rule_10_each_item_is_rounded_half_up_to_the_paisa_before_they_are_added() -> None:
    """A buy of 10,050 pays 20.00 (capped) + 0.33 (0.33165) + 0.01 (0.01005) + 0.01 + 10.05 + 1.51
    (1.5075) + 3.66 (3.661506, GST on 20.3417).

    The sale pays its own tax, and no stamp.
    """
    schedule = rates(
        brokerage=0.01,
        brokerage_cap=20.0,
        exchange=0.000033,
        ipft=0.000001,
        regulator=0.000001,
        tax_buy=0.001,
        tax_sell=0.002,
        stamp_buy=0.00015,
        gst=0.18,
    )
    played = play(
        """
        1 | 100 100 100 100         | long |
        2 | 100.5 100.5 100.5 100.5 |      | long 100.5, end_of_data 100.5
        """,
        size=100.0,
        rates=schedule,
    )
    buy = 20 + 0.33 + 0.01 + 0.01 + 10.05 + 1.51 + 3.66
    sell = 20 + 0.33 + 0.01 + 0.01 + 20.10 + 3.66
    assert played.trades["charges"].tolist() == [pytest.approx(buy + sell, abs=1e-9)]
    assert played.account["equity"] == pytest.approx(1_000_000 - buy - sell, abs=1e-9)


def test_rule_10_half_a_paisa_goes_up() -> None:
    """0.145 rupees are 14.499999999999998 paise in binary."""
    played = play(ONE_TRADE, rates=rates(brokerage=0.00145))
    assert played.trades["charges"].tolist() == [pytest.approx(0.30, abs=1e-12)]


def test_rule_10_rates_of_the_day_of_the_fill_apply() -> None:
    schedule = np.concatenate([rates(brokerage=0.01), rates(brokerage=0.02, first_day=2)])
    played = play(
        """
        day 1
        1 | 100 100 100 100 | long |
        2 | 100 100 100 100 |      | long 100
        day 2
        3 | 100 100 100 100 |      | end_of_data 100
        """,
        rates=schedule,
    )
    assert played.trades["charges"].tolist() == [3.0]


def test_rule_10_a_depository_charges_the_sale_of_shares_of_an_earlier_day_once_a_day() -> None:
    """It costs 13 rupees, and GST on them.

    Shares bought again and sold on that day were never in the account, and neither are those of a
    short sale.
    """
    played = play(
        """
        day 1
        1 | 100 100 100 100 | long            |
        2 | 100 100 100 100 | long            | long 100
        3 | 100 100 100 100 |                 |
        day 2
        4 | 100 100 100 100 | close_long long |
        5 | 100 100 100 100 | close_long      | signal 100, long 100
        6 | 100 100 100 100 | short           | signal 100
        7 | 100 100 100 100 |                 | short 100
        day 3
        8 | 100 100 100 100 |                 | end_of_data 100
        """,
        rates=rates(depository=13.0, gst=0.18),
        max_entries=2,
    )
    assert played.trades["charges"].tolist() == [pytest.approx(15.34), 0.0, 0.0]
    assert dict(zip(CHARGE_KINDS, played.account["paid"].tolist(), strict=True)) == {
        **dict.fromkeys(CHARGE_KINDS, 0.0),
        "gst": 234.0,
        "depositoryCharge": 1300.0,
    }


def test_rule_10_shares_still_held_at_the_end_are_charged_for_as_sold_then() -> None:
    played = play(
        """
        day 1
        1 | 100 100 100 100 | long |
        2 | 100 100 100 100 |      | long 100
        day 2
        3 | 100 100 100 100 |      | end_of_data 100
        """,
        rates=rates(depository=13.0),
    )
    assert played.trades["charges"].tolist() == [13.0]


def test_rule_10_a_segment_without_rates_pays_nothing() -> None:
    played = play(ONE_TRADE, rates=rates(brokerage=0.01, segment=7))
    assert played.trades["charges"].tolist() == [0.0]


def test_the_curve_is_marked_at_each_close_and_trades_explain_its_end() -> None:
    played = play(
        """
        1 | 100 100 100 100 | long |
        2 | 100 100 100 90  |      | long 100
        3 | 90 90 90 95     |      | end_of_data 95
        """,
        size=10.0,
        cash=2_000.0,
        rates=rates(brokerage=0.001),
    )
    assert played.curve == [2_000, 2_000 - 100 - 1, 2_000 - 50 - 1]
    profit = played.trades["gross"] - played.trades["charges"]
    assert played.account["equity"] == 2_000 + profit.sum()


def test_rule_6_an_option_that_is_sold_locks_a_share_of_its_underlying_beside_the_premium() -> None:
    """1,300 rupees pay for two at 100 and 300, and for one more at 80 and 350; a purchase locks its
    price.
    """
    played = play(
        """
        1 | 100 100 100 100 | short                |
        2 | 100 100 100 100 | short margin 300     | short 93.33333333
        3 | 80 80 80 80     | long margin 350      |
        4 | 80 80 80 80     | margin 350           | opposite_signal 80, long 80, end_of_data 80
        """,
        cash=1_300.0,
        size=2.0,
        max_entries=3,
    )
    assert played.trades["quantity"].tolist() == [3.0, 2.0]


def test_rule_6_money_locked_by_a_short_option_is_free_after_its_close() -> None:
    played = play(
        """
        1 | 100 100 100 100 | short            |
        2 | 100 100 100 100 | margin 900       | short 100
        3 | 100 100 100 100 | close_short short |
        4 | 100 100 100 100 | margin 900        | signal 100, short 100, end_of_data 100
        """,
        cash=1_000.0,
    )
    assert played.account["cash"] == 1_000.0
    assert played.rejected == {}


def test_rule_6_a_short_option_needs_enough_cash_to_lock() -> None:
    played = play(
        """
        1 | 100 100 100 100 | short      |
        2 | 100 100 100 100 | margin 901 |
        """,
        cash=1_000.0,
    )
    assert played.rejected == {"insufficient_cash": 1}
