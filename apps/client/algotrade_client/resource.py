"""The base of the groups of calls: lists, ids, waits."""

import datetime as dt
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Protocol, TypeVar

from .records import Json, Record, wire_name
from .transport import Query, Transport

SECONDS_OF_A_WAIT: Final = 30.0  # the most that the service accepts
_SECONDS_TO_PROGRESS: Final = 2.0
_PAGE: Final = 100

Kind = TypeVar("Kind", bound=Record)
Moment = str | dt.date | dt.datetime


class HasId(Protocol):
    @property
    def id(self) -> str: ...


Id = str | HasId
"""An id, or a record with one."""


def id_of(record: Id) -> str:
    return record if isinstance(record, str) else record.id


def to_text(moment: Moment | None) -> str | None:
    """Return a date or a moment as the service takes it; a time needs its zone."""
    if isinstance(moment, dt.datetime):
        if moment.tzinfo is None:
            raise ValueError(f"{moment} has no time zone")
        return moment.astimezone(dt.UTC).isoformat().replace("+00:00", "Z")
    return None if moment is None else str(moment)


def to_wire(options: Mapping[str, object]) -> dict[str, object]:
    """Return options under their wire names, without absent ones."""
    return {wire_name(name): value for name, value in options.items() if value is not None}


class Resource:
    """Calls of one kind."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport

    def _get(self, kind: type[Kind], path: str, **query: object) -> Kind:
        return kind.read(self._transport.call("GET", path, query=to_wire(query)))

    def _post(self, kind: type[Kind], path: str, body: Json | None = None, **options: Any) -> Kind:
        return kind.read(self._transport.call("POST", path, body, **options))

    def _listed(
        self, kind: type[Kind], path: str, query: Query | None = None, *, is_growing: bool = False
    ) -> Iterator[Kind]:
        """Yield all items of a list as records."""
        return map(kind.read, self._rows(path, query, is_growing=is_growing))

    def _rows(
        self, path: str, query: Query | None = None, *, is_growing: bool = False
    ) -> Iterator[Json]:
        """Yield all items of a list, a page at a time.

        A growing list continues after the last item, so that new items repeat none.
        """
        position: dict[str, object] = {}
        while True:
            query_of_page = {**(query or {}), **position, "limit": _PAGE}
            answer = self._transport.call("GET", path, query=query_of_page)
            rows, page = answer["data"], answer["pagination"]
            yield from rows
            if len(rows) < _PAGE:
                return
            position = {"after": rows[-1]["id"]} if is_growing else {"page": page["page"] + 1}

    def _until(
        self,
        path: str,
        has_ended: Callable[[Json], bool],
        *,
        progress: Callable[[Json], None] | None = None,
        seconds: float | None = None,
        query: Query | None = None,
    ) -> Json:
        """Return the answer of a path when it has ended, or after `seconds`.

        `progress` gets it every two seconds; without it the service holds each answer for 30 s.
        """
        now, sleep = self._transport.clock, self._transport.sleep
        begun = now()
        while True:
            left = SECONDS_OF_A_WAIT if seconds is None else max(0.0, begun + seconds - now())
            wait = min(left, _SECONDS_TO_PROGRESS if progress else SECONDS_OF_A_WAIT)
            asked = now()
            answer: Json = self._transport.call("GET", path, query=query, wait=wait)
            if progress:
                progress(answer)
            if has_ended(answer) or left == 0:
                return answer
            if now() - asked < min(wait, 1.0):  # too many wait there: it answered at once
                sleep(1.0)
