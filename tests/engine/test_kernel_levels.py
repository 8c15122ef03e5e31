"""Stops, targets and trails at levels, and sizes by an operand: rules 3, 5 and 6 of the engine's
README.
"""

import numpy as np
import pytest

from apps.engine.kernel import codes as c
from tests.engine.bar_table import play


def test_rule_3_a_stop_rests_at_the_level_read_at_the_signal() -> None:
    played = play(
        """
        1 | 100 100 100 100 | long levels stop 97.98 |
        2 | 100 101 99 100  | levels stop 99         | long 100
        3 | 100 100 97.5 98 |                        | stop_loss 97.95
        """,
        stops_at_level=True,
        size_by=c.BY_RISK,
        size=0.01,
        cash=100_000.0,
    )
    assert played.trades["quantity"].tolist() == [487]  # 1,000 / 2.05


@pytest.mark.parametrize(("side", "stop"), [("long", 100.0), ("long", 101.0), ("short", 100.0)])
def test_rule_3_a_fill_at_or_beyond_its_stop_is_refused(side: str, stop: float) -> None:
    table = f"""
        1 | 99 99 99 99     | {side} levels stop {stop} |
        2 | 100 100 100 100 |                           |
        """
    assert play(table, stops_at_level=True).rejected == {"level_beyond_entry": 1}


def test_rule_3_a_fill_at_or_beyond_its_target_is_refused_after_slippage() -> None:
    table = """
        1 | 99 99 99 99     | long levels target 102 |
        2 | 100 100 100 100 |                        | {}
        """
    entered = table.format("long 101, end_of_data 100")
    assert play(entered, targets_at_level=True, slippage=0.01).rejected == {}
    refused = play(table.format(""), targets_at_level=True, slippage=0.02)
    assert refused.rejected == {"level_beyond_entry": 1}


def test_rule_3_of_a_level_and_a_stop_in_percent_the_nearer_holds() -> None:
    table = """
        1 | 100 100 100 100 | long levels stop {} |
        2 | 100 100 90 100  |                     | long 100, stop_loss {}
        """
    for level, stop in ((97, 98), (99, 99)):
        play(table.format(level, stop), stops_at_level=True, second_stop_rate=0.02)


def test_rule_3_the_target_by_risk_follows_the_distance_to_the_level() -> None:
    play(
        """
        1 | 100 100 100 100 | long levels stop 98 |
        2 | 100 104 99 103  |                     | long 100, take_profit 104
        """,
        stops_at_level=True,
        target_ratio=2.0,
    )


def test_rule_7_an_add_keeps_the_levels_and_is_sized_by_its_own_distance() -> None:
    played = play(
        """
        1 | 100 100 100 100 | long levels stop 98 target 120 |
        2 | 100 104 100 104 | long levels stop 103           | long 101.5014164
        3 | 110 110 110 110 |                                |
        4 | 121 121 121 121 |                                | take_profit 121
        """,
        stops_at_level=True,
        targets_at_level=True,
        max_entries=2,
        size_by=c.BY_RISK,
        size=0.012,
        cash=100_000.0,
    )
    # 1,200 / 2, then 1.2 % of the equity at 110 over 12.
    assert played.trades["quantity"].tolist() == [600 + 106]


def test_rule_5_a_trail_at_a_level_is_read_at_every_close_and_never_loosens() -> None:
    play(
        """
        1 | 100 100 100 100    | long                |
        2 | 100 102 100 102    | levels trail 99.98  | long 100
        3 | 102 103 102 103    | levels trail nan    |
        4 | 103 103 103 103    | levels trail 98     |
        5 | 103 103 101 102    | levels trail 102.04 |
        6 | 103 103 102 103    |                     | trailing_stop 102
        """,
        trails_at_level=True,
    )


def test_rule_5_a_level_beyond_the_close_leaves_at_the_next_open() -> None:
    play(
        """
        1 | 100 100 100 100 | short              |
        2 | 100 100 98 99   | levels trail 98.5  | short 100
        3 | 99 99 98 98     |                    | trailing_stop 99
        """,
        trails_at_level=True,
    )


def test_rule_5_a_trail_at_a_level_waits_for_its_threshold() -> None:
    play(
        """
        1 | 100 100 100 100 | long              |
        2 | 100 101 100 101 | levels trail 100  | long 100
        3 | 101 102 99 102  | levels trail 101  |
        4 | 102 102 101 102 |                   | trailing_stop 101
        """,
        trails_at_level=True,
        trail_from=0.02,
    )


@pytest.mark.parametrize(("share", "units"), [(0.5, 500), (1.0, 1_000), (0.0333, 33)])
def test_rule_6_an_operand_says_the_share_of_equity(share: float, units: float) -> None:
    played = play(
        f"""
        1 | 100 100 100 100 | long levels share {share} |
        2 | 100 100 100 100 | levels share 0.9          | long 100, end_of_data 100
        """,
        size_by=c.BY_OPERAND,
        cash=100_000.0,
    )
    assert played.trades["quantity"].tolist() == [units]


def test_rule_6_an_add_has_the_share_of_the_first_entry() -> None:
    played = play(
        """
        1 | 100 100 100 100 | long levels share 0.1 |
        2 | 100 100 100 100 | long levels share 0.9 | long 100
        3 | 100 100 100 100 |                       | end_of_data 100
        """,
        size_by=c.BY_OPERAND,
        max_entries=2,
        cash=100_000.0,
    )
    assert played.trades["quantity"].tolist() == [200]
    assert np.isfinite(played.trades["gross"]).all()
