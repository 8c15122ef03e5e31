"""JSON as this service reads it: exactly what the client meant, or a refusal that says where.

Python's own reader keeps the last of duplicate keys, takes NaN and turns 1e400 into infinity;
PostgreSQL refuses NUL and lone surrogates only when the row is written. All of that is refused
here, before anything is done.
"""

import json
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import Final, NoReturn

from apps.core.errors import WITHHELD, Fault, InvalidInput

MAX_DEPTH: Final = 20
MAX_NUMBER: Final = 1e12
_MAX_DIGITS: Final = 40
# A string as a whole, or one bracket: what is in a string does not nest.
_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[\[\]{}]', re.DOTALL)
UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")
# No field is known here, but what its name calls a secret is not sent back.
_SECRET: Final = re.compile(r"password|secret|token|^code\b", re.IGNORECASE)


class _Refused:
    """Takes the place of a value that was refused while it was read; the walk finds its path."""

    def __init__(self, reason: str, value: str) -> None:
        self.reason, self.value = reason, value


def read(body: bytes) -> object:
    """The document in `body`; `InvalidInput` names the path of the first value that is refused."""
    _check_depth(body)
    try:
        document = json.loads(
            body.decode("utf-8"),
            object_pairs_hook=_pairs,
            parse_constant=lambda text: _Refused("is not a JSON number", text),
            parse_float=_float,
            parse_int=_integer,
        )
    except UnicodeDecodeError:
        _refuse("The body is not UTF-8.")
    except json.JSONDecodeError as error:
        _refuse(
            f"The body is not valid JSON: {error.msg} (line {error.lineno}, column {error.colno})."
        )
    for fault in _faults(document, ""):
        is_secret = _SECRET.search(fault.field) is not None
        raise InvalidInput(replace(fault, value=WITHHELD) if is_secret else fault)
    return document


def _refuse(message: str) -> NoReturn:
    raise InvalidInput(Fault("", message))


def _check_depth(body: bytes) -> None:
    depth = 0
    for token in _TOKEN.finditer(body):
        mark = body[token.start()]
        if mark in b"[{":
            depth += 1
            if depth > MAX_DEPTH:
                _refuse(f"The body nests deeper than {MAX_DEPTH} levels.")
        elif mark in b"]}":
            depth -= 1


def _pairs(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members: dict[str, object] = {}
    for key, value in pairs:
        members[key] = _Refused("stands twice in one object", key) if key in members else value
    return members


def _float(text: str) -> float | _Refused:
    value = float(text)
    if math.isinf(value) or abs(value) > MAX_NUMBER:
        return _out_of_range(text)
    return value


def _integer(text: str) -> int | _Refused:
    if len(text) > _MAX_DIGITS or abs(int(text)) > MAX_NUMBER:
        return _out_of_range(text)
    return int(text)


def _out_of_range(text: str) -> _Refused:
    return _Refused("lies outside -1e12 to 1e12", text[:_MAX_DIGITS])


def storable(text: str) -> str:
    """The text with a replacement character wherever it cannot be told."""
    return UNSTORABLE.sub("\ufffd", text)


def _faults(value: object, path: str) -> Iterator[Fault]:
    if isinstance(value, _Refused):
        yield Fault(path, value.reason, value.value)
    elif isinstance(value, str):
        if UNSTORABLE.search(value):
            yield Fault(path, "holds a NUL or half of a surrogate pair", storable(value))
    elif isinstance(value, dict):
        for key, inner in value.items():
            if UNSTORABLE.search(key):
                message = "has a key that holds a NUL or half of a surrogate pair"
                yield Fault(path, message, storable(key))
            else:
                yield from _faults(inner, f"{path}.{key}" if path else key)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            yield from _faults(inner, f"{path}[{index}]")
