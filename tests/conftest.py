"""The cast and the client that tests share."""

import gc
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from django.db import connection, transaction
from django.test import TransactionTestCase
from django.utils import timezone
from pytest_django import DjangoDbBlocker
from rest_framework.test import APIClient

from apps.accounts.login import tokens
from apps.accounts.models import User
from tests import database_cleanup, make, openapi, postgres_plugin

Api = Callable[..., APIClient]
TESTS = Path(__file__).parent
# What has slow tests alone, or tests in a browser alone.
MARKED = {"faults": "slow", "contract/test_openapi_fuzz.py": "slow", "console/browser": "browser"}

# Until all is collected: nearly all that imports make stays.
gc.disable()


class CheckedClient(APIClient):
    """Every answer is held against the OpenAPI document."""

    def request(self, **request: Any) -> Any:
        response = super().request(**request)
        openapi.check(response)
        return response


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Where such tests are not asked for, nobody waits for what they import."""
    mark = MARKED.get(collection_path.relative_to(TESTS).as_posix(), "")
    return True if mark and f"not {mark}" in config.option.markexpr else None


def pytest_collection_finish() -> None:
    """Compile what the tests have imported before the first of them, and its timeout, begins.

    What is imported stays: the collector of garbage need not look at it again and again.
    """
    if "apps.engine.kernel.kernel" in sys.modules:
        from apps.engine import compilation

        compilation.prepare(print)
    gc.freeze()
    gc.set_threshold(50_000)
    gc.enable()


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings: None) -> None:
    """Of a parallel run, one process migrates and the others copy."""
    connection.settings_dict["TEST"]["TEMPLATE"] = postgres_plugin.database_to_copy()


@pytest.fixture(scope="session")
def django_db_keepdb(django_db_keepdb: bool) -> bool:
    """A database goes with its server: to drop it before would take a second or two."""
    return django_db_keepdb or postgres_plugin.is_server_of_run()


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Leave no connection behind."""
    yield
    with django_db_blocker.unblock():
        connection.close()


@pytest.fixture(autouse=True, scope="session")
def emptied() -> Iterator[None]:
    """After a test that commits, its rows are removed; Django would empty every table there is but
    the queue's, and fill in content types and permissions anew.
    """
    with patch.object(
        TransactionTestCase, "_fixture_teardown", lambda case: database_cleanup.delete_rows()
    ):
        yield


@pytest.fixture(scope="module")
def kept(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """The database for a module's fixtures: its tests find what they store, undo their own writes
    alone, and all of it is gone after the last of them. Not for modules whose tests commit.
    """
    with django_db_blocker.unblock(), transaction.atomic():
        yield
        transaction.set_rollback(True)


def client_of(user: User | None = None) -> APIClient:
    """Anonymous without a user, else with an access token of a fresh session."""
    made = CheckedClient(raise_request_exception=False)
    made.default_format = "json"
    if user is not None:
        issued = tokens.issue(
            user=user, now=timezone.now(), address="127.0.0.1", user_agent="tests"
        )
        made.credentials(HTTP_AUTHORIZATION=f"Bearer {issued.access}")
    return made


@pytest.fixture
def api(db: None) -> Api:
    return client_of


@pytest.fixture
def alice(db: None) -> User:
    return make.user("alice")


@pytest.fixture
def bob(db: None) -> User:
    return make.user("bob")


@pytest.fixture(scope="session")
def market_data() -> Path:
    """The folder of real market files; without it the test is skipped and says so."""
    folder = os.environ.get("MARKET_DATA_DIR", "")
    if not folder or not Path(folder).is_dir():
        pytest.skip("no real market files: set MARKET_DATA_DIR")
    return Path(folder)
