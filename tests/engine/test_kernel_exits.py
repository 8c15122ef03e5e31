"""Exits of positions: rules 1 to 5, 12 and 13 of the engine's README."""

import pytest

from tests.engine.bar_table import play


def test_rule_1_a_signal_trades_at_the_next_open_not_on_its_own_bar() -> None:
    play(
        """
        1 | 100 110 90 105  | long |
        2 | 107 108 106 107 |      | long 107
        3 | 109 109 109 109 |      | end_of_data 109
        """
    )


def test_rule_1_the_next_bar_is_the_symbols_own() -> None:
    play(
        """
        1 | 100 100 100 100 | long |
        4 | 104 104 104 104 |      | long 104, end_of_data 104
        """,
        """
        1 | 50 50 50 50 | |
        2 | 50 50 50 50 | |
        3 | 50 50 50 50 | |
        4 | 50 50 50 50 | |
        """,
    )


def test_rule_2_a_symbol_may_enter_at_the_open_of_its_exit() -> None:
    play(
        """
        1 | 100 100 100 100 | long  |
        2 | 100 101 99 100  | short | long 100
        3 | 102 103 101 102 |       | opposite_signal 102, short 102
        4 | 101 101 101 101 |       | end_of_data 101
        """
    )


def test_rule_2_the_exits_of_all_symbols_come_before_the_first_entry() -> None:
    play(
        """
        1 | 100 100 100 100 |      |
        2 | 100 100 100 100 | long |
        3 | 100 100 100 100 |      | long 100, end_of_data 100
        """,
        """
        1 | 50 50 50 50 | long  |
        2 | 50 50 50 50 |       | long 50
        3 | 40 41 39 40 |       | stop_loss 40
        """,
        stop_rate=0.1,
        max_positions=1,
    )


def test_rule_2_a_gap_through_the_stop_may_be_re_entered_at_the_same_open() -> None:
    play(
        """
        1 | 100 100 100 100 | long |
        2 | 100 100 100 100 | long | long 100
        3 | 90 92 90 91     |      | stop_loss 90, long 90, end_of_data 91
        """,
        stop_rate=0.02,
    )


def test_rule_3_a_touch_of_the_stop_is_enough() -> None:
    play(
        """
        1 | 100 100 100 100 | long |
        2 | 100 100 99 99.5 |      | long 100, stop_loss 99
        """,
        stop_rate=0.01,
    )


def test_rule_3_a_touch_of_the_target_is_enough() -> None:
    play(
        """
        1 | 100 100 100 100  | short |
        2 | 100 100 98 98.5  |       | short 100, take_profit 98
        """,
        target_rate=0.02,
    )


def test_rule_3_stop_and_target_are_rounded_to_the_tick_away_from_the_entry() -> None:
    play(
        """
        1 | 100 100 100 100         | long |
        2 | 101.15 101.15 101.15 101.15 |  | long 101.15
        3 | 101.15 101.15 100.15 101 |     |
        4 | 101 101 100.1 101        |     | stop_loss 100.1
        """,
        stop_rate=0.01,  # 100.1385 in full
    )
    play(
        """
        1 | 100 100 100 100         | long |
        2 | 101.15 101.15 101.15 101.15 |  | long 101.15
        3 | 101.15 102.15 101.15 101 |     |
        4 | 101 102.2 101 101        |     | take_profit 102.2
        """,
        target_rate=0.01,  # 102.1615 in full
    )


def test_rule_3_levels_on_the_tick_are_the_decimals_that_prices_are() -> None:
    """1999 * 0.05 is 99.95000000000002: a low of 99.95 would miss such a stop."""
    play(
        """
        1 | 100 100 100 100      | long |
        2 | 100 100 99.95 100    |      | long 100, stop_loss 99.95
        """,
        stop_points=0.05,
    )


