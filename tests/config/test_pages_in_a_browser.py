"""The admin and the documentation as a browser shows them: whole, under their policy, offline."""

import time
from pathlib import Path

import pytest
from django.conf import settings
from django.contrib import admin
from django.urls import reverse
from pytest_django.live_server_helper import LiveServer

from apps.accounts.models import User
from tests.admin.conftest import an_operator, browser_of
from tests.backtests.browser import Tab, program, tab
from tests.backtests.submissions import submit
from tests.backtests.waves import waves
from tests.market.bars import store_candles

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(program() is None, reason="no Chromium on this machine"),
]

OPERATIONS = "document.querySelectorAll('.opblock').length"
TRY = "document.querySelector('.opblock-summary-get .opblock-summary-control').click()"
EXECUTE = "document.querySelector('.try-out__btn').click()"
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
ANSWERED = "document.querySelectorAll('.responses-table.live-responses-table').length"


def until(page: Tab, script: str) -> None:
    """Wait up to ten seconds until the value of the expression is true."""
    end = time.monotonic() + 10
    while not page.ask(script):
        assert time.monotonic() < end, f"{script} is never true: {page.complaints()}"
        time.sleep(0.1)


def assert_of_the_service_alone(page: Tab, live_server: LiveServer) -> None:
    assert [line for line in page.complaints() if "/favicon.ico" not in line] == []
    assert [url for url in page.requests() if not url.startswith(live_server.url)] == []


def test_the_admin(alice: User, live_server: LiveServer, tmp_path: Path) -> None:
    store_candles("NSE:NIFTY", "15m", waves("2024-01-01", 45))
    backtest = submit(alice)
    operator = an_operator()
    session = browser_of(operator).cookies[settings.SESSION_COOKIE_NAME].value
    pages = {
        "login": "/admin/login/",
        "index": "/admin/",
        "user": reverse("admin:accounts_user_change", args=[alice.pk]),
        "backtest": reverse("admin:backtests_backtest_change", args=[backtest.pk]),
        "action": reverse("admin:backtests_backtest_action", args=[backtest.pk, "cancel"]),
    }
    for model in admin.site._registry:
        name = f"{model._meta.app_label}_{model._meta.model_name}"
        pages[name] = reverse(f"admin:{name}_changelist")
    with tab() as page:
        page.screen(1280, 900)
        for name, path in pages.items():
            page.open(live_server.url + path)
            assert page.ask("document.styleSheets.length") > 0, name
            assert_of_the_service_alone(page, live_server)
            page.picture(tmp_path / f"{name}.png")
            if name == "login":
                page.keep_cookie(settings.SESSION_COOKIE_NAME, session, live_server.url)


def test_the_documentation(live_server: LiveServer, tmp_path: Path) -> None:
    with tab() as page:
        page.screen(1280, 900)
        page.open(f"{live_server.url}/docs")
        until(page, f"{OPERATIONS} > 40")
        page.ask(TRY)
        until(page, "document.querySelector('.try-out__btn') !== null")
        page.ask(EXECUTE)
        until(page, "document.querySelector('.execute') !== null")
        assert_of_the_service_alone(page, live_server)
        page.picture(tmp_path / "docs.png")
        page.ask("document.querySelector('.execute').click()")
        until(page, ANSWERED)
        assert "UNAUTHORIZED" in page.ask(
            "document.querySelector('.live-responses-table').innerText"
        )
        page.picture(tmp_path / "answer.png")


def test_the_documentation_opens_calls(live_server: LiveServer) -> None:
    with tab() as page:
        page.screen(1280, 900)
        page.open(f"{live_server.url}/docs")
        until(page, f"{OPERATIONS} > 40")
        names = page.ask(NAMES)
        # All of them take minutes on a busy machine; of the bodies that of an algorithm is largest.
        sample = {*names[::5], "operations-algorithms-createAlgorithm"}
        assert sample <= set(names)
        assert [name for name in sample if not page.ask(OPEN % (name, SECONDS_TO_OPEN))] == []
        assert_of_the_service_alone(page, live_server)


def test_the_guide_to_webhooks(live_server: LiveServer, tmp_path: Path) -> None:
    with tab() as page:
        page.screen(1280, 900)
        page.open(f"{live_server.url}/docs/webhooks")
        assert page.ask("getComputedStyle(document.body).maxWidth") == "860px"
        assert_of_the_service_alone(page, live_server)
        page.picture(tmp_path / "guide.png")
