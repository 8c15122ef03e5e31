"""Entity tags: which state of a resource an answer shows, and which one a write expects.

A 304 has no place here: under `Cache-Control: no-store` a client has no answer to go on using.
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
        """Raises PreconditionFailed; weak tags are never what is there."""
        current = tag_of(rev)
        if self.tags is not None and current not in self.tags:
            raise PreconditionFailed(reason="precondition_failed", currentETag=current)


ANY_STATE: Final = Expectation()


def expected(headers: Mapping[str, str]) -> Expectation:
    """Of a request's headers; a header that cannot be read expects what never is."""
    text = headers.get("If-Match")
    tags = ["*"] if text is None else parse_etags(text)
    return ANY_STATE if tags == ["*"] else Expectation(frozenset(tags))
