"""Entity tags: the state of a resource in an answer, and the state that a write expects.

Weak tags are compared by value, because proxies that compress answers weaken them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from django.utils.http import parse_etags

from apps.core.errors import PreconditionFailed


def tag_of(rev: int) -> str:
    """Return the strong tag of a row in this revision."""
    return f'"{rev}"'


@dataclass(frozen=True, slots=True)
class Expectation:
    """A parsed If-Match: the acceptable tags, or None for any state."""

    tags: frozenset[str] | None = None

    def check(self, rev: int) -> None:
        """Raises PreconditionFailed."""
        current = tag_of(rev)
        if self.tags is not None and current not in self.tags:
            raise PreconditionFailed(reason="precondition_failed", currentETag=current)


ANY_STATE: Final = Expectation()


def expected(headers: Mapping[str, str]) -> Expectation:
    """Parse If-Match. An unreadable header matches no revision, so the write is refused."""
    tags = _tags(headers.get("If-Match", "*"))
    return ANY_STATE if tags == {"*"} else Expectation(tags)


def is_known(tag: str, headers: Mapping[str, str]) -> bool:
    """Return whether If-None-Match has this tag: the client has the answer already."""
    return not _tags(headers.get("If-None-Match", "")).isdisjoint({tag, "*"})


def _tags(text: str) -> frozenset[str]:
    return frozenset(tag.removeprefix("W/") for tag in parse_etags(text))
