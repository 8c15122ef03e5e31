"""What each set of a search is played by, put together without a strategy of its own.

Every number of a script comes of one object of the steps, with what that holds. So what the values
of an object change in the script of the whole is found once, alone; a set has the changes of all.
"""

from __future__ import annotations

from collections.abc import Callable
from operator import itemgetter
from typing import Any, NamedTuple

from apps.engine.kernel.records import Plan
from apps.engine.language.strategy import Strategy
from apps.engine.signals.required_inputs import RequiredInputs, required_inputs
from apps.engine.simulation.plan import plan_of
from apps.engine.studies.strategies import Strategies, Values

_Picked = Callable[[Values], object]
"""The values of one object, all together."""


class Script(NamedTuple):
    """A strategy as its plan and the inputs that it requires."""

    plan: Plan
    inputs: RequiredInputs


def script_of(strategy: Strategy) -> Script:
    return Script(plan_of(strategy), required_inputs(strategy))


class Scripts:
    """Of the strategies. Any number of threads may share them."""

    def __init__(self, strategies: Strategies) -> None:
        self._strategies = strategies
        self._whole = script_of(strategies.whole) if strategies.whole else None
        self._alone: list[tuple[_Picked, dict[object, Script | None]]] = [
            (itemgetter(*group), {}) for group in strategies.groups
        ]

    def of(self, values: Values) -> Script | None:
        """None where the strategy does not validate. `values` has one for each path."""
        whole = self._whole
        if whole is None or len(self._alone) == 1:
            strategy = self._strategies.of(values)
            return script_of(strategy) if strategy else None
        made: Script = whole
        for group, (own, known) in zip(self._strategies.groups, self._alone, strict=True):
            key = own(values)
            if key not in known:
                known[key] = self._changed(whole, {path: values[path] for path in group})
            alone = known[key]
            if alone is None:
                return None
            made = alone if made is whole else both(whole, made, alone)
        return made

    def _changed(self, whole: Script, values: Values) -> Script | None:
        """The script of the whole with the values of one object."""
        strategy = self._strategies.of(values)
        if strategy is None:
            return None
        shared: Script = sharing(whole, script_of(strategy))
        return shared


# Any: a script, or what it holds, which is tuples all the way down.


def sharing(whole: Any, changed: Any) -> Any:
    """What was changed, with the whole's own objects wherever it is equal."""
    if not isinstance(whole, tuple):
        return changed
    places = zip(whole, changed, strict=True)
    return _like(whole, [a if a == b else sharing(a, b) for a, b in places])


def both(whole: Any, one: Any, other: Any) -> Any:
    """The whole with what is another object in `one` or in `other`; no number is so in both."""
    places = zip(whole, one, other)  # noqa: B905 - they have one shape, and this is done often
    return _like(whole, [b if c is a else c if b is a else both(a, b, c) for a, b, c in places])


def _like(whole: Any, items: list[Any]) -> Any:
    """A tuple, or a named one."""
    return tuple.__new__(type(whole), items)
