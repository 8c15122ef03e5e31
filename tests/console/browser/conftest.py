"""A whole service with the marked sample, and a Chromium for its console.

The service is started as by `make run`: with its own processes, database, policies and cookies,
once for all tests of this folder.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from tests.browser import chromium, program
from tests.console.browser.trader import Trader
from tests.faults.service import Service, service

SECONDS_TO_START = 300
FOLDER = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder, because they take minutes and a browser."""
    for item in items:
        if FOLDER in item.path.parents:
            item.add_marker(pytest.mark.browser)
            item.add_marker(pytest.mark.timeout(SECONDS_TO_START))


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if program() is None:
        pytest.skip("no Chromium on this machine: apt-get install chromium")
    with chromium() as started:
        yield started


@pytest.fixture(scope="session")
def up(browser: Browser) -> Iterator[Service]:
    """Yield a service as `make run` starts it; skip without a browser."""
    with service(options=["--sample"]) as started:
        yield started


@pytest.fixture(scope="session")
def address(up: Service) -> str:
    return f"http://127.0.0.1:{up.port}"


@pytest.fixture(scope="session")
def trader(browser: Browser, up: Service) -> Trader:
    """Return a trader, also an operator, with content on every page."""
    return Trader.sign_up(browser, up)


@pytest.fixture
def context(browser: Browser, trader: Trader) -> Iterator[BrowserContext]:
    """Yield a window in which the trader is signed in."""
    window = browser.new_context(base_url=trader.address, storage_state=trader.cookies)
    yield window
    window.close()


@pytest.fixture
def page(context: BrowserContext) -> Page:
    return context.new_page()
