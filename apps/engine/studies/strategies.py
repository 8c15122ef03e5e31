"""The strategies of a search, put together of what was validated before.

What an object of the steps may hold is said by its own model, which looks at no number inside what
it holds, and what one step needs of another are words. So where all of the steps validate, only
those objects must be validated anew that numbers stand in; the objects around them are copied with
them.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pydantic import ValidationError

from apps.engine.language import strategy as strategies
from apps.engine.language.fields import Part
from apps.engine.language.strategy import Strategy
from apps.engine.studies.grid import Way, applied, way_of, with_value

Values = Mapping[str, float]


class Strategies:
    """What `strategy.read` makes of steps with values at some paths.

    `whole` is that of the steps as they are, None where they do not validate. `groups` are the
    paths into one object each, which must be validated together.
    """

    def __init__(self, steps: Mapping[str, Any], paths: Sequence[str]) -> None:
        self._steps = steps
        self.whole = strategies.read(steps).strategy
        ways = {path: way_of(path) for path in paths}
        self._root = _object(self.whole, steps, ways) if self.whole else None
        self.groups = tuple(self._root.groups()) if self._root else (tuple(paths),)

    def of(self, values: Values) -> Strategy | None:
        """None where it does not validate. Of each group `values` has all paths, or none."""
        if self._root is None:
            return strategies.read(applied(self._steps, values)).strategy
        found = self._root.made(values)
        assert found is None or isinstance(found, Strategy)
        return found


class _Place(NamedTuple):
    """A field of an object; `entry` is that of the array which it holds, or None."""

    field: str
    entry: int | None


@dataclass(frozen=True, slots=True)
class _Leaf:
    """An object of the steps that values change in itself: it is validated with them.

    `part` is what was made of its JSON as it is.
    """

    part: Part
    json: Mapping[str, Any]
    ways: Mapping[str, Way]

    def groups(self) -> Iterator[tuple[str, ...]]:
        yield tuple(self.ways)

    def made(self, values: Values) -> Part | None:
        """The object with the values; None where it does not validate."""
        if not self.ways.keys() <= values.keys():
            return self.part
        changed: Any = self.json
        for path, way in self.ways.items():
            changed = with_value(changed, way, values[path])
        try:
            return type(self.part).model_validate(changed)
        except ValidationError:
            return None


@dataclass(frozen=True, slots=True)
class _Around:
    """An object that values change in what it holds: it is copied around that."""

    part: Part
    inner: Mapping[_Place, _Leaf | _Around]

    def groups(self) -> Iterator[tuple[str, ...]]:
        for one in self.inner.values():
            yield from one.groups()

    def made(self, values: Values) -> Part | None:
        """The object with the values; None where one that it holds does not validate."""
        changed: dict[str, Any] = {}
        for (name, entry), one in self.inner.items():
            part = one.made(values)
            if part is None:
                return None
            if entry is None:
                changed[name] = part
            else:
                held = changed.get(name) or getattr(self.part, name)
                changed[name] = (*held[:entry], part, *held[entry + 1 :])
        return self.part.model_copy(update=changed)


def _object(part: Part, json: Mapping[str, Any], ways: Mapping[str, Way]) -> _Leaf | _Around | None:
    """None where the object cannot be validated without what is around it."""
    inside: dict[_Place, dict[str, Way]] = {}
    for path, way in ways.items():
        place = _place(part, way)
        if place is None:
            return _leaf(part, json, ways)
        inside.setdefault(place, {})[path] = way[1 if place.entry is None else 2 :]
    inner = dict[_Place, _Leaf | _Around]()
    for place, deeper in inside.items():
        held, sent = getattr(part, place.field), json[place.field]
        if place.entry is not None:
            held, sent = held[place.entry], sent[place.entry]
        found = _object(held, sent, deeper)
        if found is None:
            return _leaf(part, json, ways)
        inner[place] = found
    return _Around(part, inner)


def _leaf(part: Part, json: Mapping[str, Any], ways: Mapping[str, Way]) -> _Leaf | None:
    """An object that is validated whole, if that makes of it what it is."""
    if isinstance(part, Strategy):
        return None
    try:
        alone = type(part).model_validate(json)
    except ValidationError:
        return None
    return _Leaf(part, json, ways) if alone == part else None


def _place(part: Part, way: Way) -> _Place | None:
    """Where the way leads on into another object; None where it ends at a field of this one."""
    name, *rest = way
    held = getattr(part, str(name), None)
    if isinstance(held, Part) and rest:
        return _Place(str(name), None)
    if isinstance(held, tuple) and len(rest) > 1 and isinstance(rest[0], int):
        return _Place(str(name), rest[0]) if isinstance(held[rest[0]], Part) else None
    return None