@pytest.mark.parametrize(("second", "level"), [(0.005, "99.5"), (0.02, "99")])
def test_rule_3_of_two_stops_the_tighter_holds(second: float, level: str) -> None:
    play(
        f"""
        1 | 100 100 100 100 | long |
        2 | 100 100 98 99   |      | long 100, stop_loss {level}
        """,
        stop_rate=0.01,
        second_stop_rate=second,
    )


def test_rule_3_the_tighter_stop_is_chosen_at_each_fill() -> None:
    """Three points are the tighter at 400, 1 % is the tighter at 200."""
    for price, level in ((400, 397), (200, 198)):
        play(
            f"""
            1 | {price} {price} {price} {price}  | long |
            2 | {price} {price} 100 150 |      | long {price}, stop_loss {level}
            """,
            stop_points=3.0,
            second_stop_rate=0.01,
        )


def test_rule_3_risk_reward_uses_the_tighter_stop() -> None:
    play(
        """
        1 | 100 100 100 100   | long |
        2 | 100 101 99.6 100  |      | long 100, take_profit 101
        """,
        stop_rate=0.01,
        second_stop_rate=0.005,
        target_ratio=2.0,
    )


def test_rule_4_slippage_works_against_market_and_stop_fills_not_targets() -> None:
    play(
        """
        1 | 100 100 100 100 | long |
        2 | 100 100 100 100 |      | long 101
        3 | 100 100 98 99   |      | stop_loss 98.01
        """,
        stop_points=2.0,
        slippage=0.01,
    )
    play(
        """
        1 | 100 100 100 100 | short |
        2 | 100 100 100 100 |       | short 99
        3 | 100 100 95 96   |       | take_profit 97
        """,
        target_points=2.0,
        slippage=0.01,
    )


def test_rule_4_a_stop_that_slippage_put_beyond_the_open_is_filled_at_the_open() -> None:
    play(
        """
        1 | 100 100 100 100 | long |
        2 | 100 100 100 100 |      | long 102, stop_loss 98
        """,
        stop_rate=0.01,  # at 100.95, above the open
        slippage=0.02,
    )


def test_rule_5_a_trailing_stop_follows_completed_bars_and_never_loosens() -> None:
    play(
        """
        1 | 100 100 100 100 | long |
        2 | 100 105 100 104 |      | long 100
        3 | 104 104 103.5 104 |    |
        4 | 104 110 104 104.5 |    |
        5 | 109 109 107 108 |      | trailing_stop 108
        """,
        trail_points=2.0,
    )


def test_rule_5_the_trailing_stop_is_not_live_in_the_bar_that_moves_it() -> None:
    play(
        """
        1 | 100 100 100 100 | long |
        2 | 100 110 95 105  |      | long 100
        3 | 109 109 108.5 109 |    |
        4 | 107 107 107 107 |      | trailing_stop 107
        """,
        trail_points=2.0,
    )


def test_rule_5_the_entry_bar_never_leaves_by_the_trail_that_its_own_high_sets() -> None:
    """102 less 5 % is 96.90: the bar's low of 96 may have come before its high."""
    play(
        """
        1 | 100 100 100 100  | long |
        2 | 100 102 96 99    |      | long 100
        3 | 99 99.5 97.5 98  |      |
        4 | 98 98.5 96 96.5  |      | trailing_stop 96.9
        """,
        trail_rate=0.05,
    )


def test_rule_5_the_fill_is_the_first_price_that_a_trailing_stop_follows() -> None:
    """Without a threshold it is live from the second bar, even where no bar reached the fill."""
    play(
        """
        1 | 100 100 100 100  | long |
        2 | 100 101 100 101  |      | long 102
        3 | 101.5 101.5 101 101 |   | trailing_stop 98.98
        """,
        trail_points=1.0,
        slippage=0.02,
    )


def test_rule_5_the_trailing_stop_sleeps_until_the_arming_gain() -> None:
    play(
        """
        1 | 100 100 100 100   | long |
        2 | 100 101.9 100 101 |      | long 100
        3 | 99 102 99 101.5   |      |
        4 | 101 101.5 100.5 101 |    | trailing_stop 101
        """,
        trail_points=1.0,
        trail_from=0.02,
    )


