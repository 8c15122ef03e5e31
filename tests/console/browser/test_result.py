"""What a trader does with a result: share it, repeat it, try a change, compare it, download it."""

import re
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, expect

from tests.browser import console_of
from tests.console.browser.trader import Trader


@pytest.fixture
def result(page: Page, trader: Trader) -> Page:
    page.goto(trader.pages["backtest"])
    return page


def test_a_share_link_opens_the_same_page_until_it_is_recalled(
    result: Page, browser: Browser
) -> None:
    messages = console_of(result)
    result.get_by_role("button", name="Create a link").press("Enter")
    address = result.get_by_label("Link until").first.input_value()
    stranger = browser.new_page()
    stranger_messages = console_of(stranger)
    stranger.goto(address)
    expect(stranger.get_by_role("region", name="Key metrics")).to_be_visible()
    expect(stranger.locator("#chart canvas").first).to_be_visible()
    figures = stranger.locator("dl.figures").inner_text()
    assert figures == result.locator("#result dl.figures").inner_text()
    result.get_by_role("button", name="Recall").first.press("Enter")
    expect(result.get_by_text("The link no longer works.")).to_be_visible()
    answer = stranger.request.get(address)
    assert answer.status == 404
    assert (messages, stranger_messages) == ([], [])
    stranger.close()


def test_a_change_of_a_number_is_tried_at_once(result: Page) -> None:
    messages = console_of(result)
    number = result.get_by_label("Number", exact=True)
    number.select_option(index=0)
    before = float((number.locator("option").first.text_content() or "").rsplit(": ", 1)[1])
    result.get_by_label("New value").fill(f"{before * 2:g}")
    result.get_by_label("New value").press("Enter")
    table = result.locator("#changed table")
    expect(table).to_contain_text("Net profit")
    expect(result.locator("#changed ins").first).to_be_visible()
    result.get_by_label("New value").fill("-1")
    result.get_by_role("button", name="Try", exact=True).press("Enter")
    expect(result.locator("#notices [role=alert], #notices .error").first).to_be_visible()
    assert [text for text in messages if "Failed to load resource" not in text] == []


def test_a_repeated_backtest_says_whether_it_is_equal(result: Page) -> None:
    messages = console_of(result)
    result.get_by_role("button", name="Reproduce").press("Enter")
    result.wait_for_url(re.compile("/app/backtests/[0-9a-f]+$"))
    expect(result.get_by_text("same result, to the last byte")).to_be_visible(timeout=60_000)
    assert messages == []


def test_trades_and_page_are_downloaded_whole(result: Page, tmp_path: Path) -> None:
    total = int(result.locator("dl.figures div").nth(6).locator("dd").first.inner_text())
    with result.expect_download() as table:
        result.get_by_role("link", name="Trades (CSV)").click()
    assert len(Path(table.value.path()).read_text().splitlines()) == total + 1
    with result.expect_download() as whole:
        result.get_by_role("link", name="Download this page").click()
    assert 'id="candle-data"' in Path(whole.value.path()).read_text()


@pytest.mark.parametrize(("width", "scheme"), [(390, "dark"), (1366, "light")])
def test_up_to_four_are_compared_and_more_is_said(
    browser: Browser, trader: Trader, width: int, scheme: str
) -> None:
    window = browser.new_context(
        base_url=trader.address,
        storage_state=trader.cookies,
        viewport={"width": width, "height": 800},
        color_scheme="dark" if scheme == "dark" else "light",
    )
    page = window.new_page()
    messages = console_of(page)
    backtest = trader.pages["backtest"].rsplit("/", 1)[1]
    page.goto("/app/backtests/compare?" + "&".join([f"id={backtest}"] * 5))
    expect(page.get_by_text("1 left out.")).to_be_visible()
    expect(page.locator("thead th")).to_have_count(5)
    expect(page.locator(".plot path[class*=curve]")).to_have_count(4)
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    violations = Axe().run(page, options={"resultTypes": ["violations"]}).response["violations"]
    assert [rule["id"] for rule in violations if rule["impact"] in ("serious", "critical")] == []
    assert messages == []
    window.close()
