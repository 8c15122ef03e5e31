"""The chart of a backtest and of a run: a click on a candle explains it."""

import re
from datetime import datetime

import pytest
from playwright.sync_api import Locator, Page, expect

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


def note_of(page: Page) -> Locator:
    """Return the sentence below the candles, with the mouse elsewhere."""
    page.mouse.move(0, 0)
    return page.locator("#chart-note")


@pytest.mark.parametrize("name", ["backtest", "run"])
def test_a_click_explains_a_candle(chart: Page, trader: Trader, name: str) -> None:
    complaints = complaints_of(chart)
    chart.goto(trader.pages[name])
    expect(note_of(chart)).to_contain_text("Click a candle to explain it.")
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


def test_a_click_on_a_longer_candle_zooms_in(chart: Page, trader: Trader) -> None:
    chart.goto(trader.pages["backtest"])
    note = note_of(chart)
    expect(note).to_contain_text("Trade ")
    chart.get_by_role("button", name="Whole range").click()
    expect(note).to_contain_text("Drawn as")
    expect(note).to_contain_text("Click a candle to zoom in.")
    click_a_candle(chart)
    expect(note_of(chart)).to_contain_text("Click a candle to explain it.")


def test_trades_are_shown_at_a_readable_zoom(chart: Page, trader: Trader) -> None:
    chart.add_init_script(KEEP_MARKERS)
    chart.goto(trader.pages["backtest"])
    expect(note_of(chart)).to_contain_text("Trade ")
    with chart.expect_response(re.compile("/chart[?].*from=")) as answer:
        chart.get_by_title("Show it on the chart").nth(2).press("Enter")
    expect(note_of(chart)).to_contain_text("Trade 3:")
    expect(chart.locator("#candles")).to_be_in_viewport()
    fills = answer.value.json()["fills"]
    starts = {candle[0] for candle in answer.value.json()["candles"]}
    assert all(fill["time"] in starts for fill in fills)
    marked = chart.evaluate("window.marked")
    times = {datetime.fromisoformat(fill["time"]).timestamp() for fill in fills}
    assert {marker["time"] - INDIA for marker in marked} == times != set()
    # Fills of a candle and side share a mark.
    assert len({(marker["time"], marker["position"]) for marker in marked}) == len(marked)
    low, high = chart.evaluate("[window.visible.from, window.visible.to]")
    assert 80 <= high - low <= 200  # candles


# Keeps the markers set on the chart, and the candles in sight.
KEEP_MARKERS = """Object.defineProperty(window, 'LightweightCharts', {
    get: () => window.charts,
    set: (library) => {
        window.charts = {...library,
            createSeriesMarkers: (...options) => {
                const markers = library.createSeriesMarkers(...options);
                return {setMarkers: (all) => { window.marked = all; markers.setMarkers(all); }};
            },
            createChart: (...options) => {
                const chart = library.createChart(...options);
                const scale = chart.timeScale();
                scale.subscribeVisibleLogicalRangeChange((range) => { window.visible = range; });
                return chart;
            },
        };
    },
})"""
