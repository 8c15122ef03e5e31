"""The content of /metrics, and its readers."""

from ipaddress import ip_network
from unittest.mock import patch

import pytest
from django.db import DatabaseError
from django.test import Client
from prometheus_client.parser import text_string_to_metric_families
from pytest_django import Settings

from apps.accounts.models import User
from apps.backtests.models import Backtest
from tests.backtests.price_series import wave_candles
from tests.backtests.submissions import submit
from tests.conftest import Api
from tests.error_responses import assert_error
from tests.market.bars import store_candles

Samples = dict[tuple[str, frozenset[tuple[str, str]]], float]


def read(text: str) -> Samples:
    """Return the samples, keyed by name and labels."""
    families = text_string_to_metric_families(text)
    samples = [sample for family in families for sample in family.samples]
    return {(sample.name, frozenset(sample.labels.items())): sample.value for sample in samples}


def samples() -> Samples:
    answer = Client().get("/metrics")
    assert answer.status_code == 200
    assert answer["Content-Type"].startswith("text/plain")
    return read(answer.text)


def value(name: str, **labels: str) -> float:
    return value_in(samples(), name, **labels)


def value_in(metrics: Samples, name: str, **labels: str) -> float:
    return metrics[name, frozenset(labels.items())]


@pytest.mark.django_db
def test_a_request_counts_under_its_route_and_not_under_its_address(api: Api, alice: User) -> None:
    labels = {"route": "/api/backtests/{backtest_id}", "method": "GET", "status": "404"}
    key = ("algotrade_http_requests_total", frozenset(labels.items()))
    before = samples().get(key, 0.0)
    for number in range(3):
        api(alice).get(f"/api/backtests/{number}")
    assert samples()[key] == before + 3


@pytest.mark.django_db
def test_values_chosen_by_clients_make_no_new_series(api: Api) -> None:
    api().get("/nothing/here")
    api().generic("BREW", "/healthz")
    samples()  # reading them is a request too
    before = samples().keys()
    for number in range(20):
        api().get(f"/nothing/{number}")
        api().generic(f"BREW{number}", "/healthz")
    assert samples().keys() == before


@pytest.mark.django_db
def test_the_time_of_a_request_is_counted_by_route(api: Api) -> None:
    api().get("/healthz")
    assert value("algotrade_http_request_seconds_count", route="/healthz") >= 1


def test_jobs_and_backtests_are_counted(alice: User) -> None:
    store_candles("NSE:NIFTY", "15m", wave_candles("2024-01-01", 45))
    submit(alice)
    metrics = samples()
    assert value_in(metrics, "algotrade_jobs", queue="backtests", state="waiting") == 1
    assert value_in(metrics, "algotrade_jobs", queue="small", state="failed") == 0
    assert value_in(metrics, "algotrade_backtests", status="queued") == 1
    assert value_in(metrics, "algotrade_backtests", status="failed") == 0
    assert value_in(metrics, "algotrade_backtest_oldest_queued_seconds") > 0
    assert value_in(metrics, "algotrade_database_up") == 1


@pytest.mark.django_db
def test_without_a_queue_nothing_waits() -> None:
    assert value("algotrade_backtest_oldest_queued_seconds") == 0


@pytest.mark.django_db
def test_a_lost_database_is_reported_beside_the_other_metrics() -> None:
    with patch.object(Backtest.objects, "count_by_status", side_effect=DatabaseError):
        metrics = samples()
    assert metrics["algotrade_database_up", frozenset()] == 0
    assert not [name for name, _ in metrics if name == "algotrade_jobs"]
    assert [name for name, _ in metrics if name == "algotrade_http_requests_total"]


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("peer", "header"),
    [
        ("192.0.2.1", {}),
        ("127.0.0.1", {"X-Forwarded-For": "127.0.0.1"}),
        ("::ffff:127.0.0.1", {"X-Forwarded-For": "127.0.0.1"}),
        ("127.0.0.1", {"Forwarded": "for=127.0.0.1"}),
        ("127.0.0.1", {"X-Real-IP": "127.0.0.1"}),
        ("127.0.0.1", {"X-Forwarded-Proto": "https"}),
        ("127.0.0.1", {"X-Forwarded-Host": "localhost"}),
        ("127.0.0.1", {"Via": "1.1 proxy"}),
        ("127.0.0.1", {"X-Client-IP": "127.0.0.1"}),
        ("127.0.0.1", {"True-Client-IP": "127.0.0.1"}),
        ("127.0.0.1", {"CF-Connecting-IP": "127.0.0.1"}),
        ("", {}),
    ],
)
def test_the_page_is_not_found_for_others(api: Api, peer: str, header: dict[str, str]) -> None:
    answer = api().get("/metrics", REMOTE_ADDR=peer, headers=header)
    assert_error(answer, 404, "NOT_FOUND")


@pytest.mark.django_db
def test_a_trusted_proxy_says_who_asks(api: Api, settings: Settings) -> None:
    settings.TRUSTED_PROXIES = [ip_network("127.0.0.1")]
    settings.METRICS_ALLOW = [ip_network("10.1.0.0/16")]
    for source, status in (("10.1.2.3", 200), ("192.0.2.1", 404)):
        headers = {"X-Forwarded-For": source, "X-Forwarded-Proto": "https", "Via": "1.1 proxy"}
        answer = api().get("/metrics", headers=headers)
        assert answer.status_code == status
