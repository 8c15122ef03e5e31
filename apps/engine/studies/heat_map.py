"""The results of an optimisation over two of its parameters, for a chart: cells, and the plateau
around the best set.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import isnan
from typing import Final

import numpy as np
from numpy.typing import NDArray

from apps.engine.studies.grid import Grid
from apps.engine.studies.grid_search import rank

Floats = NDArray[np.float64]
Items = NDArray[np.intp]

MOST_CELLS: Final = 24
"""Along one parameter; of more values, neighbouring ones share a cell."""
PLATEAU_SHARE: Final = 0.25
"""The best cells that can belong to a plateau, as a share of all."""


def heat_map(
    grid: Grid, sets: Sequence[int], objectives: Floats, *, objective: str
) -> dict[str, object] | None:
    """Return the median objective of the sets in each cell, of those that ran; None if no parameter
    has two values, or no set an objective.

    The two parameters with most values make the axes; a single one makes a row. Of further
    parameters the sets with the best set's values count, unless these fill less than half of the
    cells: then all sets do. `plateau` are the cells around the best set that are connected to it by
    cells of the best quarter.
    """
    places = grid.places(sets)
    counts = [len(axis.values) for axis in grid.axes]
    varied = [axis for axis, count in enumerate(counts) if count > 1]
    axes = sorted(sorted(varied, key=lambda axis: -counts[axis])[:2])
    if not axes or np.isnan(objectives).all():
        return None
    winner = int(rank(objectives, objective)[0])
    cells = np.array([_cell_of(places[axis], counts[axis]) for axis in axes])
    shape = tuple(min(counts[axis], MOST_CELLS) for axis in axes)
    further = [axis for axis in varied if axis not in axes]
    alike = np.flatnonzero((places[further] == places[further][:, [winner]]).all(axis=0))
    medians = _medians(cells[:, alike], objectives[alike], shape)
    is_slice = 2 * np.count_nonzero(~np.isnan(medians)) >= medians.size
    if not is_slice:
        medians = _medians(cells, objectives, shape)
    best = tuple(cells[:, winner].tolist())
    return {
        "parameters": [grid.axes[axis].path for axis in axes],
        "values": [
            [grid.axes[axis].values[-(-cell * counts[axis] // size)] for cell in range(size)]
            for axis, size in zip(axes, shape, strict=True)
        ],
        "further": "best" if is_slice else "all",
        "objectives": [None if isnan(value) else value for value in medians.ravel().tolist()],
        "best": best,
        "plateau": sorted(_plateau(medians, best, objective)),
    }


def _cell_of(places: Items, count: int) -> Items:
    return places if count <= MOST_CELLS else places * MOST_CELLS // count


def _medians(cells: Items, objectives: Floats, shape: tuple[int, ...]) -> Floats:
    """Return the median of each cell, NaN if none of its sets has an objective."""
    medians = np.full(shape, np.nan)
    ran = ~np.isnan(objectives)
    flat = np.ravel_multi_index(tuple(cells[:, ran]), shape)
    ascending = objectives[ran][np.lexsort((objectives[ran], flat))]
    numbers, counts = np.unique(flat, return_counts=True)
    firsts = np.cumsum(counts) - counts
    middle = ascending[firsts + (counts - 1) // 2] + ascending[firsts + counts // 2]
    medians.ravel()[numbers] = middle / 2
    return medians


def _plateau(medians: Floats, best: tuple[int, ...], objective: str) -> set[tuple[int, ...]]:
    """Return the best set's cell, and the connected cells of the best quarter."""
    filled = np.count_nonzero(~np.isnan(medians))
    high = rank(medians.ravel(), objective)[: max(round(filled * PLATEAU_SHARE), 1)]
    candidates = {tuple(map(int, np.unravel_index(cell, medians.shape))) for cell in high.tolist()}
    reached, waiting = {best}, [best]
    while waiting:
        cell = waiting.pop()
        for axis in range(len(cell)):
            for step in (-1, 1):
                near = (*cell[:axis], cell[axis] + step, *cell[axis + 1 :])
                if near in candidates and near not in reached:
                    reached.add(near)
                    waiting.append(near)
    return reached
