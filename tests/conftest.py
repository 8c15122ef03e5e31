"""The users and the client that tests share."""

import gc
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from django.conf import settings
from django.db import connection, transaction
from django.test import TransactionTestCase
from django.utils import timezone
from django.utils.module_loading import import_string
from pytest_django import DjangoDbBlocker
from rest_framework.test import APIClient

from apps.accounts.login import tokens
from apps.accounts.models import User
from tests import database_cleanup, make, openapi, postgres_plugin

Api = Callable[..., APIClient]
TESTS = Path(__file__).parent
# Folders and files with only slow tests, or only tests in a browser.
MARKED = {"faults": "slow", "contract/test_openapi_fuzz.py": "slow", "console/browser": "browser"}

# Until all is collected: nearly all that imports make stays.
gc.disable()


class CheckedClient(APIClient):
    """A client that checks every answer against the OpenAPI document."""

    def request(self, **request: Any) -> Any:
        response = super().request(**request)
        openapi.check(response)
        return response


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skip the imports of marked tests unless they are requested."""
    mark = MARKED.get(collection_path.relative_to(TESTS).as_posix(), "")
    return True if mark and f"not {mark}" in config.option.markexpr else None


def pytest_collection_finish() -> None:
    """Compile the functions imported by the tests before the first test, and its timeout, begins.

    Imported objects stay: the garbage collector need not scan them again.
    """
    if "apps.engine.kernel.kernel" in sys.modules:
        from apps.engine import compilation

        compilation.Compilation.run(print)
    gc.freeze()
    gc.set_threshold(50_000)
    gc.enable()


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings: None) -> None:
    """In a parallel run, one process migrates and the others copy its database."""
    connection.settings_dict["TEST"]["TEMPLATE"] = postgres_plugin.database_to_copy()


@pytest.fixture(scope="session")
def django_db_keepdb(django_db_keepdb: bool) -> bool:
    """Keep the database: it goes with its server, and dropping it first would take a
    second or two.
    """
    return django_db_keepdb or postgres_plugin.is_server_of_run()


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Close the connections at the end."""
    yield
    with django_db_blocker.unblock():
        connection.close()


@pytest.fixture(autouse=True, scope="session")
def emptied() -> Iterator[None]:
    """Remove the rows of a test that commits.

    Django would empty every table except the queue's, and create content types and permissions
    again.
    """
    with patch.object(
        TransactionTestCase, "_fixture_teardown", lambda case: database_cleanup.delete_rows()
    ):
        yield


@pytest.fixture(scope="module")
def kept(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[None]:
    """Open the database for a module's fixtures.

    Its tests see the fixtures' rows and undo only their own writes; all rows are rolled back after
    the last test. Not for modules with tests that commit.
    """
    with django_db_blocker.unblock(), transaction.atomic():
        yield
        transaction.set_rollback(True)


def client_of(user: User | None = None) -> APIClient:
    """Return a client: anonymous without a user, else with an access token of a new session."""
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


@pytest.fixture
def service_log(caplog: pytest.LogCaptureFixture) -> Iterator[pytest.LogCaptureFixture]:
    """Capture each line of the log in its final form."""
    form = settings.LOGGING["formatters"]["json"]
    formatter = import_string(form["()"])(form["format"], rename_fields=form["rename_fields"])
    before = caplog.handler.formatter
    caplog.handler.setFormatter(formatter)
    with caplog.at_level("INFO"), caplog.at_level("INFO", logger="request"):
        yield caplog
    caplog.handler.setFormatter(before)


@pytest.fixture(scope="session")
def market_data() -> Path:
    """Return the folder of real market files; skip the test without it."""
    folder = os.environ.get("MARKET_DATA_DIR", "")
    if not folder or not Path(folder).is_dir():
        pytest.skip("no real market files: set MARKET_DATA_DIR")
    return Path(folder)
