"""The report as a browser shows it: on a laptop, on a phone, by day, by night, and printed."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.backtests import services
from apps.backtests.models import Backtest
from apps.backtests.running.submissions import read_date_range
from tests import make
from tests.backtests.price_series import wave_candles
from tests.backtests.submissions import submit
from tests.backtests.workers import run_queued
from tests.browser import chromium, console_of, program, requests_of, tab
from tests.conftest import Api
from tests.market.bars import store_candles

SCREENS = [(1366, 900, False), (1366, 900, True), (390, 844, False), (390, 844, True)]
# Resolves when the charts and the list, drawn last, are complete.
DRAWN = """new Promise((resolve) => {
  const isDrawn = () =>
    document.querySelector("#trade-list tbody button") && document.querySelector("#chart canvas");
  const look = () => isDrawn() ? setTimeout(resolve, 100) : setTimeout(look, 20);
  look();
})"""
# How many pixels of canvases are not empty.
INK = """[...document.querySelectorAll("{}")].reduce((sum, canvas) => {{
  const pixels = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height).data;
  return sum + pixels.filter((value, i) => i % 4 === 3 && value).length;
}}, 0)"""
LIST = "[...document.querySelectorAll('#trade-list {}')].map((found) => found.{})"
TITLES, SORTED = LIST.format("thead th", "textContent"), LIST.format("thead th", "ariaSort")
COUNT = "document.getElementById('trade-count').textContent"
WHITE = "rgb(255, 255, 255)"
PRINTED = "getComputedStyle(document.querySelector('{}')).display"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(program() is None, reason="no Chromium on this machine"),
]


@pytest.fixture
def completed(alice: User) -> Backtest:
    store_candles("NSE:NIFTY", "15m", wave_candles("2024-01-01", 65))
    backtest = submit(alice, date_range=read_date_range("2024-02-01", "2024-03-28", now=make.NOW))
    run_queued()
    name = "<img src=x onerror=alert(1)><script>alert(2)</script>"
    return services.update_backtest(owner=alice, backtest_id=backtest.pk, name=name, now=make.NOW)


def open_report(page: Page, address: str) -> None:
    page.goto(address)
    page.evaluate(DRAWN)


def assert_whole(page: Page, width: int) -> None:
    assert page.evaluate(INK.format("#chart canvas")) > 5_000
    equity = page.locator(".line.equity").bounding_box()
    assert equity is not None
    assert equity["width"] > width / 2
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("document.images.length") == 0


def test_the_report_is_drawn_without_errors_or_requests_on_every_screen(
    api: Api, alice: User, completed: Backtest, live_server: LiveServer, tmp_path: Path
) -> None:
    link = api(alice).post(f"/api/backtests/{completed.pk}/report-link").json()["url"]
    address = live_server.url + link.removeprefix("http://testserver")
    for width, height, dark in SCREENS:
        with tab(width, height, dark=dark) as page:
            console, requests = console_of(page), requests_of(page)
            open_report(page, address)
            assert_whole(page, width)
            assert (console, requests) == ([], [address])
            page.screenshot(path=tmp_path / f"{width}-{dark}.png", full_page=True)


def test_trades_are_sorted_and_paged_and_shown_on_the_chart(
    api: Api, alice: User, completed: Backtest, tmp_path: Path
) -> None:
    answer = api(alice).get(f"/api/backtests/{completed.pk}/trades?limit=100").json()
    total, profits = answer["pagination"]["total"], [trade["profit"] for trade in answer["data"]]
    assert 25 < total <= 50
    report = kept_file(api(alice), completed, tmp_path)
    with tab(1366, 900) as page:
        console = console_of(page)
        open_report(page, report)
        titles = page.evaluate(TITLES)
        assert titles[:2] == ["#", "Side"]  # of one symbol there is no column
        assert column(page, 0) == [str(number) for number in range(1, 26)]
        page.get_by_role("button", name="Show more").press("Enter")
        assert column(page, 0) == [str(number) for number in range(1, total + 1)]
        assert page.get_by_role("button", name="Show more").is_hidden()
        by_profit = titles.index("Net P&L")
        header = page.locator("#trade-list thead button").nth(by_profit)
        for order, ranked in (
            ("descending", sorted(profits, reverse=True)),
            ("ascending", sorted(profits)),
        ):
            header.press("Enter")
            sorted_by = page.evaluate(SORTED)
            assert sorted_by.pop(by_profit) == order
            assert set(sorted_by) == {None}
            assert [rupees(text) for text in column(page, by_profit)] == pytest.approx(
                ranked, abs=0.005
            )
        header.press("Enter")
        best = str(1 + profits.index(max(profits)))
        page.locator("#trade-list tbody button").first.press("Enter")
        note = page.locator("#chart-note")
        expect(note).to_contain_text(f"Trade {best}:")
        expect(page.locator("#candles")).to_be_focused()
        page.get_by_role("button", name="Next trade").press("Enter")
        expect(note).to_contain_text(f"Trade {int(best) + 1}:")
        assert console == []


def test_trades_are_filtered_and_summed_up(
    api: Api, alice: User, completed: Backtest, tmp_path: Path
) -> None:
    answer = api(alice).get(f"/api/backtests/{completed.pk}/trades?limit=100").json()
    trades = answer["data"]
    report = kept_file(api(alice), completed, tmp_path)
    with tab(390, 844) as page:
        open_report(page, report)
        for label, option, kept in (
            ("Side", "Long", [trade for trade in trades if trade["side"] == "long"]),
            ("Result", "Won", [trade for trade in trades if trade["profit"] > 0]),
        ):
            select = page.get_by_label(label)
            select.select_option(option)
            profit = sum(trade["profit"] for trade in kept)
            count = page.evaluate(COUNT)
            assert count.startswith(f"{len(kept)} of {len(trades)} trades: net ")
            assert rupees(count.split()[5].rstrip(",")) == pytest.approx(profit, abs=0.02)
            select.select_option("")
        assert page.evaluate(COUNT).startswith(f"{len(trades)} of {len(trades)} trades")


def test_without_a_script_figures_and_tables_are_there(
    api: Api, alice: User, completed: Backtest, tmp_path: Path
) -> None:
    report = kept_file(api(alice), completed, tmp_path)
    with chromium() as browser:
        page = browser.new_context(java_script_enabled=False).new_page()
        page.goto(report)
        for text in ("Net profit", "Sharpe ratio, annual", "Returns by month", "Charges"):
            expect(page.get_by_text(text, exact=True).first).to_be_visible()
        expect(page.locator(".line.equity")).to_be_visible()
        expect(page.locator("#trade-list tbody tr")).to_have_count(25)
        expect(page.locator("#chart-tools")).to_be_hidden()


def test_the_values_of_the_curve_are_shown_below_the_pointer(
    api: Api, alice: User, completed: Backtest, tmp_path: Path
) -> None:
    report = kept_file(api(alice), completed, tmp_path)
    with tab(1366, 900) as page:
        open_report(page, report)
        strip = page.locator(".strip").nth(40)
        strip.hover()
        note = page.locator("#equity-note")
        expect(note).to_have_text(strip.text_content() or "")
        expect(note).to_contain_text("drawdown")


def column(page: Page, index: int) -> list[str]:
    """Return the texts of a column of the list of trades, in the displayed order."""
    texts: list[str] = page.evaluate(LIST.format("tbody tr", f"cells[{index}].textContent"))
    return texts


def rupees(text: str) -> float:
    return float(text.replace("₹", "").replace(",", "").replace("\N{MINUS SIGN}", "-"))


def kept_file(client: APIClient, backtest: Backtest, folder: Path) -> str:
    kept = folder / "report.html"
    kept.write_bytes(client.get(f"/api/backtests/{backtest.pk}/report").content)
    return kept.as_uri()


def test_a_kept_file_needs_no_service_and_prints(
    api: Api, alice: User, completed: Backtest, tmp_path: Path
) -> None:
    report = kept_file(api(alice), completed, tmp_path)
    with tab(1366, 900, dark=True) as page:
        console, requests = console_of(page), requests_of(page)
        open_report(page, report)
        assert_whole(page, 1366)
        assert requests == []
        page.emulate_media(media="print", color_scheme="dark")
        page.set_viewport_size({"width": 700, "height": 1000})  # A4 within its margins
        assert page.evaluate("document.documentElement.scrollWidth") <= 700
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == WHITE
        assert page.evaluate(PRINTED.format("#candles")) == "none"
        for table in ("#trade-list", ".months"):
            box = page.locator(table).bounding_box()
            assert box is not None
            assert box["x"] + box["width"] <= 700, table
        page.pdf(path=tmp_path / "report.pdf", prefer_css_page_size=True)
        assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")
        assert console == []
