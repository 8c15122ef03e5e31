"""JSON, read strictly: the client's exact meaning, or an error with the position.

Python's own reader keeps the last of duplicate keys, accepts NaN and turns 1e400 into infinity.
PostgreSQL refuses NUL and lone surrogates, but only when the row is written. All of these are
refused here, before any work.
"""

import json
import math
import re
from dataclasses import replace
from functools import partial
from typing import Final, NoReturn

from apps.core.errors import WITHHELD, Fault, InvalidInput

MAX_DEPTH: Final = 20
MAX_NUMBER: Final = 1e12
_MAX_DIGITS: Final = 40
UNSTORABLE: Final = re.compile("[\x00\ud800-\udfff]")
# The fields are unknown here, but a value with the name of a secret is not sent back.
_SECRET: Final = re.compile(r"password|secret|token|^code\b", re.IGNORECASE)
_TOO_DEEP: Final = f"The body nests deeper than {MAX_DEPTH} levels."


class _Refused:
    """Marks a refused value while reading; a later walk finds its path."""

    def __init__(self, reason: str, value: str) -> None:
        self.reason, self.value = reason, value


def read_json(body: bytes, *, largest: float = MAX_NUMBER) -> object:
    """Return the document in `body`, whose numbers are at most `largest` away from zero.

    Raise `InvalidInput` with the path of the first fault.
    """
    try:
        document = json.loads(
            body.decode("utf-8"),
            object_pairs_hook=_pairs,
            parse_constant=lambda text: _Refused("is not a JSON number", text),
            parse_float=partial(_float, largest),
            parse_int=partial(_integer, largest),
        )
    except UnicodeDecodeError:
        _refuse("The body is not UTF-8.")
    except json.JSONDecodeError as error:
        _refuse(
            f"The body is not valid JSON: {error.msg} (line {error.lineno}, column {error.colno})."
        )
    except RecursionError:  # Python's reader ends some hundred levels down
        _refuse(_TOO_DEEP)
    fault = _first_fault(document, 1)
    if fault is not None:
        is_secret = _SECRET.search(fault.field) is not None
        raise InvalidInput(replace(fault, value=WITHHELD) if is_secret else fault)
    return document


def _refuse(message: str) -> NoReturn:
    raise InvalidInput(Fault("", message))


def _pairs(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members: dict[str, object] = {}
    for key, value in pairs:
        members[key] = _Refused("occurs twice in one object", key) if key in members else value
    return members


def _float(largest: float, text: str) -> float | _Refused:
    value = float(text)
    if math.isinf(value) or abs(value) > largest:
        return _out_of_range(largest, text)
    return value


def _integer(largest: float, text: str) -> int | _Refused:
    if len(text) > _MAX_DIGITS or abs(int(text)) > largest:
        return _out_of_range(largest, text)
    return int(text)


def _out_of_range(largest: float, text: str) -> _Refused:
    limit = f"{largest:.0e}".replace("+", "")
    return _Refused(f"lies outside -{limit} to {limit}", text[:_MAX_DIGITS])


def storable(text: str) -> str:
    """Return the text with a replacement character for each unstorable character."""
    return UNSTORABLE.sub("\ufffd", text)


def _first_fault(value: object, level: int) -> Fault | None:
    """Return the first error of a value at a level of nesting, with its path below that value.

    The document is at level 1. Raise `InvalidInput` if it nests too deep.
    """
    if isinstance(value, dict | list):
        if level > MAX_DEPTH:
            _refuse(_TOO_DEEP)
        return _first_fault_inside(value, level)
    if isinstance(value, _Refused):
        return Fault("", value.reason, value.value)
    if isinstance(value, str) and UNSTORABLE.search(value):
        return Fault("", "holds a NUL or half of a surrogate pair", storable(value))
    return None


def _first_fault_inside(value: dict[str, object] | list[object], level: int) -> Fault | None:
    is_object = isinstance(value, dict)
    for name, inner in value.items() if isinstance(value, dict) else enumerate(value):
        if is_object and UNSTORABLE.search(str(name)):
            message = "has a key that holds a NUL or half of a surrogate pair"
            return Fault("", message, storable(str(name)))
        if fault := _first_fault(inner, level + 1):
            return _below(str(name) if is_object else f"[{name}]", fault)
    return None


def _below(name: str, fault: Fault) -> Fault:
    """Prefix a fault's path with a key or index.

    Only faults get paths, because a key may be long.
    """
    separator = "." if fault.field and not fault.field.startswith("[") else ""
    return replace(fault, field=f"{name}{separator}{fault.field}")
