"""Every page of the console, narrow and wide, light and dark: accessible, complete and small."""

import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, Request

from tests.accounts.authenticator import authenticator, code_of
from tests.console.addresses import PAGES, PUBLIC_PAGES
from tests.console.browser.trader import PASSWORD, Trader, complaints_of, make_alert_hook, sign_up

WIDTHS = {390: 844, 1366: 768}
SCHEMES = ("light", "dark")
LARGEST = 150_000  # bytes of a page with its styles and scripts, without the script of charts
# Pages outside /app.
OUTSIDE = {"unknown elsewhere": "/nothing", "expired link": "/account/verify/x"}
# No run of this service has been stepped by a bar.
STATUSES = {
    "unknown": 404,
    "unknown elsewhere": 404,
    "expired link": 422,
    "explanation of a run": 404,
}
# A page with a stream of events never rests.
STREAMING = ("live", "run", "received alerts")
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
# Where to leave pictures of the pages, to look at.
PICTURES = os.environ.get("CONSOLE_PICTURES", "")

OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
# Tables of narrow pages leave columns out instead of scrolling.
SCROLLED = (
    "[...document.querySelectorAll('.scroll, .bar ul')]"
    ".filter(part => part.scrollWidth > part.clientWidth).map(part => part.innerText.slice(0, 80))"
    ".filter(text => text)"  # none of a closed part
)
# A bar that stays in view covers what is below it at this moment; scrolling uncovers it.
UNSTICK = "document.querySelectorAll('.bar, .save').forEach(bar => bar.style.position = 'static')"
NO_TOKEN = (
    "document.querySelectorAll('[name=csrfmiddlewaretoken]').forEach(field => field.remove())"
)
Look = Callable[[int, str, bool], Page]


@pytest.fixture
def look(browser: Browser, trader: Trader) -> Iterator[Look]:
    """Return a function that opens a tab with this width and colour scheme, as the trader or a
    stranger.
    """
    complaints: list[list[str]] = []
    windows = []

    def opened(width: int, scheme: str, is_stranger: bool) -> Page:
        window = browser.new_context(
            base_url=trader.address,
            storage_state=None if is_stranger else trader.cookies,
            viewport={"width": width, "height": WIDTHS[width]},
            color_scheme="dark" if scheme == "dark" else "light",
        )
        windows.append(window)
        page = window.new_page()
        complaints.append(complaints_of(page))
        return page

    yield opened
    for window in windows:
        window.close()
    assert not any(complaints), complaints


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", [*PAGES, *PUBLIC_PAGES, *OUTSIDE])
def test_a_page(look: Look, trader: Trader, name: str, width: int, scheme: str) -> None:
    page = look(width, scheme, name in PUBLIC_PAGES)
    received: list[int] = []
    page.on("requestfinished", lambda request: received.append(_size(request)))
    path = {**trader.pages, **PUBLIC_PAGES, **OUTSIDE}[name]
    answer = page.goto(path, wait_until="load" if name in STREAMING else "networkidle")
    assert answer
    assert answer.status == STATUSES.get(name, 200)
    assert sum(received) < LARGEST, received
    _check(page, f"{name}-{width}-{scheme}")


def _size(request: Request) -> int:
    if "lightweight-charts" in request.url:
        return 0
    return int(request.sizes()["responseBodySize"])


def _check(page: Page, name: str) -> None:
    """Check that the page fits its window, without serious accessibility errors."""
    if PICTURES:
        page.screenshot(path=Path(PICTURES) / f"{name.replace(' ', '-')}.png", full_page=True)
    assert page.evaluate(OVERFLOW) <= 0, "the page is wider than the window"
    if page.viewport_size == {"width": 390, "height": WIDTHS[390]}:
        assert page.evaluate(SCROLLED) == [], "a table or the menu scrolls sideways"
    page.evaluate(UNSTICK)
    options = {"runOnly": {"type": "tag", "values": TAGS}, "resultTypes": ["violations"]}
    violations = Axe().run(page, options=options).response["violations"]
    serious = [rule for rule in violations if rule["impact"] in ("serious", "critical")]
    assert [_described(rule) for rule in serious] == []


def _described(rule: dict[str, object]) -> str:
    nodes = rule["nodes"]
    assert isinstance(nodes, list)
    return json.dumps([rule["id"], *(node["html"][:160] for node in nodes[:4])])


