"""Lifecycles: a status changes by one table of transitions and one conditional UPDATE."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, ClassVar, NamedTuple, TypeVar

from django.db.models import Model, QuerySet

Row = TypeVar("Row", bound=Model)


class Transition(NamedTuple):
    """The statuses that a change may start from, and the status that it leads to.

    Error messages name the first source, the usual one.
    """

    sources: tuple[StrEnum, ...]
    target: StrEnum


class StatusQuerySet(QuerySet[Row]):
    """Rows with a `status` that changes only by the transitions of their lifecycle."""

    transitions: ClassVar[Mapping[Any, Transition]]

    def transition(self, name: StrEnum, **changes: object) -> int:
        """Change the status, and these columns with it.

        Return how many rows had a status from which the transition may start.
        """
        sources, target = self.transitions[name]
        return self.filter(status__in=sources).update(status=target, **changes)
