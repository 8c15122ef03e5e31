"""A report requested concurrently is rendered once."""

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from apps.accounts.models import User
from apps.backtests.analysis.report import page_cache
from apps.backtests.analysis.report.context import report_context
from apps.backtests.analysis.report.page import ResultPage
from apps.backtests.models import Backtest, ReportPage
from tests.backtests.price_series import wave_candles
from tests.backtests.submissions import submit
from tests.backtests.workers import run_queued
from tests.market.bars import store_candles

READERS = 8


@pytest.mark.django_db(transaction=True)
def test_many_concurrent_readers_render_the_page_once(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    store_candles("NSE:NIFTY", "15m", wave_candles("2024-01-01", 45))
    backtest = submit(alice)
    run_queued()
    made: list[str] = []

    def slow(backtest: Backtest, *, now: datetime) -> tuple[dict[str, Any], dict[str, Any]]:
        made.append(backtest.pk)
        time.sleep(0.3)
        return report_context(backtest, now=now)

    def read(_: int) -> ResultPage:
        try:
            return page_cache.read(backtest.pk, now=timezone.now())
        finally:
            connection.close()

    monkeypatch.setattr("apps.backtests.analysis.report.page.report_context", slow)
    with ThreadPoolExecutor(READERS) as readers:
        read_pages = set(readers.map(read, range(READERS)))
    assert made == [backtest.pk]
    assert len(read_pages) == 1
    assert ReportPage.objects.count() == 1
