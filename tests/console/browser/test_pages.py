"""Every page of the console, narrow and wide, light and dark: readable by all, whole and small."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page

from tests.console.browser.trader import PAGES, PUBLIC_PAGES, Trader, complaints_of

WIDTHS = {390: 844, 1366: 768}
SCHEMES = ("light", "dark")
LARGEST = 150_000  # bytes of a page with its styles and scripts, without the script of charts
# A page with a stream of events never rests.
STREAMING = ("live", "run")
TAGS = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]
# Where to leave pictures of the pages, to look at.
PICTURES = os.environ.get("CONSOLE_PICTURES", "")

OVERFLOW = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
Look = Callable[[str, str, int, str], Page]


@pytest.fixture
def look(browser: Browser, trader: Trader) -> Look:
    """Open a page in a window of this width and colour scheme."""

    def opened(name: str, path: str, width: int, scheme: str) -> Page:
        window = browser.new_context(
            base_url=trader.address,
            storage_state=None if name in PUBLIC_PAGES else trader.cookies,
            viewport={"width": width, "height": WIDTHS[width]},
            color_scheme="dark" if scheme == "dark" else "light",
        )
        page = window.new_page()
        complaints = complaints_of(page)
        received: list[int] = []
        page.on("requestfinished", lambda request: received.append(_size(request)))
        answer = page.goto(path, wait_until="load" if name in STREAMING else "networkidle")
        assert answer is not None
        assert answer.status == (404 if name == "unknown" else 200)
        assert complaints == []
        assert sum(received) < LARGEST, received
        return page

    return opened


def _size(request: object) -> int:
    if "lightweight-charts" in request.url:  # type: ignore[attr-defined]
        return 0
    return int(request.sizes()["responseBodySize"])  # type: ignore[attr-defined]


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("name", [*PAGES, *PUBLIC_PAGES])
def test_a_page(look: Look, trader: Trader, name: str, width: int, scheme: str) -> None:
    page = look(name, {**trader.pages, **PUBLIC_PAGES}[name], width, scheme)
    _keep_picture(page, f"{name}-{width}-{scheme}")
    assert page.evaluate(OVERFLOW) <= 0, "the page is wider than the window"
    options = {"runOnly": {"type": "tag", "values": TAGS}, "resultTypes": ["violations"]}
    violations = Axe().run(page, options=options).response["violations"]
    serious = [rule for rule in violations if rule["impact"] in ("serious", "critical")]
    assert [_described(rule) for rule in serious] == []
    page.context.close()


def _described(rule: dict[str, object]) -> str:
    nodes = rule["nodes"]
    assert isinstance(nodes, list)
    return json.dumps([rule["id"], *(node["html"][:160] for node in nodes[:4])])


def _keep_picture(page: Page, name: str) -> None:
    if PICTURES:
        page.screenshot(path=Path(PICTURES) / f"{name.replace(' ', '-')}.png", full_page=True)
