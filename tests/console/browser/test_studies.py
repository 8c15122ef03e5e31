"""The page of a study leads with the study's own result, and its checks are drawn."""

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, expect

from tests.console.browser.test_pages import OVERFLOW, TAGS, WIDTHS
from tests.console.browser.trader import Trader, complaints_of

STUDIES = {
    "walk_forward": ("Walk-forward windows", "out-of-sample"),
    "optimization": ("Parameter sets", "in-sample"),
    "monte_carlo": ("Monte Carlo", "Max drawdown is under"),
}
OPEN_ALL = "document.querySelectorAll('.card details').forEach(details => details.open = true)"


@pytest.mark.parametrize("kind", STUDIES)
def test_a_study_leads_with_its_own_result(browser: Browser, trader: Trader, kind: str) -> None:
    title, words = STUDIES[kind]
    window = browser.new_context(base_url=trader.address, storage_state=trader.cookies)
    page = window.new_page()
    complaints = complaints_of(page)
    page.goto(f"{trader.pages['algorithm']}/backtest?kind={kind}")
    page.get_by_role("button", name="Run the backtest").click()
    page.wait_for_url("**/app/backtests/*")
    own = page.locator("section", has=page.locator("> .lead"))
    expect(own.get_by_role("heading")).to_contain_text(title, timeout=60_000)
    expect(own.locator(".lead")).to_contain_text(words)
    expect(own.get_by_role("img").first).to_be_visible()
    equity = page.get_by_role("heading", name="Equity and drawdown").bounding_box()
    box = own.bounding_box()
    assert box
    assert equity
    assert box["y"] + box["height"] < equity["y"]
    own.locator("summary").press("Enter")
    expect(own.get_by_role("table")).to_be_visible()
    expect(page.locator("#evidence figure")).not_to_have_count(0, timeout=60_000)
    address = page.url
    for width, height in WIDTHS.items():
        for scheme in ("light", "dark"):
            page.set_viewport_size({"width": width, "height": height})
            page.emulate_media(color_scheme="dark" if scheme == "dark" else "light")
            page.evaluate(OPEN_ALL)
            assert page.evaluate(OVERFLOW) <= 0, (width, scheme)
            options = {"runOnly": {"type": "tag", "values": TAGS}}
            assert Axe().run(page, options=options).response["violations"] == []
    assert complaints == []
    plain = browser.new_context(
        base_url=trader.address, storage_state=trader.cookies, java_script_enabled=False
    )
    unscripted = plain.new_page()
    unscripted.goto(address)
    expect(unscripted.locator("#evidence figure svg path").first).to_be_visible()
    plain.close()
    window.close()
