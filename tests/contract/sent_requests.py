"""Parsed requests, and the required content of their refusals."""

import json
import math
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from apps.core.api.middleware import MAX_BODY, MAX_SMALL_BODY
from apps.core.requests.strict_json import MAX_DEPTH, MAX_NUMBER, UNSTORABLE
from tests.contract.mutations import Json
from tests.error_responses import assert_error


@dataclass(frozen=True)
class Sent:
    """A body as Python's own reader parses it: None if it is not a JSON object. A missing body is
    an empty object. `places` has all values at each dotted path; `twice` the paths of repeated
    keys.
    """

    document: dict[str, Json] | None
    places: dict[str, list[Json]]
    twice: frozenset[str]


class _Pairs(list[tuple[str, Json]]):
    """An object with its repeated keys."""


def read(raw: bytes) -> Sent:
    try:
        document = json.loads(
            raw.decode("utf-8") or "{}", object_pairs_hook=_Pairs, parse_int=_whole
        )
    except (ValueError, RecursionError):
        return Sent(None, {}, frozenset())
    if not isinstance(document, _Pairs) or _depth(document) > MAX_DEPTH:
        return Sent(None, {}, frozenset())
    places: dict[str, list[Json]] = {}
    for path, value in _walk(document, ""):
        places.setdefault(path, []).append(value)
    twice = frozenset(path for path, values in places.items() if len(values) > 1)
    return Sent(_plain(document), places, twice)


def _whole(text: str) -> float:
    return int(text) if len(text) < 4000 else math.copysign(math.inf, -1 if text[0] == "-" else 1)


def _depth(value: Json) -> int:
    inner = [v for _, v in value] if isinstance(value, _Pairs) else value
    return 1 + max(map(_depth, inner), default=0) if isinstance(inner, list) else 0


def _walk(value: Json, path: str) -> Iterator[tuple[str, Json]]:
    if isinstance(value, _Pairs):
        for key, inner in value:
            child_path = f"{path}.{key}" if path else key
            yield child_path, inner
            yield from _walk(inner, child_path)
    elif isinstance(value, list):
        for index, inner in enumerate(value):
            child_path = f"{path}[{index}]"
            yield child_path, inner
            yield from _walk(inner, child_path)


def _plain(value: Json) -> Json:
    if isinstance(value, _Pairs):
        return {key: _plain(inner) for key, inner in value}
    return [_plain(inner) for inner in value] if isinstance(value, list) else value


def same(left: Json, right: Json) -> bool:
    """Return whether two JSON values are equal: true is not 1; 1.0 is 1."""
    if isinstance(left, bool) or isinstance(right, bool):
        return left is right
    if isinstance(left, dict) and isinstance(right, dict):
        return left.keys() == right.keys() and all(same(left[k], right[k]) for k in left)
    if isinstance(left, list) and isinstance(right, list):
        return len(left) == len(right) and all(map(same, left, right))
    return bool(left == right)


# Refusals


def assert_refused(
    response: Any,
    sent: Sent,
    raw: bytes,
    *,
    secrets: frozenset[str] = frozenset(),
    private: frozenset[str] = frozenset(),
) -> None:
    """Assert that the refusal names the path and the value, but for a secret only the path.

    A name with one of the `private` words may be either: a malformed document is refused before its
    fields are known.
    """
    if len(raw) > (MAX_SMALL_BODY if secrets else MAX_BODY):
        assert_error(response, 413, "VALIDATION_ERROR", reason="payload_too_large")
        return
    error = assert_error(response, 400, "VALIDATION_ERROR")
    assert len(error["message"]) < 1_000, error["message"]
    details = error.get("details", {})
    for fault in details.get("errors", [details]):
        if sent.document is None:
            assert "field" not in fault, fault
            continue
        name = re.split(r"[.\[]", fault.get("field", ""))[0]
        if name in secrets:
            assert "value" not in fault, fault
        elif "value" in fault or not any(word in name.lower() for word in private):
            assert_names_its_place(fault, sent)


def assert_names_its_place(fault: dict[str, Any], sent: Sent) -> None:
    values = sent_values_at(fault.get("field", ""), sent)
    if any(UNSTORABLE.search(path) for path in sent.places):
        assert "value" in fault
        return  # a key is wrong, and the path is its object's
    assert "field" in fault or "" in sent.places, fault
    assert ("value" in fault) is bool(values), (fault, values)
    if values:
        doubled = fault.get("field") in sent.twice
        assert doubled or any(is_echo(fault["value"], v) for v in values), (fault, values)


def sent_values_at(prefix: str, sent: Sent) -> list[Json]:
    """Return the values sent at a path, or below its beginning if the path was cut."""
    if not prefix.endswith("…"):
        return [_plain(value) for value in sent.places.get(prefix, [])]
    matching = [values for path, values in sent.places.items() if path.startswith(prefix[:-1])]
    return [_plain(value) for values in matching for value in values]


def is_echo(shown: Json, value: Json) -> bool:
    """Return whether this is the value, or the beginning of a long one."""
    if isinstance(value, str):
        cleaned = UNSTORABLE.sub("\ufffd", value)
        whole = shown == cleaned and len(value) <= 100
        return whole or (isinstance(shown, str) and shown == cleaned[:100] + "…")
    if isinstance(value, int | float) and not isinstance(value, bool):
        if not abs(value) <= MAX_NUMBER:
            return isinstance(shown, str) and shown != ""
    elif isinstance(value, dict | list) and len(repr(value)) > 100:
        return bool(shown == f"{type(value).__name__} of {len(value)}")
    return same(shown, value)
