"""The report as a browser shows it: on a laptop, on a phone, by day, by night, and printed."""

from pathlib import Path

import pytest
from pytest_django.live_server_helper import LiveServer

from apps.accounts.models import User
from apps.backtests import services
from apps.backtests.models import Backtest
from tests import make
from tests.backtests.browser import Tab, program, tab
from tests.backtests.submissions import submit
from tests.backtests.waves import waves
from tests.backtests.workers import run_queued
from tests.conftest import Api
from tests.market.bars import store_candles

SCREENS = [(1280, 900, False), (1280, 900, True), (390, 844, False), (390, 844, True)]
DRAWN = "document.querySelectorAll('{} .main-svg').length > 0"
CANDLES = "document.querySelectorAll('#price .boxlayer path.box').length"
MARKS = "document.querySelectorAll('#price .scatterlayer path.point').length"
PAPER = 718
"""Pixels between the margins of a page of A4."""
ZOOMED = "Plotly.relayout('price', {'xaxis.range': [100, 110]}).then(() => 0)"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(300),
    pytest.mark.django_db(transaction=True),
    pytest.mark.skipif(program() is None, reason="no Chromium on this machine"),
]


@pytest.fixture
def completed(alice: User) -> Backtest:
    store_candles("NSE:NIFTY", "15m", waves("2024-01-01", 45))
    backtest = submit(alice)
    run_queued()
    name = "<img src=x onerror=alert(1)><script>alert(2)</script>"
    return services.rename(owner=alice, backtest_id=backtest.pk, name=name, now=make.NOW)


def assert_whole(page: Tab, width: int) -> None:
    assert page.complaints() == []
    for chart in ("#equity", "#price"):
        assert page.ask(DRAWN.format(chart)), chart
    assert page.ask(CANDLES) > 400
    assert page.ask("document.documentElement.scrollWidth") <= width
    assert page.ask("document.images.length") == 0


def test_the_report_is_drawn_without_errors_or_requests_on_every_screen(
    api: Api, alice: User, completed: Backtest, live_server: LiveServer, tmp_path: Path
) -> None:
    link = api(alice).post(f"/api/backtests/{completed.pk}/report-link").json()["url"]
    address = live_server.url + link.removeprefix("http://testserver")
    for width, height, dark in SCREENS:
        with tab() as page:
            page.screen(width, height, dark=dark)
            page.open(address)
            assert_whole(page, width)
            assert page.requests() == [address]
            page.picture(tmp_path / f"{width}-{dark}.png")
            shown = page.ask(MARKS)
            page.ask(ZOOMED)
            assert 0 < page.ask(MARKS) < shown
            assert page.complaints() == []


def test_a_kept_file_needs_no_service_and_prints(
    api: Api, alice: User, completed: Backtest, tmp_path: Path
) -> None:
    kept = tmp_path / "report.html"
    kept.write_bytes(api(alice).get(f"/api/backtests/{completed.pk}/report").content)
    with tab() as page:
        page.screen(1280, 900)
        page.open(kept.as_uri())
        assert_whole(page, 1280)
        assert page.requests() == []
        page.ask("dispatchEvent(new Event('beforeprint'))")
        assert page.ask("document.querySelector('#price .main-svg').clientWidth") < PAPER
        page.ask("dispatchEvent(new Event('afterprint'))")
        assert page.ask("document.querySelector('#price .main-svg').clientWidth") > PAPER
        page.printed(tmp_path / "report.pdf")
        assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")
        assert page.complaints() == []
