"""What becomes of a result when the numbers of its steps are a little different.

Each number is changed by each of NEIGHBOUR_CHANGES alone, and all of them at random up to the largest of
these. A whole number is changed by 1 at least; a set of steps that is not valid is counted and not
run.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from apps.engine.charges import NO_CHARGES, Schedule
from apps.engine.errors import InsufficientBars
from apps.engine.language.strategy import parse, read
from apps.engine.lazy import lazy
from apps.engine.signals.required_inputs import required_inputs
from apps.engine.simulation.plan import plan_of, terms_of
from apps.engine.simulation.prepared_data import PreparedData, prepare_data
from apps.engine.simulation.simulate import charged
from apps.engine.simulation.simulations import (
    EVERY_ROW,
    ReportProgress,
    TradedMarket,
    buffers_for,
    ignore_progress,
    row_range_of,
    simulate_plans,
)
from apps.engine.simulation.timeline import History
from apps.engine.studies.grid import applied
from apps.engine.studies.grid_search import CACHE_BYTES

NEIGHBOUR_CHANGES: Final = (-0.2, -0.1, 0.1, 0.2)
AT_RANDOM: Final = 50
MOST_NUMBERS: Final = 25
"""Whose changes are simulated; of steps with more, those that are written first."""
CLIFF: Final = 0.5
"""The share of the net profit that a change of one number by a tenth may take."""
_CHANGES_NOTHING: Final = frozenset(
    {
        "executionSettings.initialCapital",
        "executionSettings.slippage",  # the costs of a result are looked at by themselves
        "riskParameters.riskRewardRatio",
    }
)

Values = Mapping[str, float]


class Neighbour(NamedTuple):
    """Values by path, and the net profit that steps with them make; None where they cannot run.

    `path` and `change` are those of the number that alone is different; None of a random set.
    """

    values: Values
    path: str | None = None
    change: float | None = None
    net: float | None = None


@dataclass(frozen=True)
class Sensitivity:
    """The neighbours of steps that make `net` rupees. `numbers` counts the numbers of the steps,
    `tried` those of them that were changed.
    """

    net: float
    numbers: int
    tried: int
    neighbours: Sequence[Neighbour]

    @lazy
    def nets(self) -> list[float]:
        """The net profits of the neighbours that ran."""
        return [neighbour.net for neighbour in self.neighbours if neighbour.net is not None]

    @property
    def profitable(self) -> float | None:
        """The share of the neighbours that ran which make money."""
        return sum(net > 0 for net in self.nets) / len(self.nets) if self.nets else None

    @property
    def cliff(self) -> Neighbour | None:
        """The change of one number by a tenth that takes most of the net profit, if it takes more
        than CLIFF of it.
        """
        smallest = min(map(abs, NEIGHBOUR_CHANGES))
        near = [
            (neighbour.net, number)
            for number, neighbour in enumerate(self.neighbours)
            if neighbour.net is not None and abs(neighbour.change or 0.0) == smallest
        ]
        least, number = min(near, default=(self.net, 0))
        return self.neighbours[number] if self.net > 0 and least < (1 - CLIFF) * self.net else None


def sensitivity(
    steps: Mapping[str, Any],
    histories: Sequence[History],
    *,
    start: int,
    end: int,
    capital: float,
    schedule: Schedule = NO_CHARGES,
    seed: int = 0,
    on_progress: ReportProgress = ignore_progress,
) -> Sensitivity:
    """Simulate the neighbours of complete steps (Any: JSON as the client wrote it); the other
    arguments are as for `simulate`, whose errors it raises.
    """
    strategy = parse(steps)
    data = prepare_data(
        strategy, histories, start=start, end=end, report=on_progress, cache_bytes=CACHE_BYTES
    )
    numbers = dict(_numbers_of(steps))
    changed = dict(list(numbers.items())[:MOST_NUMBERS])
    neighbours = [*_alone(changed), *_at_random(changed, seed)]
    nets = _nets(
        data,
        [steps, *(applied(steps, neighbour.values) for neighbour in neighbours)],
        capital=capital,
        schedule=charged(strategy, schedule),
        report=on_progress,
    )
    return Sensitivity(
        net=nets[0] or 0.0,
        numbers=len(numbers),
        tried=len(changed),
        neighbours=[
            neighbour._replace(net=net) for neighbour, net in zip(neighbours, nets[1:], strict=True)
        ],
    )


def _numbers_of(value: object, path: str = "") -> Iterator[tuple[str, float]]:
    """Yield the numbers of steps other than 0, by path, in the order in which they are written."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from _numbers_of(part, f"{path}.{key}" if path else key)
    elif isinstance(value, list | tuple):
        for index, part in enumerate(value):
            yield from _numbers_of(part, f"{path}[{index}]")
    elif isinstance(value, bool) or path in _CHANGES_NOTHING:
        return
    elif isinstance(value, int | float) and value:
        yield path, value


def _alone(numbers: Values) -> list[Neighbour]:
    return [
        Neighbour({path: _changed(value, change)}, path, change)
        for path, value in numbers.items()
        for change in NEIGHBOUR_CHANGES
    ]


def _at_random(numbers: Values, seed: int) -> list[Neighbour]:
    if not numbers:
        return []
    most = max(NEIGHBOUR_CHANGES)
    draws = np.random.default_rng(seed).uniform(-most, most, (AT_RANDOM, len(numbers))).tolist()
    return [
        Neighbour(
            {
                path: _changed(value, change, least=0)
                for (path, value), change in zip(numbers.items(), changes, strict=True)
            }
        )
        for changes in draws
    ]


def _changed(value: float, change: float, *, least: int = 1) -> float:
    """Return the number changed by a fraction of it: a whole one to a whole one, by `least`."""
    if isinstance(value, float) and not value.is_integer():
        return round(value * (1 + change), 10)
    moved = max(round(abs(value * change)), least)
    return value + moved if value * change > 0 else value - moved


def _nets(
    data: PreparedData,
    all_steps: Sequence[Mapping[str, Any]],
    *,
    capital: float,
    schedule: Schedule,
    report: ReportProgress,
) -> list[float | None]:
    """Return the net profit of each of the steps, None where they are not valid or never warm."""
    terms, nets = terms_of(data.symbols, data.contracts, schedule), list[float | None]()
    ranges = [row_range_of(data.market, EVERY_ROW, by_days=True)]
    buffers = buffers_for(data.market, ranges)
    for number, steps in enumerate(all_steps):
        report(number / len(all_steps))
        strategy = read(steps).strategy
        if strategy is None:
            nets.append(None)
            continue
        plan = plan_of(strategy)
        try:
            market, signals = data.with_signals(required_inputs(strategy), plan)
        except InsufficientBars:
            nets.append(None)
            continue
        (simulation,) = simulate_plans(
            [plan],
            TradedMarket(market, terms, data.candles),
            signals[np.newaxis],
            ranges,
            capital=capital,
            report=ignore_progress,
            buffers=buffers,
        )
        nets.append(simulation.result_data.net)
    return nets
