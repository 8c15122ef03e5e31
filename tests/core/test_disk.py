"""A nearly full disk: writes under /api are refused, reads work."""

from pathlib import Path

import pytest
from django.test import Client
from pytest_django import Settings

from tests.conftest import Api
from tests.error_responses import assert_error

ENOUGH = 2**60  # bytes: more than any disk has free


@pytest.mark.django_db
def test_writes_are_refused_and_reads_continue(settings: Settings, api: Api) -> None:
    settings.DISK_RESERVE = ENOUGH
    refused = api().post("/api/auth/login", {})
    assert_error(refused, 503, "SERVICE_UNAVAILABLE", reason="disk_full", retryAfter=5)
    assert refused.headers["Retry-After"] == "5"
    assert Client().get("/api/symbols/search?query=RELI").status_code == 401
    assert Client().get("/healthz").status_code == 200
    settings.DISK_RESERVE = 1
    assert_error(api().post("/api/auth/login", {}), 400, "VALIDATION_ERROR")


def test_only_the_embedded_database_is_on_a_disk_of_ours(settings: Settings, api: Api) -> None:
    settings.DISK_RESERVE = 0
    settings.DATA_DIR = Path("/nowhere")
    assert_error(api().post("/api/auth/login", {}), 400, "VALIDATION_ERROR")
