"""Entity tags: which state of a resource an answer shows, and which one a write expects.

Weak tags are compared by their value: proxies that compress answers weaken them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from django.utils.http import parse_etags

from apps.core.errors import PreconditionFailed


def tag_of(rev: int) -> str:
    """The strong tag of a row in this revision."""
    return f'"{rev}"'


@dataclass(frozen=True, slots=True)
class Expectation:
    """What If-Match asks for: one of these tags; with None, whatever there is."""

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
    """Tell whether If-None-Match names this tag: the client has the answer already."""
    return not _tags(headers.get("If-None-Match", "")).isdisjoint({tag, "*"})


def _tags(text: str) -> frozenset[str]:
    return frozenset(tag.removeprefix("W/") for tag in parse_etags(text))
