"""A new trader's way to the result of a first backtest: by mouse, and by keyboard."""

import re
import time
from collections.abc import Iterator

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect

from tests.console.browser.trader import PASSWORD, Trader
from tests.faults.service import service

MOST_CLICKS_TO_RESULT = 6
MOST_CLICKS_TO_TRADE = 12
MOST_SECONDS = 180
MOST_TABS = 120  # to anything on a page
COUNT_CLICKS = "addEventListener('click', event => event.isTrusted && clicked(), true)"
# The element that has the focus, and whether one sees that it has.
FOCUSED = """() => {
    const element = document.activeElement, style = getComputedStyle(element);
    const label = element.labels?.length ? element.labels[0].innerText : '';
    return {
        text: (element.getAttribute('aria-label') || label || element.innerText || '').trim(),
        isVisible: style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) > 0,
    };
}"""


@pytest.fixture
def stranger(browser: Browser, address: str) -> Iterator[BrowserContext]:
    window = browser.new_context(base_url=address)
    yield window
    window.close()


@pytest.fixture
def alone(browser: Browser) -> Iterator[BrowserContext]:
    """Yield a window of a service without accounts: its only user may replay history."""
    with service(options=["--sample"]) as up:
        window = browser.new_context(base_url=f"http://127.0.0.1:{up.port}")
        yield window
        window.close()


def test_a_first_backtest_and_a_paper_trade_take_few_clicks(
    alone: BrowserContext,
) -> None:
    clicks: list[None] = []
    alone.expose_function("clicked", lambda: clicks.append(None))
    alone.add_init_script(COUNT_CLICKS)
    page = alone.new_page()
    begun = time.monotonic()
    page.goto("/")
    page.get_by_role("link", name="Create an account").click()
    page.wait_for_url("**/sign-up")
    for text in ("Asha Rao", f"asha-{time.time_ns()}@example.com", PASSWORD):
        page.keyboard.type(text)
        page.keyboard.press("Tab")
    page.get_by_role("button", name="Create an account").click()
    page.get_by_role("button", name="Use this strategy: EMA cross").click()
    page.get_by_role("link", name="Backtest", exact=True).click()
    page.get_by_role("button", name="Run the backtest").click()
    expect(page.get_by_role("region", name="Key metrics")).to_be_visible(timeout=60_000)
    print(f"\na first result after {len(clicks)} clicks and {time.monotonic() - begun:.1f} s")
    assert 0 < len(clicks) <= MOST_CLICKS_TO_RESULT
    page.get_by_role("link", name="Algorithm", exact=True).click()
    page.get_by_role("button", name="Start on paper").click()
    page.get_by_role("link", name="Start a replay").click()
    page.get_by_role("button", name="Start the replay").click()
    page.get_by_role("link", name="Watch your algorithms trade").click()
    page.get_by_role("rowheader", name="EMA cross").get_by_role("link").click()
    filled = page.locator("#run-activity .status.filled").first
    expect(filled).to_be_visible(timeout=180_000)
    seconds = time.monotonic() - begun
    print(f"a paper trade after {len(clicks)} clicks and {seconds:.1f} s")
    assert len(clicks) <= MOST_CLICKS_TO_TRADE
    assert seconds <= MOST_SECONDS


def test_the_keyboard_alone_is_enough(stranger: BrowserContext) -> None:
    page = stranger.new_page()
    page.goto("/app")
    press(page, "Create an account")
    reach(page, "Name")
    for text in ("Asha Rao", f"keys-{time.time_ns()}@example.com", PASSWORD):
        page.keyboard.type(text)
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    page.wait_for_url("**/app")
    press(page, "New strategy")
    press(page, "Use this strategy: EMA cross")
    press(page, "Steps")
    reach(page, r"Remove: EMA \(9\) crosses above EMA \(21\)")
    press(page, "In words")
    press(page, "Backtest")
    press(page, "Run the backtest")
    page.wait_for_url("**/app/backtests/*")
    expect(page.get_by_role("region", name="Key metrics")).to_be_visible(timeout=60_000)
    press(page, "Settings")
    press(page, "Sign out")
    page.wait_for_url("**/app/sign-in")


def test_the_keyboard_starts_watches_and_stops(page: Page, trader: Trader) -> None:
    page.goto(trader.pages["algorithm"])
    press(page, "Start on paper")
    expect(page.locator("h1 .status.active")).to_be_visible()
    press(page, "Pause")
    press(page, "Resume")
    press(page, "Stop")
    reach(page, "Keep trading")
    press(page, "Stop trading")
    expect(page.locator("h1 .status.stopped")).to_be_visible()
    page.goto(trader.pages["run"])
    press(page, "Close NSE:RELIANCE")
    reach(page, "Close position")
    press(page, "Keep position")
    page.goto(trader.pages["coverage"])
    press(page, "Symbols")
    press(page, "Sessions and charges")
    press(page, "Upload")
    reach(page, "Check file")


def test_the_first_stop_of_the_keyboard_skips_to_the_content(page: Page) -> None:
    page.goto("/app/algorithms")
    page.keyboard.press("Tab")
    assert page.evaluate(FOCUSED)["text"] == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"


def press(page: Page, label: str) -> None:
    """Go to the element with this label by the Tab key, and press Enter; wait for the next page."""
    reach(page, label)
    with page.expect_navigation():
        page.keyboard.press("Enter")


def reach(page: Page, label: str) -> None:
    """Press Tab until the element with this label has the focus, which must be visible at each
    stop.
    """
    page.wait_for_load_state()
    stops = []
    for _ in range(MOST_TABS):
        page.keyboard.press("Tab")
        focused = page.evaluate(FOCUSED)
        stops.append(focused["text"])
        if re.fullmatch(label, focused["text"]):
            assert focused["isVisible"], f"the focus on {label} cannot be seen"
            return
    raise AssertionError(f"the keyboard never comes to {label}, but to {stops}")
