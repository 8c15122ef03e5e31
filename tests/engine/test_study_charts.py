"""The charts of a study: the heat map of a search, the fan of a Monte Carlo."""

from math import nan

import numpy as np
import pytest

from apps.engine.studies.fan import fan
from apps.engine.studies.grid import Grid
from apps.engine.studies.heat_map import MOST_CELLS, heat_map
from apps.engine.studies.parameters import Parameter

FAST, SLOW, STOP = "fast", "slow", "stop"


def grid(**counts: int) -> Grid:
    return Grid(
        tuple(
            Parameter.model_validate({"path": path, "from": 1, "to": count, "step": 1})
            for path, count in counts.items()
        )
    )


def test_cells_stand_by_their_values_and_the_plateau_is_connected_to_the_best() -> None:
    objectives = np.array(
        [
            [9.0, 8.0, 1.0, 0.0],
            [7.0, 2.0, 1.0, 0.0],
            [1.0, 1.0, 1.0, 8.5],  # as high, and alone
            [1.0, 1.0, 0.0, 0.0],
        ]
    )
    chart = heat_map(grid(fast=4, slow=4), range(16), objectives.ravel(), objective="sharpeRatio")
    assert chart == {
        "parameters": [FAST, SLOW],
        "values": [[1, 2, 3, 4], [1, 2, 3, 4]],
        "further": "best",
        "objectives": objectives.ravel().tolist(),
        "best": (0, 0),
        "plateau": [(0, 0), (0, 1), (1, 0)],
    }


def test_the_plateau_of_a_drawdown_is_low() -> None:
    drawdowns = np.array([30.0, 5.0, 4.0, 20.0, 25.0, 40.0, 50.0, 60.0])
    chart = heat_map(grid(fast=8), range(8), drawdowns, objective="maxDrawdown")
    assert chart is not None
    assert chart["best"] == (2,)
    assert chart["plateau"] == [(1,), (2,)]


def test_cells_without_a_set_are_empty() -> None:
    chart = heat_map(grid(fast=2, slow=2), [0, 3], np.array([2.0, nan]), objective="sharpeRatio")
    assert chart is not None
    assert chart["objectives"] == [2.0, None, None, None]


@pytest.mark.parametrize(
    ("counts", "objectives"), [({"fast": 1}, [1.0]), ({"fast": 3}, [nan, nan, nan])]
)
def test_one_value_or_no_objective_gives_no_map(
    counts: dict[str, int], objectives: list[float]
) -> None:
    sets = range(len(objectives))
    assert heat_map(grid(**counts), sets, np.array(objectives), objective="sharpeRatio") is None


def test_of_three_parameters_the_best_sets_slice_is_drawn() -> None:
    objectives = np.arange(18.0)  # the last set is the best: stop has its second value there
    chart = heat_map(grid(fast=3, slow=3, stop=2), range(18), objectives, objective="sharpeRatio")
    assert chart is not None
    assert (chart["parameters"], chart["further"]) == ([FAST, SLOW], "best")
    assert chart["objectives"] == list(range(1, 18, 2))


def test_all_sets_with_the_best_values_are_drawn_if_they_are_few() -> None:
    sets = [0, 3, 4, 7, 17]  # drawn: in the best set's slice there is but one more
    chart = heat_map(
        grid(fast=3, slow=3, stop=2), sets, np.array([1.0, 2, 3, 4, 5]), objective="sharpeRatio"
    )
    assert chart is not None
    assert chart["further"] == "all"
    assert chart["objectives"] == [1, 2, 3, 4, None, None, None, None, 5]


def test_many_values_share_cells() -> None:
    objectives = np.arange(100.0)
    chart = heat_map(grid(fast=100), range(100), objectives, objective="sharpeRatio")
    assert chart is not None
    values: list[float] = chart["values"][0]  # type: ignore[index]
    cells = chart["objectives"]
    assert isinstance(cells, list)
    assert len(values) == len(cells) == MOST_CELLS
    firsts = [int(value) - 1 for value in values]
    ends = [*firsts[1:], 100]
    assert cells == [np.median(objectives[a:b]) for a, b in zip(firsts, ends, strict=True)]


# The fan.

PROFITS = np.round(np.random.default_rng(5).normal(3, 100, 250), 2)


def drawn(method: str, profits: np.ndarray = PROFITS) -> dict[str, object]:
    return fan(profits, capital=10_000.0, method=method, block=5, seed=11)


@pytest.mark.parametrize("method", ["shuffle", "bootstrap", "block_bootstrap"])
def test_a_fan_begins_at_the_capital_and_its_bands_are_ordered(method: str) -> None:
    chart = drawn(method)
    trades = chart["trades"]
    assert isinstance(trades, list)
    assert (trades[0], trades[-1], len(trades)) == (0, 250, 101)
    bands = np.array([chart[f"p{percent}"] for percent in (5, 25, 50, 75, 95)])
    assert (bands[:, 0] == 10_000).all()
    assert (np.diff(bands, axis=0) >= 0).all()
    equity = 10_000 + np.concatenate([[0.0], np.cumsum(PROFITS)])
    assert chart["asTraded"] == pytest.approx(equity[trades])
    assert drawn(method) == chart


def test_shuffled_paths_end_together_and_others_spread_by_the_law_of_sums() -> None:
    shuffled = drawn("shuffle")
    last = 10_000 + PROFITS.sum()
    assert [shuffled[f"p{percent}"][-1] for percent in (5, 95)] == pytest.approx([last, last])  # type: ignore[index]
    drawn_again = drawn("bootstrap")
    deviation = PROFITS.std() * np.sqrt(len(PROFITS))
    low, high = (drawn_again[f"p{percent}"][-1] for percent in (5, 95))  # type: ignore[index]
    assert (high - low) / deviation == pytest.approx(2 * 1.645, rel=0.15)


def test_blocks_keep_the_order_of_the_trades_within_them() -> None:
    alternating = np.tile([100.0, -100.0], 60)  # blocks of 20 end each other's gains
    single = fan(alternating, capital=10_000.0, method="bootstrap", block=1, seed=11)
    blocks = fan(alternating, capital=10_000.0, method="block_bootstrap", block=20, seed=11)
    assert max(blocks["p95"]) < 10_500 < max(single["p95"])  # type: ignore[call-overload]
