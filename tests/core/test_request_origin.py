"""A proxy that is missing from TRUSTED_PROXIES is reported in the log."""

import threading
from ipaddress import ip_network

import pytest
from django.test import Client
from pytest_django import Settings

from apps.core.requests import request_origin


@pytest.fixture(autouse=True)
def new_process(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(request_origin, "_warned", threading.Lock())


def warnings(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.message for record in caplog.records if record.name == request_origin.__name__]


@pytest.mark.parametrize(
    "header", ["X-Forwarded-For", "X-Forwarded-Proto", "Forwarded", "X-Real-IP", "Via"]
)
def test_an_untrusted_proxy_is_logged_once(caplog: pytest.LogCaptureFixture, header: str) -> None:
    for _ in range(3):
        Client(REMOTE_ADDR="192.0.2.1").get("/healthz", headers={header: "1.1 somewhere"})
    (warning,) = warnings(caplog)
    assert "TRUSTED_PROXIES" in warning
    assert "192.0.2.1" in warning


@pytest.mark.parametrize(
    ("peer", "headers"),
    [
        ("10.0.0.1", {"X-Forwarded-For": "192.0.2.9"}),
        ("::ffff:10.0.0.1", {"X-Forwarded-Proto": "https"}),
        ("192.0.2.1", {"Accept": "*/*"}),
        ("", {"X-Forwarded-For": "192.0.2.9"}),
    ],
)
def test_a_trusted_or_missing_proxy_is_not_logged(
    caplog: pytest.LogCaptureFixture, settings: Settings, peer: str, headers: dict[str, str]
) -> None:
    settings.TRUSTED_PROXIES = [ip_network("10.0.0.0/8")]
    Client(REMOTE_ADDR=peer).get("/healthz", headers=headers)
    assert warnings(caplog) == []