def test_rule_5_a_gain_of_just_the_threshold_arms_in_decimals() -> None:
    """2 % of 102.50 is 2.05, and 104.55 - 102.50 is 2.0499999999999972."""
    play(
        """
        1 | 102.5 102.5 102.5 102.5   | long |
        2 | 102.5 104.55 102.5 104.55 |      | long 102.5
        3 | 104.5 104.5 103.55 104    |      | trailing_stop 103.55
        """,
        trail_points=1.0,
        trail_from=0.02,
    )


def test_rule_5_the_trailing_stop_of_a_short_is_mirrored() -> None:
    play(
        """
        1 | 100 100 100 100 | short |
        2 | 100 100 95 96   |       | short 100
        3 | 96 96.9 96 96.5 |       |
        4 | 96 97 96 97     |       | trailing_stop 97
        """,
        trail_points=2.0,
    )


def test_rule_5_the_trailing_stop_is_rounded_like_the_stop() -> None:
    play(
        """
        1 | 100 100 100 100     | long |
        2 | 100 101.3 100 101   |      | long 100
        3 | 101 101.1 100.3 101 |      |
        4 | 101 101 100.25 101  |      | trailing_stop 100.25
        """,
        trail_rate=0.01,  # 100.287 in full
    )


def test_rule_5_size_stop_target_and_trail_have_their_own_average_true_range() -> None:
    played = play(
        """
        1 | 100 100 100 100 | long atr 1,2,4,8 |
        2 | 100 104 99 100  |                  | long 100, take_profit 104
        """,
        size_by=4,
        size=0.01,
        size_atr=1.0,
        stop_atr=1.0,
        target_atr=1.0,
        trail_atr=1.0,
        cash=100_000.0,
    )
    assert played.trades["quantity"].tolist() == [1000.0]
    play(
        """
        1 | 100 100 100 100 | long atr 1,2,4,8 |
        2 | 100 101 98 100  |                  | long 100, stop_loss 98
        """,
        stop_atr=1.0,
        target_atr=1.0,
    )
    play(
        """
        1 | 100 100 100 100 | long atr 1,2,4,8 |
        2 | 100 120 100 119 |                  | long 100
        3 | 113 113 112 113 |                  | trailing_stop 112
        """,
        trail_atr=1.0,
    )


def test_rule_5_a_reversal_takes_the_range_at_its_own_signal() -> None:
    play(
        """
        1 | 100 100 100 100 | long atr 1  |
        2 | 100 100 100 100 |             | long 100
        3 | 100 100 100 100 | short atr 3 |
        4 | 100 102 100 100 |             | opposite_signal 100, short 100
        5 | 100 103 100 100 |             | stop_loss 103
        """,
        stop_atr=1.0,
    )


def test_rule_5_an_add_keeps_the_range_of_the_first_entry() -> None:
    play(
        """
        1 | 100 100 100 100 | long atr 2   |
        2 | 100 100 100 100 | long atr 0.5 | long 101
        3 | 102 102 102 102 |              |
        4 | 102 102 99.05 102 |            |
        5 | 102 102 99 102  |              | stop_loss 99
        """,
        stop_atr=1.0,
        max_entries=2,
    )


def test_rule_12_the_entry_bar_is_the_first_that_a_holding_counts() -> None:
    played = play(
        """
        1 | 100 100 100 100 | long |
        2 | 100 100 100 100 |      | long 100
        3 | 101 101 101 101 |      |
        4 | 102 102 102 102 |      | max_holding 102
        """,
        max_holding=2,
    )
    assert played.trades["bars"].tolist() == [2]


def test_rule_12_a_one_sided_algorithm_exits_on_the_mirrored_conditions() -> None:
    play(
        """
        1 | 100 100 100 100 | long      |
        2 | 100 100 100 100 | exit_long | long 100
        3 | 101 101 101 101 |           | opposite_signal 101
        """
    )


