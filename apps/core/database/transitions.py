"""Lifecycles: a status changes by one table of transitions and one conditional UPDATE."""

from collections.abc import Mapping
from enum import StrEnum
from typing import Any, ClassVar, NamedTuple, TypeVar

from django.db.models import Model, QuerySet

Row = TypeVar("Row", bound=Model)


class Transition(NamedTuple):
    """The statuses that a change starts from, and the one that it leads to. The first source is the
    ordinary one: a refusal names it.
    """

    sources: tuple[StrEnum, ...]
    target: StrEnum


class StatusQuerySet(QuerySet[Row]):
    """Rows with a `status` that changes by the transitions of their lifecycle alone."""

    transitions: ClassVar[Mapping[Any, Transition]]

    def transition(self, name: StrEnum, **changes: object) -> int:
        """Change the status, and these columns with it; return how many rows were in a status that
        the transition starts from.
        """
        sources, target = self.transitions[name]
        return self.filter(status__in=sources).update(status=target, **changes)