# Pages without an address of their own.


def _press(page: Page, button: str) -> None:
    page.get_by_role("button", name=button, exact=True).click()
    page.wait_for_load_state()


def _prove(page: Page, button: str) -> None:
    page.get_by_label("Your password").fill(PASSWORD)
    _press(page, button)


def be_refused(page: Page) -> None:
    page.goto("/app/data/upload")
    page.get_by_text("This page is for operators.").wait_for()


def post_without_token(page: Page) -> None:
    page.goto("/app/settings")
    page.evaluate(NO_TOKEN)
    _press(page, "Save profile")
    page.get_by_role("heading", level=1).wait_for()


def stop_everything(page: Page) -> None:
    page.goto("/app")
    page.get_by_text("Kill switch").click()
    page.get_by_label("Type STOP").fill("STOP")
    _press(page, "Stop everything")
    page.get_by_text("Kill switch is on since").wait_for()


def mistype_the_stop(page: Page) -> None:
    page.goto("/app")
    page.get_by_text("Kill switch").click()
    page.get_by_label("Type STOP").fill("stop")
    _press(page, "Stop everything")
    page.get_by_text("type STOP to stop everything").wait_for()


def mistype_a_password(page: Page) -> None:
    page.goto("/app/settings/keys")
    page.get_by_label("Name").fill("Watcher")
    page.get_by_label("Your password").fill("not mine")
    _press(page, "Create key")
    page.locator("#password-problem:not(:empty)").wait_for()


def make_key(page: Page) -> None:
    page.goto("/app/settings/keys")
    page.get_by_label("Name").fill("Watcher")
    _prove(page, "Create key")
    page.get_by_role("heading", name="Key Watcher").wait_for()


def make_hook(page: Page) -> None:
    make_alert_hook(page)
    page.get_by_role("button", name="Copy the address").wait_for()


def begin_second_factor(page: Page) -> None:
    page.goto("/app/settings/two-factor")
    _prove(page, "Set up")
    page.get_by_label("One-time code").wait_for()


def turn_second_factor_on(page: Page) -> None:
    begin_second_factor(page)
    uri = page.get_by_role("link", name="open the app on this device").get_attribute("href")
    assert uri
    code = code_of(authenticator(uri))
    page.get_by_label("One-time code").fill(code)
    _press(page, "Turn on")
    page.get_by_role("heading", name="Recovery codes").wait_for()


def change_second_factor(page: Page) -> None:
    turn_second_factor_on(page)
    page.goto("/app/settings/two-factor")
    page.get_by_label("One-time code or recovery code").wait_for()


def be_asked_for_a_code(page: Page) -> None:
    turn_second_factor_on(page)
    page.goto("/app/settings")
    email = page.locator(".who[title]").get_attribute("title")
    assert email
    _press(page, "Sign out")
    page.get_by_label("E-mail").fill(email)
    page.get_by_label("Password").fill(PASSWORD)
    _press(page, "Sign in")
    page.locator("#code").wait_for()


def ask_for_reset(page: Page) -> None:
    page.goto("/app")
    _press(page, "Sign out")
    page.goto("/app/reset")
    page.locator("main").wait_for()


def empty_home(page: Page) -> None:
    page.goto("/app")


STATES: Final[dict[str, Callable[[Page], None]]] = {
    "too few rights": be_refused,
    "form without its token": post_without_token,
    "kill switch on": stop_everything,
    "kill switch mistyped": mistype_the_stop,
    "wrong password beside a form": mistype_a_password,
    "key shown once": make_key,
    "address of a hook, shown once": make_hook,
    "second factor begun": begin_second_factor,
    "recovery codes": turn_second_factor_on,
    "second factor on": change_second_factor,
    "sign in with a code": be_asked_for_a_code,
    "reset of somebody who left": ask_for_reset,
    "home of a newcomer": empty_home,
}


@pytest.mark.parametrize(("width", "scheme"), [(390, "light"), (1366, "dark")])
@pytest.mark.parametrize("name", STATES)
def test_a_page_that_no_address_alone_leads_to(
    look: Look, name: str, width: int, scheme: str
) -> None:
    page = look(width, scheme, True)
    sign_up(page)
    STATES[name](page)
    _check(page, f"{name}-{width}-{scheme}")
