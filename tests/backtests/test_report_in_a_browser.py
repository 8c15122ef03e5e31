"""The report as a browser shows it: on a laptop, on a phone, by day, by night, and printed."""

from pathlib import Path

import pytest
from playwright.sync_api import Page
from pytest_django.live_server_helper import LiveServer
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.backtests import services
from apps.backtests.models import Backtest
from tests import make
from tests.backtests.price_series import wave_candles
from tests.backtests.submissions import submit
from tests.backtests.workers import run_queued
from tests.browser import console_of, program, requests_of, tab
from tests.conftest import Api
from tests.market.bars import store_candles

SCREENS = [(1366, 900, False), (1366, 900, True), (390, 844, False), (390, 844, True)]
# Resolves when the charts and the list, drawn last, are complete.
DRAWN = """new Promise((resolve) => {
  const isDrawn = () => document.querySelector("#trade-list tbody tr");
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
PAGE = "document.getElementById('page').textContent"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(program() is None, reason="no Chromium on this machine"),
]


@pytest.fixture
def completed(alice: User) -> Backtest:
    store_candles("NSE:NIFTY", "15m", wave_candles("2024-01-01", 45))
    backtest = submit(alice)
    run_queued()
    name = "<img src=x onerror=alert(1)><script>alert(2)</script>"
    return services.update_backtest(owner=alice, backtest_id=backtest.pk, name=name, now=make.NOW)


def open_report(page: Page, address: str) -> None:
    page.goto(address)
    page.evaluate(DRAWN)


def assert_whole(page: Page, width: int) -> None:
    for chart in ("#equity canvas", "#price canvas"):
        assert page.evaluate(INK.format(chart)) > 5_000, chart
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
        titles = page.evaluate(
            "[...document.querySelectorAll('#trade-list thead th')].map((c) => c.textContent)"
        )
        assert titles[:2] == ["#", "Side"]  # of one symbol there is no column
        assert column(page, 0) == [str(number) for number in range(1, 26)]
        assert page.evaluate(PAGE) == f"Trades 1 to 25 of {total}"
        assert page.evaluate("document.getElementById('previous').disabled")
        page.evaluate("document.getElementById('next').click()")
        assert column(page, 0) == [str(number) for number in range(26, total + 1)]
        assert page.evaluate("document.getElementById('next').disabled")
        by_profit = titles.index("Net P&L")
        header = f"document.querySelectorAll('#trade-list thead button')[{by_profit}]"
        for order, ranked in (
            ("descending", sorted(profits, reverse=True)),
            ("ascending", sorted(profits)),
        ):
            page.evaluate(f"{header}.focus()")
            page.keyboard.press("Enter")
            assert page.evaluate(SORTED) == [
                order if index == by_profit else "none" for index in range(len(titles))
            ]
            assert [rupees(text) for text in column(page, by_profit)] == pytest.approx(
                ranked[:25], abs=0.005
            )
        best = str(1 + profits.index(max(profits)))
        page.evaluate(f"{header}.click()")
        page.evaluate("document.querySelector('#trade-list tbody button').click()")
        assert f"#{best} " in page.evaluate("document.getElementById('price-legend').textContent")
        assert console == []


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
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert page.evaluate(INK.format("#price .copy")) > 5_000
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert page.evaluate("document.querySelectorAll('.copy').length") == 0
        page.pdf(path=tmp_path / "report.pdf")
        assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")
        assert console == []
