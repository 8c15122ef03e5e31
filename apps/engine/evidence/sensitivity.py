"""The sensitivity of a result to small changes in the numbers of its steps.

Each number is changed alone by each of NEIGHBOUR_CHANGES, and all of them at random by up to the
largest of these. A whole number is changed by 1 at least. An invalid set of steps is counted and
not run. A set with the same net profit to the paisa is not a neighbour: the change had no effect.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

import numpy as np

from apps.engine.errors import InsufficientBars
from apps.engine.evidence.figures import NeighbourFigures, SensitivityFigures
from apps.engine.evidence.inputs import EvidenceInput
from apps.engine.evidence.sections import (
    CheckStatus,
    EvidenceCheck,
    EvidenceSection,
    graded,
    percent_text,
    rounded_figure,
)
from apps.engine.language.strategy import read_strategy
from apps.engine.lazy import lazy
from apps.engine.signals.required_inputs import required_inputs
from apps.engine.simulation.plan import plan_of, terms_of
from apps.engine.simulation.simulations import (
    TradedMarket,
    buffers_for,
    ignore_progress,
    row_range_of,
    simulate_plans,
)
from apps.engine.studies.parameters import ParameterPath, applied
from apps.engine.units import Unit, rounded, rupees_text

SENSITIVITY: Final = "sensitivity"
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
    """Values by path, and the net profit of steps with them; None if they cannot run.

    `path` and `change` are of the single changed number; None for a random set.
    """

    values: Values
    path: str | None = None
    change: float | None = None
    net: float | None = None


@dataclass(frozen=True)
class Sensitivity:
    """The neighbours of steps with a net profit of `net` rupees.

    `numbers` counts the numbers of the steps, `tried` the changed ones.
    """

    net: float
    numbers: int
    tried: int
    neighbours: Sequence[Neighbour]

    @lazy
    def nets(self) -> list[float]:
        """The net profits of the neighbours that ran."""
        return [neighbour.net for neighbour in self.neighbours if neighbour.net is not None]

    @lazy
    def distinct(self) -> list[float]:
        """The net profits that differ from the result's, to the paisa."""
        return [net for net in self.nets if round(net, 2) != round(self.net, 2)]

    @property
    def profitable(self) -> float | None:
        """The share of profitable ones among the distinct neighbours."""
        distinct = self.distinct
        return sum(net > 0 for net in distinct) / len(distinct) if distinct else None

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


def sensitivity(evidence: EvidenceInput) -> Sensitivity:
    """Simulate the neighbours of a result's steps.

    For a walk-forward they are of each window's own steps, in its test, with added profits. Raises
    the errors of `simulate.simulate`.
    """
    parts = [(part, _numbers_of_steps(part)) for part in evidence.parts]
    paths = [path for path in parts[0][1] if all(path in numbers for _, numbers in parts)]
    net, neighbours = 0.0, list[Sequence[Neighbour]]()
    for part, numbers in parts:
        changed = {path: numbers[path] for path in paths[:MOST_NUMBERS]}
        tried = [*_alone(changed), *_at_random(changed, evidence.inputs.seed)]
        own, *nets = _nets(part, [{}, *(neighbour.values for neighbour in tried)])
        net += own or 0.0
        neighbours.append(
            [neighbour._replace(net=net) for neighbour, net in zip(tried, nets, strict=True)]
        )
    return Sensitivity(
        net=net,
        numbers=len(paths),
        tried=len(paths[:MOST_NUMBERS]),
        neighbours=[_joined(same) for same in zip(*neighbours, strict=True)],
    )


def _numbers_of_steps(evidence: EvidenceInput) -> dict[str, float]:
    """Return the numbers keyed by path, in the order of the steps."""
    # As the strategy has them: a number that may have decimals is a float, however it was sent.
    strategy = evidence.inputs.strategy.model_dump(mode="json", by_alias=True, exclude_none=True)
    kinds = dict(_numbers_of(strategy))
    return {path: kinds.get(path, number) for path, number in _numbers_of(evidence.inputs.steps)}


