"""Attributes computed on first use, until `cached_property` needs no lock."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from functools import cached_property

    lazy = cached_property
else:

    class lazy:  # noqa: N801 - written as a decorator
        """Like functools' `cached_property`, but without its lock.

        In Python 3.11 that is one lock for all objects and threads during the computation. Here two
        concurrent readers may both compute the value.
        """

        def __init__(self, work: Callable[[Any], Any]) -> None:
            self._work, self._name, self.__doc__ = work, work.__name__, work.__doc__

        def __get__(self, owner: Any, kind: type | None = None) -> Any:
            if owner is None:
                return self
            value = owner.__dict__[self._name] = self._work(owner)
            return value


def lazy_names(package: str, names: Mapping[str, Sequence[str]]) -> Callable[[str], Any]:
    """Return the `__getattr__` of a package: it imports a module on first use of one of its names.

    `names` are keyed by module, relative to the package.
    """
    modules = {name: module for module, own in names.items() for name in own}

    def name_of(name: str) -> Any:
        if name not in modules:
            raise AttributeError(f"{package} has no {name}.")
        return getattr(import_module(f"{package}.{modules[name]}"), name)

    return name_of
