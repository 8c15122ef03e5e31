"""From a new hook to alerts on its page, in Chromium."""

from playwright.sync_api import Browser, Page, expect

from tests.console.browser.trader import (
    complaints_of,
    make_alert_hook,
    make_from_template,
    sign_up,
)

NAME = "Range break"


def read_alerts(page: Page) -> None:
    """Make an algorithm enter by alerts of a name, by its form."""
    make_from_template(page, "EMA cross")
    page.get_by_role("link", name="Steps").click()
    entries = page.locator("#f-entryConditions-conditions")
    search = entries.get_by_placeholder("Add a condition").last
    search.fill("tradingview")
    search.press("Enter")
    condition = page.locator("#f-entryConditions-conditions-1")
    expect(condition).to_contain_text("alerts cannot be mirrored")
    condition.get_by_label("Only for this side").select_option("both")
    condition.get_by_label("Named").fill(NAME)
    expect(page.locator("#summary")).to_contain_text(f'alert "{NAME}" is received')
    page.get_by_role("button", name="Save", exact=True).click()
    page.wait_for_url("**/app/algorithms/*")
    expect(page.get_by_text("No alert of this name has come yet.")).to_be_visible()


def test_alerts_come_and_stand_on_the_page(browser: Browser, address: str) -> None:
    window = browser.new_context(base_url=address, permissions=["clipboard-write"])
    page = window.new_page()
    complaints = complaints_of(page)
    sign_up(page)
    read_alerts(page)
    hook = make_alert_hook(page)
    page.get_by_role("button", name="Copy the address").press("Enter")
    expect(page.get_by_role("button", name="Copied")).to_be_focused()
    page.get_by_role("link", name="I saved it").press("Enter")
    assert hook not in page.content()
    page.get_by_role("link", name="Alerts", exact=True).first.press("Enter")
    expect(page.locator("#stream")).to_have_text("Live")
    for body, status, text in (
        (f'{{"name": "{NAME}"}}', 202, "was not trading"),
        ('{"name": "Rnage break"}', 202, f"Did you mean “{NAME}”?"),
        ("RELIANCE crossed", 400, "RELIANCE crossed"),
    ):
        assert window.request.post(hook, data=body).status == status
        expect(page.locator("#alerts")).to_contain_text(text)
    window.close()
    assert complaints == []
