"""A strategy of three conditions with its stop at the other side of the opening range, built from
blank: by the mouse alone, and by the keyboard alone.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Locator, Page, expect

from tests.console.browser.test_pages import OVERFLOW, TAGS
from tests.console.browser.trader import Trader, complaints_of, id_in_address

MOST_ACTIONS = 40
SEARCH = "Add a condition: search by name or use"
CONDITIONS = (
    "price crosses above 15-minute opening range high",
    "candle starts from 09:30 to before 11:30",
    "relative volume (20) is above 1.5",
)
LEVEL = "15-minute opening range low"
BUSY = ".htmx-request, .htmx-swapping, .htmx-settling"


@pytest.fixture(params=[1366, 390])
def blank(browser: Browser, trader: Trader, request: pytest.FixtureRequest) -> Iterator[Page]:
    """Yield the form of a new strategy; messages of the browser's console fail the test."""
    window = browser.new_context(
        base_url=trader.address,
        storage_state=trader.cookies,
        viewport={"width": request.param, "height": 844},
    )
    page = window.new_page()
    complaints = complaints_of(page)
    page.goto("/app/gallery")
    page.get_by_role("button", name="Start from blank").click()
    page.wait_for_url("**/steps")
    yield page
    assert complaints == []
    window.close()


def stored(page: Page) -> dict[str, Any]:
    """Return the steps that were saved."""
    page.wait_for_url(lambda address: not address.endswith("/steps"))
    page.goto(f"/app/algorithms/{id_in_address(page)}/json")
    text = page.get_by_label("The steps").input_value()
    return dict(json.loads(text))


def check(steps: dict[str, Any]) -> None:
    assert steps["basicInfo"]["symbols"] == ["NSE:HDFCBANK"]
    opening_range = {"type": "OPENING_RANGE", "minutes": 15}
    conditions = steps["entryConditions"]["conditions"]
    assert conditions[0]["indicator2"] == {**opening_range, "output": "high"}
    assert [condition["type"] for condition in conditions[1:]] == ["time_window", "indicator_value"]
    stop = {"type": "level", "price": {**opening_range, "output": "low"}}
    assert steps["exitConditions"]["stopLoss"] == stop


def test_a_strategy_is_built_by_the_mouse_alone(blank: Page) -> None:
    clicks = 0

    def click(part: Locator) -> None:
        nonlocal clicks
        clicks += 1
        part.click()

    def choose(search: Locator, text: str) -> None:
        click(search)
        click(search.locator("xpath=..").get_by_role("button", name=text, exact=False).first)

    click(blank.get_by_role("button", name="Add NSE:HDFCBANK"))
    blank.get_by_role("button", name="Remove NSE:HDFCBANK").wait_for()
    for number, text in enumerate(CONDITIONS, start=1):
        choose(blank.get_by_label(SEARCH).first, text)
        expect(blank.locator(".condition")).to_have_count(number)
    kind = blank.locator("#f-exitConditions-stopLoss-type")
    kind.focus()
    kind.select_option("level")
    clicks += 2  # a native list is opened, and an entry is clicked
    choose(blank.locator("#f-exitConditions-stopLoss-price-search"), LEVEL)
    blank.get_by_text(LEVEL, exact=True).last.wait_for()
    click(blank.get_by_role("button", name="Save", exact=True))
    check(stored(blank))
    assert clicks < MOST_ACTIONS


def test_a_strategy_is_built_by_the_keyboard_alone(blank: Page) -> None:
    presses = 0

    def press(key: str) -> None:
        nonlocal presses
        presses += 1
        blank.keyboard.press(key)

    def type_in(text: str) -> None:
        nonlocal presses
        presses += 1
        blank.keyboard.type(text)

    def tab_to(part: Locator) -> None:
        for _ in range(MOST_ACTIONS):
            if part.evaluate("part => part === document.activeElement"):
                return
            press("Tab")
        raise AssertionError(f"{part} is not reached")

    expect(blank.get_by_label("Symbols")).to_be_focused()
    type_in("hdfc bank")
    add = blank.get_by_role("button", name="Use NSE:HDFCBANK")
    add.wait_for()
    tab_to(add)
    press("Enter")
    blank.get_by_role("button", name="Remove NSE:HDFCBANK").wait_for()
    search = blank.get_by_label(SEARCH).first
    tab_to(search)
    for number, text in enumerate(("opening range", "time", "volume breakout"), start=1):
        type_in(text)
        press("Enter")
        expect(blank.locator(".condition")).to_have_count(number)
        expect(blank.locator(BUSY)).to_have_count(0)
        expect(search).to_be_focused()
    tab_to(blank.locator("#f-exitConditions-stopLoss-type"))
    type_in("L")
    level = blank.locator("#f-exitConditions-stopLoss-price-search")
    level.wait_for()
    tab_to(level)
    type_in("opening range low")
    press("Enter")
    blank.locator("#f-exitConditions-stopLoss-price").wait_for()
    press("Control+s")
    check(stored(blank))
    assert presses < MOST_ACTIONS


def test_an_open_part_is_accessible_and_closes(blank: Page) -> None:
    blank.get_by_label(SEARCH).first.click()
    blank.get_by_role("button", name=CONDITIONS[0]).first.click()
    chip = blank.locator("details.chip").filter(has_text="15-minute opening range high").first
    chip.locator("summary").first.click()
    assert blank.evaluate(OVERFLOW) <= 0
    report = Axe().run(blank, options={"runOnly": {"type": "tag", "values": TAGS}})
    assert report.violations_count == 0, report.generate_report()
    blank.keyboard.press("Escape")
    expect(chip).not_to_have_attribute("open", "")
    search = blank.get_by_label(SEARCH).first
    search.fill("oversold")
    choice = search.locator("xpath=..").get_by_role("button").first
    expect(choice).to_contain_text("RSI (14) crosses above 30")
    search.press("ArrowDown")
    expect(choice).to_be_focused()
    report = Axe().run(blank, options={"runOnly": {"type": "tag", "values": TAGS}})
    assert report.violations_count == 0, report.generate_report()
