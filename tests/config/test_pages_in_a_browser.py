"""The admin and the documentation in a browser: complete, under their policy, offline."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib import admin
from django.urls import reverse
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from apps.accounts.models import User
from tests.admin.conftest import an_operator, browser_of
from tests.backtests.price_series import wave_candles
from tests.backtests.submissions import submit
from tests.browser import console_of, program, requests_of, tab
from tests.market.bars import store_candles

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(program() is None, reason="no Chromium on this machine"),
]

OPERATIONS = ".opblock"
SECONDS_TO_OPEN = 10  # on a busy machine; an idle one takes less than one
NAMES = "Array.from(document.querySelectorAll('.opblock'), call => call.id)"
OPEN = """(async () => {
    const call = document.getElementById('%s');
    const control = call.querySelector('.opblock-summary-control');
    const begun = performance.now();
    const seconds = () => (performance.now() - begun) / 1000;
    control.click();
    while (!call.querySelector('.responses-inner') && seconds() < %d)
        await new Promise(done => setTimeout(done, 5));
    const opened = call.querySelector('.responses-inner') !== null;
    control.click();
    return opened;
})()"""
# A browser asks for an icon by itself, and says that a call without a token is refused.
EXPECTED = ("/favicon.ico", "401 (Unauthorized)")


@contextmanager
def page_of(server: LiveServer) -> Iterator[Page]:
    """Yield a new page. It may load only from the service, and its console must stay empty."""
    with tab(1280, 900, base_url=server.url) as page:
        console, requests = console_of(page), requests_of(page)
        yield page
        assert [line for line in console if not any(text in line for text in EXPECTED)] == []
        assert [url for url in requests if not url.startswith(server.url)] == []


def test_the_admin(alice: User, live_server: LiveServer, tmp_path: Path) -> None:
    store_candles("NSE:NIFTY", "15m", wave_candles("2024-01-01", 45))
    backtest = submit(alice)
    operator = an_operator()
    session = browser_of(operator).cookies[settings.SESSION_COOKIE_NAME].value
    pages = {
        "login": "/admin/login/",
        "index": "/admin/",
        "user": reverse("admin:accounts_user_change", args=[alice.pk]),
        "backtest": reverse("admin:backtests_backtest_change", args=[backtest.pk]),
    }
    for model in admin.site._registry:
        name = f"{model._meta.app_label}_{model._meta.model_name}"
        pages[name] = reverse(f"admin:{name}_changelist")
    with page_of(live_server) as page:
        for name, path in pages.items():
            page.goto(path)
            assert page.evaluate("document.styleSheets.length") > 0, name
            page.screenshot(path=tmp_path / f"{name}.png", full_page=True)
            if name == "login":
                cookie, url = settings.SESSION_COOKIE_NAME, live_server.url
                page.context.add_cookies([{"name": cookie, "value": session, "url": url}])


def test_the_documentation(live_server: LiveServer, tmp_path: Path) -> None:
    with page_of(live_server) as page:
        page.goto("/docs")
        page.locator(OPERATIONS).nth(40).wait_for()
        page.locator(".opblock-summary-get .opblock-summary-control").first.click()
        page.locator(".try-out__btn").click()
        page.screenshot(path=tmp_path / "docs.png", full_page=True)
        page.locator(".execute").click()
        expect(page.locator(".live-responses-table").first).to_contain_text("UNAUTHORIZED")
        page.screenshot(path=tmp_path / "answer.png", full_page=True)


def test_the_documentation_opens_calls(live_server: LiveServer) -> None:
    with page_of(live_server) as page:
        page.goto("/docs")
        page.locator(OPERATIONS).nth(40).wait_for()
        names = page.evaluate(NAMES)
        # All of them take minutes on a busy machine; the largest body is that of an algorithm.
        sample = {*names[::5], "operations-algorithms-createAlgorithm"}
        assert sample <= set(names)
        assert [name for name in sample if not page.evaluate(OPEN % (name, SECONDS_TO_OPEN))] == []


def test_the_guide_to_webhooks(live_server: LiveServer, tmp_path: Path) -> None:
    with page_of(live_server) as page:
        page.goto("/docs/webhooks")
        assert page.evaluate("getComputedStyle(document.body).maxWidth") == "860px"
        page.screenshot(path=tmp_path / "guide.png", full_page=True)
