"""Check responses against the OpenAPI document."""

import re
import threading
from decimal import Decimal
from functools import cache
from typing import Any

import jsonschema_rs
from django.urls import Resolver404, resolve

from apps.algorithms.configuration import STEPS
from apps.core.api.resources import schema
from apps.engine.results.wire_units import FIELD_UNITS
from apps.engine.units import DECIMALS, Unit

_DOCUMENT_URI = "urn:document"
_UNTOLD = set(
    """
    Allow Cache-Control Connection Content-Length Content-Type Cross-Origin-Opener-Policy
    Referrer-Policy Vary X-Content-Type-Options X-Frame-Options
""".split()
)
"""Headers that HTTP and Django answer with, whatever is called."""
WRITTEN_BY_CLIENTS = {*STEPS, "walkForwardConfig", "monteCarloConfig", "config", "alerts"}
"""Fields that hold numbers as clients sent them."""
_WRITING = threading.Lock()


def document() -> dict[str, Any]:
    """Return the document, written on the first call.

    Concurrent first calls wait, because the writer is not thread-safe.
    """
    with _WRITING:
        return _document()


@cache
def _document() -> dict[str, Any]:
    return schema.document()


def check(response: Any) -> None:
    """Fail if the answer's status is not documented for its operation, or its body or headers
    differ. Addresses and verbs without an operation are not checked.
    """
    path = _template(response.request["PATH_INFO"])
    method = response.request["REQUEST_METHOD"].lower()
    if path is None or method not in document()["paths"].get(path, {}):
        return
    assert _is_promised(path, method, response.status_code), (
        f"{method.upper()} {path} answers {response.status_code}, which is not documented: "
        f"{response.content[:500]!r}"
    )
    _check_headers(response, headers_of(path, method, str(response.status_code)))
    judge = validator(path, method, str(response.status_code))
    kind = response.get("Content-Type", "")
    assert kind in answer_of(path, method, str(response.status_code)).get("content", {"": 0})
    if judge is None or kind != "application/json":
        content = response.getvalue()
        if response.streaming:
            response.streaming_content = [content]  # for the test to read once more
        assert bool(content) is bool(kind)
        return
    body = response.json()
    if response.status_code >= 400:
        promised = answer_of(path, method, "default")[schema.REFUSALS]
        error = body["error"]
        assert error["status"] == response.status_code
        assert error["code"] in promised[str(response.status_code)]
        assert response.status_code != 401 or "WWW-Authenticate" in response
    long = long_numbers(body) if response.status_code < 400 else []
    assert not long, f"{method.upper()} {path} has numbers of too many decimals: {long[:5]}"
    for fault in judge.iter_errors(body):
        location = ".".join(map(str, fault.instance_path))
        raise AssertionError(f"{method.upper()} {path} {response.status_code} {location}: {fault}")


def long_numbers(value: Any, name: str = "", unit: Unit = Unit.RATIO) -> list[tuple[str, float]]:
    """Return numbers with more decimals than their unit has, with their fields' names.

    Fields written by clients are skipped.
    """
    if isinstance(value, float):
        exponent = Decimal(repr(value)).normalize().as_tuple().exponent
        return [(name, value)] if -int(exponent) > DECIMALS[unit] else []
    if isinstance(value, dict):
        inner = [(key, item) for key, item in value.items() if key not in WRITTEN_BY_CLIENTS]
    else:
        inner = [(name, item) for item in value] if isinstance(value, list) else []
    return [
        number
        for key, item in inner
        for number in long_numbers(item, key, FIELD_UNITS.get(key, unit))
    ]


def _template(path: str) -> str | None:
    """Return the path in the document's form; None for an unknown address."""
    try:
        route = resolve(path).route
    except Resolver404:
        return None
    return "/" + re.sub(r"<\w+:(\w+)>", r"{\1}", route)


def _is_promised(path: str, method: str, status: int) -> bool:
    responses = document()["paths"][path][method]["responses"]
    return str(status) in responses or str(status) in responses["default"][schema.REFUSALS]


def answer_of(path: str, method: str, status: str) -> dict[str, Any]:
    """Return the documented answer of a status; that of all refusals is `default`."""
    responses: dict[str, dict[str, Any]] = document()["paths"][path][method]["responses"]
    return responses.get(status) or responses["default"]


@cache
def headers_of(path: str, method: str, status: str) -> dict[str, tuple[bool, Any]]:
    """Return the headers of this answer, each with whether it is always sent, and its validator."""
    names = answer_of(path, method, status)["headers"]
    headers = document()["components"]["headers"]
    return {
        name: (headers[name]["required"], jsonschema_rs.validator_for(headers[name]["schema"]))
        for name in names
    }


def _check_headers(response: Any, promised: dict[str, tuple[bool, Any]]) -> None:
    request = f"{response.request['REQUEST_METHOD']} {response.request['PATH_INFO']}"
    sent = dict(response.items()) | ({"Set-Cookie": ""} if response.cookies else {})
    strange = {
        name
        for name in sent.keys() - promised.keys() - _UNTOLD
        if not name.startswith("access-control-")
    }
    assert not strange, f"{request} has the headers {strange}, which are not documented"
    for name, (is_required, judge) in promised.items():
        assert name in sent or not is_required, f"{request} lacks {name}"
        if name in sent:
            is_number = sent[name].isdigit() and judge.is_valid(int(sent[name]))
            assert is_number or judge.is_valid(sent[name]), f"{request} has {name}: {sent[name]}"


@cache
def validator(path: str, method: str, status: str) -> jsonschema_rs.Validator | None:
    """Return the validator of this answer's body; None without a JSON body."""
    answer = answer_of(path, method, status)
    if "application/json" not in answer.get("content", {}):
        return None
    schema = _closed(_at_home(answer["content"]["application/json"]["schema"]))
    return jsonschema_rs.Draft202012Validator(schema, registry=_registry(), validate_formats=True)


@cache
def _registry() -> jsonschema_rs.Registry:
    return jsonschema_rs.Registry([(_DOCUMENT_URI, _closed(document()))])


def faults_in(value: object, schema: dict[str, Any]) -> list[str]:
    """Return the faults of a value by a schema of the document, with additional fields allowed."""
    judge = jsonschema_rs.Draft202012Validator(_at_home(schema), registry=_open_registry())
    return [str(fault) for fault in judge.iter_errors(value)]


@cache
def _open_registry() -> jsonschema_rs.Registry:
    return jsonschema_rs.Registry([(_DOCUMENT_URI, document())])


def _at_home(value: Any) -> Any:
    """Return the schema with its references resolved into the document."""
    if isinstance(value, dict):
        return {
            name: _DOCUMENT_URI + inner if name == "$ref" else _at_home(inner)
            for name, inner in value.items()
        }
    return [_at_home(item) for item in value] if isinstance(value, list) else value


def _closed(value: Any) -> Any:
    """Close the schema: clients ignore unknown fields, but here such a field is a mistake."""
    if isinstance(value, list):
        return [_closed(item) for item in value]
    if not isinstance(value, dict):
        return value
    made = {name: _closed(inner) for name, inner in value.items()}
    is_record = isinstance(made.get("properties"), dict) and made.get("type") == "object"
    return {"additionalProperties": False, **made} if is_record else made