def test_rule_12_the_exit_of_the_other_side_does_nothing() -> None:
    play(
        """
        1 | 100 100 100 100 | long       |
        2 | 100 100 100 100 | exit_short | long 100
        3 | 101 101 101 101 |            | end_of_data 101
        """
    )


def test_rule_12_conditions_close_at_the_next_open_from_the_entry_bars_close_on() -> None:
    """A condition that was true when the entry was signalled does not close it."""
    play(
        """
        1 | 100 100 100 100 | long close_long  |
        2 | 100 101 100 101 |                  | long 100
        3 | 102 102 102 102 | close_short      |
        4 | 103 103 103 103 | close_long short |
        5 | 104 104 104 104 | close_short      | signal 104, short 104
        6 | 105 105 105 105 |                  | signal 105
        """
    )


def test_rule_12_a_position_may_be_closed_and_entered_again_at_one_open() -> None:
    play(
        """
        1 | 100 100 100 100 | long            |
        2 | 100 100 100 100 | close_long long | long 100
        3 | 101 101 101 101 |                 | signal 101, long 101
        4 | 101 101 101 101 |                 | end_of_data 101
        """
    )


def test_an_opposite_signal_is_ignored_if_it_does_not_close() -> None:
    played = play(
        """
        1 | 100 100 100 100 | long  |
        2 | 100 100 100 100 | short | long 100
        3 | 101 101 101 101 |       | end_of_data 101
        """,
        reverse=False,
    )
    assert played.rejected == {}


def test_rule_13_the_end_of_data_closes_at_the_last_close_with_charges_without_slippage() -> None:
    played = play(
        """
        1 | 100 100 100 100 | long |
        2 | 100 104 100 103 |      | long 101, end_of_data 103
        """,
        slippage=0.01,
    )
    assert played.account["equity"] == 1_000_002.0


def test_bars_count_the_bars_a_position_lived_through() -> None:
    played = play(
        """
        1 | 100 100 100 100 | long  |
        2 | 100 100 97 100  | long  | long 100, stop_loss 98
        3 | 100 100 100 100 |       | long 100
        4 | 100 100 100 100 | short |
        5 | 100 100 100 100 |       | opposite_signal 100, short 100
        6 | 100 100 100 100 |       | end_of_data 100
        """,
        stop_rate=0.02,
    )
    assert played.trades["bars"].tolist() == [1, 2, 2]


@pytest.mark.parametrize("quiet", [24, 64, 65, 200, 2_000])
@pytest.mark.parametrize("side", ["long", "short"])
def test_rule_5_the_trail_outlasts_any_number_of_quiet_bars(side: str, quiet: int) -> None:
    """Nothing happens to the position between the extreme and the bar that reaches its trail."""
    up = 1 if side == "long" else -1

    def bar(time: int, prices: tuple[float, ...], mark: str = "", fill: str = "") -> str:
        first, furthest, nearest, last = (100 + up * price for price in prices)
        high, low = max(furthest, nearest), min(furthest, nearest)
        return f"{time} | {first} {high} {low} {last} | {mark} | {fill}"

    extreme, dip = 30, 31 + quiet
    lines = [bar(1, (0, 0, 0, 0), side), bar(2, (0, 1, 0, 1), "", f"{side} 100")]
    lines += [bar(time, (1, 1, 0, 1)) for time in range(3, extreme)]
    lines += [bar(extreme, (1, 10, 1, 9.5))]
    lines += [bar(time, (9.5, 9.6, 9.4, 9.5)) for time in range(extreme + 1, dip)]
    lines += [bar(dip, (9.5, 9.6, 6.8, 9.5), "", f"trailing_stop {100 + up * 7}")]
    lines += [bar(time, (9.5, 9.6, 9.4, 9.5)) for time in range(dip + 1, dip + 200)]
    play("\n".join(lines), trail_points=3.0)
