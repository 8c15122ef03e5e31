"""Rule 19: the days on which a walk-forward trains and tests."""

import pytest

from apps.engine.studies.windows import TooFewSessions, Window, sessions_needed, windows_of


def test_windows_roll_over_all_days() -> None:
    """floor(22 x 0.3 / (0.7 + 5 x 0.3)) = floor(6.6 / 2.2) = 3 days; 22 - 5 x 3 = 7 before."""
    assert windows_of(22, windows=5, train_ratio=0.7, anchored=False) == [
        Window(0, 7, 10),
        Window(3, 10, 13),
        Window(6, 13, 16),
        Window(9, 16, 19),
        Window(12, 19, 22),
    ]


def test_an_anchored_start_stays() -> None:
    """floor(10 x 0.5 / (0.5 + 2 x 0.5)) = floor(3.33) = 3; 10 - 6 = 4."""
    assert windows_of(10, windows=2, train_ratio=0.5, anchored=True) == [
        Window(0, 4, 7),
        Window(0, 7, 10),
    ]


def test_less_than_a_day_to_test_is_too_little() -> None:
    """5 + 0.7 / 0.3 = 7.33: seven days are too few, eight are enough."""
    assert sessions_needed(5, 0.7) == 8
    assert sessions_needed(5, 0.7, days=21) == 154
    assert windows_of(8, windows=5, train_ratio=0.7, anchored=False)[-1] == Window(4, 7, 8)
    with pytest.raises(TooFewSessions, match="7 session days; 8 are needed"):
        windows_of(7, windows=5, train_ratio=0.7, anchored=False)


@pytest.mark.parametrize("days", [1, 21])
def test_the_needed_days_are_the_least_that_are_enough(days: int) -> None:
    for windows in (2, 7, 50):
        for percent in range(10, 91):
            ratio, given = percent / 100, (windows, percent)
            needed = sessions_needed(windows, ratio, days=days)
            made = windows_of(needed, windows=windows, train_ratio=ratio, anchored=False)
            assert made[0].test >= 1, given
            assert made[-1].end == needed, given
            assert made[0].end - made[0].test == days, given
            try:
                (fewer, *_) = windows_of(
                    needed - 1, windows=windows, train_ratio=ratio, anchored=False
                )
            except TooFewSessions:
                assert days == 1, given
            else:
                assert fewer.end - fewer.test == days - 1, given
