"""A wrong request, and its answer."""

import json
from collections.abc import Callable, Mapping
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Final, NamedTuple

from tests import make

ALGORITHMS: Final = "/api/trading/algorithms"
ALGORITHM: Final = ALGORITHMS + "/{algorithm}"
BACKTESTS: Final = "/api/backtests"
BACKTEST: Final = BACKTESTS + "/{backtest}"
VALIDATE: Final = "/api/symbols/validate"
SEARCH: Final = "/api/symbols/search"
SIGN_UP: Final = "/api/auth/signup"
LOG_IN: Final = "/api/auth/login"
REFRESH: Final = "/api/auth/refresh-token"
PROFILE: Final = "/api/auth/profile"
JSON: Final = "application/json"


class Refusal(NamedTuple):
    status: int
    code: str


INVALID: Final = Refusal(400, "VALIDATION_ERROR")
FORBIDDEN: Final = Refusal(403, "FORBIDDEN")
NOT_FOUND: Final = Refusal(404, "NOT_FOUND")
NO_ALGORITHM: Final = Refusal(404, "ALGORITHM_NOT_FOUND")
NO_BACKTEST: Final = Refusal(404, "BACKTEST_NOT_FOUND")
WRONG_METHOD: Final = Refusal(405, "VALIDATION_ERROR")
NOT_ACCEPTABLE: Final = Refusal(406, "VALIDATION_ERROR")
TOO_LARGE: Final = Refusal(413, "VALIDATION_ERROR")
MEDIA_TYPE: Final = Refusal(415, "VALIDATION_ERROR")
NO_DATA: Final = Refusal(422, "INSUFFICIENT_DATA")


@dataclass(frozen=True)
class Row:
    """A request with one fault, described by `name`.

    `path` may contain {algorithm} and {backtest}, for the caller's own; the error must have at
    least `details`.
    """

    name: str
    expect: Refusal
    method: str = "POST"
    path: str = ALGORITHMS
    body: object = b""
    kind: str = JSON
    headers: Mapping[str, str] = field(default_factory=dict)
    details: Mapping[str, object] = field(default_factory=dict)

    def __str__(self) -> str:
        return self.name

    @property
    def raw(self) -> bytes:
        return self.body if isinstance(self.body, bytes) else json.dumps(self.body).encode()


def complete(**changed: object) -> dict[str, Any]:
    """Return a good body of an algorithm."""
    return {"name": "Cross", **make.steps(), **changed}


def _way(path: str) -> list[str | int]:
    words = path.replace("[", ".").replace("]", "").split(".")
    return [int(word) if word.isdigit() else word for word in words]


def with_at(path: str, value: object) -> dict[str, Any]:
    """Return a good body with this value at this dotted path."""
    body = deepcopy(complete())
    within: Any = body
    *way, last = _way(path)
    for word in way:
        within = within.setdefault(word, {}) if isinstance(word, str) else within[word]
    within[last] = value
    return body


def wrong(name: str, path: str, value: object, /, **details: object) -> Row:
    """Return a row for an algorithm with a wrong value; the error must name its path."""
    return Row(name, INVALID, body=with_at(path, value), details={"field": path, **details})


def rows_of(
    letter: str, first: int, make_row: Callable[[str, Any], Row], *values: Any
) -> list[Row]:
    """Return rows that differ in one value, numbered from `first`."""
    return [
        make_row(f"{letter}{first + n:02d} {shown(value)}", value) for n, value in enumerate(values)
    ]


def shown(value: object) -> str:
    text = ascii(value)
    return text if len(text) <= 60 else f"{text[:40]}... ({len(text)} characters)"
