"""Wrong requests, one row each, and the exact status and code of their answers.

Every answer is in the envelope, comes within a second, leaves every row unchanged, and the next
good request works. Rows are named by their fault; `rows` has them.
"""

import logging
import re
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from django.urls import URLPattern, get_resolver
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.core.api.middleware import UPLOADS
from tests import make
from tests.backtests.price_series import wave_candles
from tests.backtests.submissions import submit
from tests.conftest import client_of
from tests.contract.rows import (
    accounts,
    addresses,
    headers,
    json_text,
    rules,
    symbols,
    values,
)
from tests.contract.rows.row import ALGORITHM, TOO_LARGE, WRONG_METHOD, Row
from tests.error_responses import assert_error
from tests.market.bars import store_candles

pytestmark = pytest.mark.django_db

SLOWEST = 1.0
"""Seconds of this process's own time that an answer may take: a busy machine does not count."""
WITHOUT_FIELDS = re.compile(
    r"/api/auth/(refresh-token|logout)|.*/(cancel|reproduce|report-link)"
    r"|/api/trading/algorithms/.*/validate"
)
"""POSTs that have no fields of their own and take any body."""
NOT_COUNTED = {"AuditRecord", "Counter"}
"""A login that fails is on record."""
NOT_ALLOWED = {"reason": "method_not_allowed"}
VERBS = ("get", "post", "put", "patch", "delete")


@pytest.fixture(autouse=True)
def _quiet() -> Iterator[None]:
    logging.disable(logging.WARNING)
    yield
    logging.disable(logging.NOTSET)


@dataclass
class Sender:
    """Sends rows as one caller, and asserts the common properties of refusals."""

    client: APIClient
    ids: dict[str, str]

    @cached_property
    def rows(self) -> list[tuple[str, int]]:
        """The row counts before each test; each test undoes its writes."""
        return stored()

    def send(self, row: Row, *, method: str = "", path: str = "") -> Any:
        raw = row.raw
        for name, known in self.ids.items():
            raw = raw.replace(b"{%s}" % name.encode(), known.encode())
        return self.client.generic(
            method or row.method,
            (path or row.path).format_map(self.ids),
            raw,  # type: ignore[arg-type]  # bytes are taken too
            content_type=row.kind,
            headers=row.headers,
        )

    def assert_refused(self, row: Row) -> dict[str, Any]:
        return self.assert_refused_each_way(row, [(row.method, row.path)])[0]

    def assert_refused_each_way(
        self, row: Row, ways: Iterable[tuple[str, str]]
    ) -> list[dict[str, Any]]:
        """Send it by each (method, path); afterwards check the stored rows and a good request."""
        self.client.cookies.clear()
        before = self.rows
        errors = [self._assert_answered(row, method, path) for method, path in ways]
        assert stored() == before
        assert self.client.get("/api/auth/profile").status_code == 200
        return errors

    def _assert_answered(self, row: Row, method: str, path: str) -> dict[str, Any]:
        begun = time.process_time()
        response = self.send(row, method=method, path=path)
        assert time.process_time() - begun < SLOWEST
        return assert_error(response, *row.expect, **row.details)


def stored() -> list[tuple[str, int]]:
    """Return the number of rows of each of our tables."""
    names = [
        model._meta.db_table
        for model in apps.get_models()
        if model.__module__.startswith("apps.") and model.__name__ not in NOT_COUNTED
    ]
    counts = (f"SELECT '{name}', count(*) FROM {name}" for name in names)
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(counts))
        return sorted(cursor.fetchall())


@pytest.fixture(scope="module")
def alice(kept: None) -> User:
    return make.user("alice")


@pytest.fixture(scope="module")
def sender(alice: User) -> Sender:
    """Return a sender for Alice, who has an algorithm and a backtest."""
    store_candles("NSE:NIFTY", "15m", wave_candles("2024-01-01", 45))
    algorithm = make.algorithm(alice, **make.steps()).pk
    backtest = submit(alice, algorithm).pk
    return Sender(client_of(alice), {"algorithm": algorithm, "backtest": backtest})


