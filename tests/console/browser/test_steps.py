"""The form of the steps in a browser: symbols by search, and changes that survive a reload."""

import re

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from tests.console.browser.trader import complaints_of, make_from_template


@pytest.fixture
def complaints(page: Page) -> list[str]:
    return complaints_of(page)


def open_steps(page: Page) -> None:
    algorithm = make_from_template(page, "EMA cross")
    page.goto(f"/app/algorithms/{algorithm}/steps")


@pytest.mark.parametrize("width", [390, 1366])
def test_symbols_are_searched_added_and_kept_for_the_next_visit(
    page: Page, complaints: list[str], width: int
) -> None:
    page.set_viewport_size({"width": width, "height": 768})
    open_steps(page)
    symbols = page.get_by_label("Symbols", exact=True)
    symbols.fill("NSE:RELIANCE, infy, NSE:TCSS")
    page.get_by_role("button", name="Use NSE:INFY", exact=True).click()
    expect(symbols).to_have_value("NSE:RELIANCE, NSE:INFY, NSE:TCSS")
    page.get_by_role("button", name="Use NSE:TCS for NSE:TCSS").click()
    expect(symbols).to_have_value("NSE:RELIANCE, NSE:INFY, NSE:TCS")
    row = page.locator("#parts .choices li").filter(has_text="NSE:INFY")
    expect(row).to_contain_text(re.compile(r"1m, .* candles"))
    violations = Axe().run(page).response["violations"]
    assert [violation["id"] for violation in violations] == []
    page.reload()
    expect(symbols).to_have_value("NSE:RELIANCE, NSE:INFY, NSE:TCS")
    page.get_by_role("button", name="Drop").click()
    expect(symbols).to_have_value("NSE:RELIANCE")
    expect(page.get_by_text("Dropped.")).to_be_visible()
    assert complaints == []


def test_symbols_are_chosen_by_the_keyboard(page: Page, complaints: list[str]) -> None:
    open_steps(page)
    symbols = page.get_by_label("Symbols", exact=True)
    symbols.focus()
    page.keyboard.press("End")
    page.keyboard.type(", infy")
    add = page.get_by_role("button", name="Use NSE:INFY", exact=True)
    expect(add).to_be_visible()
    while not add.evaluate("element => element === document.activeElement"):
        page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(symbols).to_have_value("NSE:RELIANCE, NSE:INFY")
    expect(page.get_by_role("button", name="Remove NSE:INFY")).to_be_focused()
    assert complaints == []
