"""The result data of many simulations at once equals that of each alone, to the last bit."""

import numpy as np

from apps.engine.kernel.records import TRADE
from apps.engine.results.batch import SimulationCurve, fill_in_returns, result_data_of
from apps.engine.results.result_data import ResultData

CAPITAL, DAYS = 1000.0, 300  # NumPy adds up in pairs from 128 on
WORKED_OUT = ("profit", "won", "lost", "net", "daily", "sharpe")


def play_curve(equity: list[float], *, known: bool = True) -> SimulationCurve:
    points = len(equity)
    curve = {"time": 86_400 * np.arange(points), "equity": np.array(equity)}
    return SimulationCurve(curve, np.arange(points) if known else None)


def test_results_computed_together_equal_each_alone() -> None:
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
        *map(play_curve, walks[:3]),
        play_curve(walks[3][:17]),
        play_curve(walks[4]),
        play_curve(walks[5], known=False),
    ]
    ends = np.cumsum(counts).tolist()
    results = result_data_of(trades, ends, curves, CAPITAL, ())
    fill_in_returns(results)
    for end, count, (curve, day_ends), result in zip(ends, counts, curves, results, strict=True):
        alone = ResultData(trades[end - count : end], curve, CAPITAL, (), day_ends)
        for name in WORKED_OUT:
            assert np.array_equal(getattr(result, name), getattr(alone, name)), name
    assert results[1].sharpe is None
    assert not len(results[4].daily)


def test_returns_are_known_beforehand_only_where_every_point_ends_a_day() -> None:
    walk = [1000.0, 1010.0, 990.0, 1005.0]
    ended, by_rows, ruined = (
        play_curve(walk),
        play_curve(walk, known=False),
        play_curve([1000.0, 0.0, 10.0, 20.0]),
    )
    every_other = SimulationCurve(ended.curve, np.array([1, 3]))
    curves = [ended, by_rows, ruined, every_other]
    results = result_data_of(np.zeros(0, TRADE), [0, 0, 0, 0], curves, CAPITAL, ())
    fill_in_returns(results)
    assert ["daily" in vars(result) for result in results] == [True, False, False, False]