def _joined(same: Sequence[Neighbour]) -> Neighbour:
    """Return one neighbour over all windows: its numbers differ between them."""
    if len(same) == 1:
        return same[0]
    nets = [neighbour.net for neighbour in same if neighbour.net is not None]
    return same[0]._replace(values={}, net=sum(nets) if len(nets) == len(same) else None)


def sensitivity_section(evidence: EvidenceInput) -> EvidenceSection[SensitivityFigures]:
    """Return the results of the neighbours: how many stay profitable, the worst, the median, a
    cliff.
    """
    thresholds = evidence.thresholds
    result = sensitivity(evidence)
    status = graded(
        result.profitable, thresholds.profitable_neighbours, thresholds.profitable_neighbours_doubt
    )
    if status == CheckStatus.PASS and result.cliff:
        status = CheckStatus.DOUBT
    sentence = _sentence(result)
    nets = np.array(result.distinct)
    cliff = None if result.cliff is None else _row(result.cliff)
    return EvidenceSection(
        SENSITIVITY,
        SensitivityFigures(
            netProfit=rounded(result.net, Unit.RUPEES),
            numbers=result.numbers,
            changedNumbers=result.tried,
            neighbours=len(result.neighbours),
            invalid=len(result.neighbours) - len(result.nets),
            distinct=len(nets),
            profitable=rounded_figure(result.profitable, Unit.RATIO),
            worst=rounded(float(nets.min()), Unit.RUPEES) if len(nets) else None,
            median=rounded(float(np.median(nets)), Unit.RUPEES) if len(nets) else None,
            cliff=cliff,
            changes=[_row(neighbour) for neighbour in result.neighbours if neighbour.path],
            passesFrom=thresholds.profitable_neighbours,
            doubtFrom=thresholds.profitable_neighbours_doubt,
        ),
        sentence + evidence.simulation_note,
        ("Other conditions, indicators or exits.",),
        EvidenceCheck(SENSITIVITY, status, sentence),
    )


def _sentence(result: Sensitivity) -> str:
    if result.profitable is None:
        return "Small changes of the parameters do not change the result."
    sentence = (
        f"{percent_text(result.profitable)} of {len(result.distinct):,} nearby settings make money."
    )
    if result.net <= 0:
        return sentence
    cliff = result.cliff
    if cliff is None or cliff.path is None or cliff.change is None or cliff.net is None:
        return f"{sentence} No single change of 10% takes half of the profit."
    value = cliff.values.get(cliff.path)
    change = f"{cliff.change:+.0%}" if value is None else f"at {value:g}"
    name = ParameterPath(cliff.path).words
    return (
        f"{sentence} Cliff: {name} {change} turns {rupees_text(result.net)}"
        f" into {rupees_text(cliff.net)}."
    )


def _row(neighbour: Neighbour) -> NeighbourFigures:
    return NeighbourFigures(
        path=neighbour.path,
        value=neighbour.values.get(neighbour.path or ""),
        change=neighbour.change,
        netProfit=rounded_figure(neighbour.net, Unit.RUPEES),
    )


def _numbers_of(value: object, path: str = "") -> Iterator[tuple[str, float]]:
    """Yield the numbers of steps other than 0, by path, in the order of the steps."""
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
    """Return the number changed by a fraction; a whole number by a whole number of at least
    `least`.
    """
    if isinstance(value, float):
        return round(value * (1 + change), 10)
    moved = max(round(abs(value * change)), least)
    return value + moved if value * change > 0 else value - moved


def _nets(evidence: EvidenceInput, all_values: Sequence[Values]) -> list[float | None]:
    """Return the net profit of the steps with each of the values, None if they are invalid or never
    warm.
    """
    data, nets = evidence.data, list[float | None]()
    terms = terms_of(data.symbols, data.contracts, evidence.inputs.charges)
    ranges = [row_range_of(data.market, evidence.rows, by_days=True)]
    buffers = buffers_for(data.market, ranges)
    for values in all_values:
        strategy = read_strategy(applied(evidence.inputs.steps, values)).strategy
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
            capital=evidence.inputs.capital,
            report=ignore_progress,
            buffers=buffers,
        )
        nets.append(simulation.result_data.net)
    return nets
