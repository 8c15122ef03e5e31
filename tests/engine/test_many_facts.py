"""Facts of many plays at once are those of each alone, to the last bit."""

import numpy as np

from apps.engine.kernel.records import TRADE
from apps.engine.metrics.many import Told, facts_of, know_returns
from apps.engine.metrics.result_data import ResultData

CAPITAL, DAYS = 1000.0, 300  # NumPy adds up in pairs from 128 on
WORKED_OUT = ("profit", "won", "lost", "net", "daily", "sharpe")


def told(equity: list[float], *, known: bool = True) -> Told:
    points = len(equity)
    curve = {"time": 86_400 * np.arange(points), "equity": np.array(equity)}
    return Told(curve, np.arange(points) if known else None)


def test_all_that_is_worked_out_at_once_is_what_each_alone_has() -> None:
    dice = np.random.default_rng(0)
    counts = [40, 0, 1, 25, 3, 0]
    trades = np.zeros(sum(counts), TRADE)
    trades["gross"] = dice.normal(0, 50, len(trades)).round()
    trades["gross"][::5] = trades["charges"][::5] = 7.25  # nothing is left of these
    trades["value"] = 1e4
    walks = (CAPITAL + np.cumsum(dice.normal(0, 20, (6, DAYS)), axis=1)).tolist()
    walks[1] = [CAPITAL] * DAYS
    walks[4][30] = -5.0
    curves = [
        *map(told, walks[:3]),
        told(walks[3][:17]),
        told(walks[4]),
        told(walks[5], known=False),
    ]
    ends = np.cumsum(counts).tolist()
    found = facts_of(trades, ends, curves, CAPITAL, ())
    know_returns(found)
    for end, count, one, facts in zip(ends, counts, curves, found, strict=True):
        alone = ResultData(trades[end - count : end], one.curve, CAPITAL, (), one.day_ends)
        for name in WORKED_OUT:
            mine, its = getattr(facts, name), getattr(alone, name)
            assert np.array_equal(mine, its), name
    assert found[1].sharpe is None
    assert not len(found[4].daily)


def test_returns_are_known_beforehand_only_where_every_point_ends_a_day() -> None:
    walk = [1000.0, 1010.0, 990.0, 1005.0]
    ended, by_rows, ruined = told(walk), told(walk, known=False), told([1000.0, 0.0, 10.0, 20.0])
    every_other = Told(ended.curve, np.array([1, 3]))
    curves = [ended, by_rows, ruined, every_other]
    found = facts_of(np.zeros(0, TRADE), [0, 0, 0, 0], curves, CAPITAL, ())
    know_returns(found)
    assert ["daily" in vars(facts) for facts in found] == [True, False, False, False]
