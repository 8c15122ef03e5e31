"""Requests outside of /api are limited by the client's address."""

from concurrent.futures import ThreadPoolExecutor
from ipaddress import ip_network
from typing import Any

import pytest
from django.core.cache import caches
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from pytest_django import Settings

from apps.core.models import AuditRecord
from tests.error_responses import assert_error

LIMITED = [
    "/",
    "/openapi.json",
    "/docs",
    "/docs/webhooks",
    "/reports/unknown",
    "/static/admin/css/base.css",
    "/static/unknown.css",
    "/admin/",
    "/admin/login/",
    "/unknown",
]
PROBES = ["/healthz", "/readyz", "/metrics"]


@pytest.fixture(autouse=True)
def limited(settings: Settings) -> None:
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "pages": "3/d"}
    caches["process"].clear()


def get(path: str, address: str = "198.51.100.7", method: str = "GET") -> Any:
    answer = Client(REMOTE_ADDR=address).generic(method, path)
    if answer.streaming:
        list(answer)  # a file stays open until it has been read
    return answer


@pytest.mark.django_db
@pytest.mark.parametrize("path", LIMITED)
def test_a_page_is_refused_when_its_address_has_used_up_its_requests(path: str) -> None:
    for _ in range(3):
        assert get(path).status_code != 429
    refused = get(path)
    error = assert_error(refused, 429, "TOO_MANY_REQUESTS", limit=3)
    assert int(refused["Retry-After"]) == error["retryAfter"]
    assert get(path, address="198.51.100.8").status_code != 429


@pytest.mark.django_db
def test_pages_share_one_limit_separate_from_the_api() -> None:
    get("/openapi.json")
    get("/static/admin/css/base.css", method="HEAD")
    get("/reports/unknown", method="POST")
    assert get("/docs").status_code == 429
    assert get("/api/unknown").status_code == 404


@pytest.mark.django_db
@pytest.mark.parametrize("path", PROBES)
def test_a_probe_is_never_refused(path: str) -> None:
    for _ in range(5):
        assert get(path, address="127.0.0.1").status_code == 200


@pytest.mark.django_db
def test_clients_behind_a_trusted_proxy_count_separately(settings: Settings) -> None:
    settings.TRUSTED_PROXIES = [ip_network("198.51.100.7")]
    for number in range(5):
        headers = {"X-Forwarded-For": f"192.0.2.{number}"}
        answer = Client(REMOTE_ADDR="198.51.100.7").get("/openapi.json", headers=headers)
        assert answer.status_code == 200


@pytest.mark.django_db
def test_a_limit_that_is_off_counts_nothing(settings: Settings) -> None:
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "pages": None}
    with CaptureQueriesContext(connection) as queries:
        for _ in range(5):
            assert get("/static/admin/css/base.css").status_code == 200
    assert len(queries) == 0


@pytest.mark.django_db
def test_a_used_up_limit_costs_the_database_nothing_more_and_is_on_record_once() -> None:
    for _ in range(4):
        get("/static/admin/css/base.css")
    with CaptureQueriesContext(connection) as queries:
        for _ in range(5):
            assert get("/static/admin/css/base.css").status_code == 429
    assert len(queries) == 0
    assert AuditRecord.objects.get().details == {"bucket": "pages", "rate": "3/d"}


@pytest.mark.django_db(transaction=True)
def test_of_more_requests_at_once_exactly_the_limit_passes(settings: Settings) -> None:
    settings.RATE_LIMITS = {**settings.RATE_LIMITS, "pages": "5/d"}

    def call(_: int) -> int:
        try:
            return int(get("/openapi.json").status_code)
        finally:
            connection.close()

    with ThreadPoolExecutor(10) as pool:
        statuses = list(pool.map(call, range(50)))
    assert sorted(set(statuses)) == [200, 429]
    assert statuses.count(200) == 5
