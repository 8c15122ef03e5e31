"""The chart of a backtest and of a run: a click on a candle explains it."""

import re
from datetime import datetime

import pytest
from playwright.sync_api import Page, expect

from tests.console.browser.trader import Trader, complaints_of

INDIA = 19_800  # seconds before UTC


@pytest.fixture
def chart(page: Page) -> Page:
    page.set_viewport_size({"width": 1366, "height": 900})
    return page


def click_a_candle(page: Page) -> None:
    """Click in the middle of the candles, wherever they are."""
    canvas = page.locator("#chart canvas").first
    canvas.scroll_into_view_if_needed()
    box = canvas.bounding_box()
    assert box is not None
    page.mouse.click(box["x"] + box["width"] * 0.45, box["y"] + box["height"] / 2)


@pytest.mark.parametrize("name", ["backtest", "run"])
def test_a_click_explains_a_candle(chart: Page, trader: Trader, name: str) -> None:
    complaints = complaints_of(chart)
    chart.goto(trader.pages[name])
    note = chart.locator("#chart-note")
    expect(note).to_contain_text(re.compile("[0-9]+ candles of"))
    if "look closer" in note.inner_text():
        click_a_candle(chart)
        expect(note).to_contain_text("to have it explained")
        expect(chart.get_by_role("button", name="The whole range")).to_be_visible()
        chart.wait_for_timeout(600)  # or the next click is the second of a double click
    with chart.expect_response(re.compile("/explain")) as answer:
        click_a_candle(chart)
    explained_at = chart.locator("#explained-at").input_value()
    expect(chart.locator("#explanation")).not_to_be_empty()
    if name == "backtest":
        assert answer.value.status == 200
        expect(chart.locator("#explanation h3").first).to_contain_text(explained_at[-5:])
    else:  # an algorithm that never traded has no candle of a run
        assert answer.value.status == 404
        expect(chart.locator("#explanation [role=alert]")).to_be_visible()
    assert complaints == []


def test_a_trade_is_shown_on_the_chart(chart: Page, trader: Trader) -> None:
    chart.goto(trader.pages["backtest"])
    expect(chart.locator("#chart-note")).to_contain_text("look closer")
    chart.get_by_role("link", name="Show the trade of").first.click()
    note = chart.locator("#chart-note")
    expect(note).to_contain_text("candles of 5m")
    chart.get_by_role("button", name="The whole range").click()
    expect(note).to_contain_text("look closer")


# Keeps the markers set on the chart.
KEEP_MARKERS = """Object.defineProperty(window, 'LightweightCharts', {
    get: () => window.charts,
    set: (library) => {
        window.charts = {...library, createSeriesMarkers: (...options) => {
            const markers = library.createSeriesMarkers(...options);
            return {setMarkers: (all) => { window.marked = all; markers.setMarkers(all); }};
        }};
    },
})"""


def test_the_markers_stand_on_the_candles_of_their_fills(chart: Page, trader: Trader) -> None:
    chart.add_init_script(KEEP_MARKERS)
    chart.goto(trader.pages["backtest"])
    expect(chart.locator("#chart-note")).to_contain_text("look closer")
    with chart.expect_response(re.compile("/chart[?].*from=")) as answer:
        chart.get_by_role("link", name="Show the trade of").first.click()
    expect(chart.locator("#chart-note")).to_contain_text("candles of 5m")
    fills = answer.value.json()["fills"]
    assert fills
    starts = {candle[0] for candle in answer.value.json()["candles"]}
    assert all(fill["time"] in starts for fill in fills)
    drawn = [marker["time"] - INDIA for marker in chart.evaluate("window.marked")]
    assert drawn == [datetime.fromisoformat(fill["time"]).timestamp() for fill in fills]