def routes() -> Iterator[tuple[str, set[str]]]:
    """Return every route under /api with placeholders for own ids, and its methods."""
    for pattern in get_resolver().url_patterns:
        if isinstance(pattern, URLPattern) and str(pattern.pattern).startswith("api/"):
            path = re.sub(r"<\w+:(algorithm|backtest)_id>", r"{\1}", "/" + str(pattern.pattern))
            path = re.sub(r"<[^>]*symbol>", "NSE:TCS", path)
            path = re.sub(r"<int:[^>]+>", "1", path)
            path = re.sub(r"<[^>]+>", "0123456789abcdef01234567", path)
            yield path, set(pattern.callback.actions)  # type: ignore[attr-defined]  # set by DRF's as_view


READS_A_BODY = [
    (method.upper(), path)
    for path, methods in routes()
    for method in sorted(methods & {"post", "put", "patch"})
    if not WITHOUT_FIELDS.fullmatch(path)
]
NOT_JSON = [
    param
    for number, row in enumerate(json_text.NOT_JSON)
    for param in (
        pytest.param(row, READS_A_BODY[number % 4 :: 4], id=row.name),
        pytest.param(row, READS_A_BODY, id=f"{row.name}, everywhere", marks=pytest.mark.slow),
    )
]
"""Each is sent to every fourth route, and in the slow proof to all of them."""


@pytest.mark.parametrize(("row", "ways"), NOT_JSON)
def test_every_route_refuses_invalid_json(
    sender: Sender, row: Row, ways: list[tuple[str, str]]
) -> None:
    before = stored()
    for method, path in ways:
        if path in UPLOADS and row.name.startswith("A24"):
            continue  # files are longer
        begun = time.process_time()
        response = sender.send(row, method=method, path=path)
        assert time.process_time() - begun < SLOWEST, (method, path)
        assert_error(response, *row.expect, **row.details)
    assert stored() == before
    assert sender.client.get("/api/auth/profile").status_code == 200


WRONG_ALGORITHMS = [
    param
    for number, row in enumerate([*values.ALL, *symbols.IN_ALGORITHMS])
    for ways in [[("POST", row.path), ("PUT", ALGORITHM), ("PATCH", ALGORITHM)]]
    for param in (
        pytest.param(row, [ways[number % 3]], id=row.name),
        pytest.param(row, ways, id=f"{row.name}, each way", marks=pytest.mark.slow),
    )
]
"""Each is sent one way, and in the slow proof each way: one reader reads all."""


@pytest.mark.parametrize(("row", "ways"), WRONG_ALGORITHMS)
def test_a_wrong_algorithm(sender: Sender, row: Row, ways: list[tuple[str, str]]) -> None:
    for error in sender.assert_refused_each_way(row, ways):
        if row.name.startswith(values.CLOSED):
            assert error["details"]["allowedValues"]


@pytest.mark.parametrize(
    "row", [*addresses.PATHS, *headers.ALL, *symbols.NOT_TEXT, *accounts.LOG_INS], ids=str
)
def test_a_wrong_request(sender: Sender, row: Row) -> None:
    sender.assert_refused(row)


@pytest.mark.parametrize("row", addresses.QUERIES, ids=str)
def test_a_wrong_query(sender: Sender, row: Row) -> None:
    error = sender.assert_refused(row)
    closed = row.details.get("field") in addresses.CLOSED
    assert closed is ("allowedValues" in error.get("details", {}))


@pytest.mark.parametrize("row", accounts.SIGN_UPS, ids=str)
def test_a_wrong_sign_up(sender: Sender, row: Row) -> None:
    error = sender.assert_refused(row)
    assert (
        row.expect == TOO_LARGE
        or "password" not in row.details.values()
        or ("value" not in error["details"])
    )


@pytest.mark.parametrize("row", rules.ALL, ids=str)
def test_values_forbidden_by_a_rule_are_refused(sender: Sender, row: Row) -> None:
    sender.assert_refused(row)


def test_every_route_refuses_methods_that_it_does_not_have(sender: Sender) -> None:
    """A view's method named like a verb would answer that verb on all routes of the view."""
    before = stored()
    for path, methods in routes():
        known = methods - {"head"}
        for verb in set(VERBS) - known:
            row = Row(verb, WRONG_METHOD, verb.upper(), path, {}, details=NOT_ALLOWED)
            response = sender.send(row)
            assert_error(response, *row.expect, **row.details)
            allowed = {word.strip().lower() for word in response["Allow"].split(",")}
            assert allowed - {"head", "options"} == known, (verb, path)
    assert stored() == before
