"""Every result on generated candles says so: in pages, in the report, in the notes of a receipt."""

import numpy as np
import pytest
from django.test import Client

from apps.accounts.models import User
from apps.backtests.models import Backtest
from apps.backtests.tasks import run_evidence_job
from apps.market.candles import SAMPLE_NOTICE
from apps.market.candles.buffer import rows_of
from apps.market.feeds.services import receive
from tests import make
from tests.backtests.price_series import wave_candles
from tests.backtests.submissions import submit
from tests.backtests.workers import run_queued
from tests.conftest import Api
from tests.console.conftest import Browse
from tests.market.bars import at, rising_minutes, store_candles
from tests.trading.algorithm_states import start, stopped_algorithm

pytestmark = pytest.mark.django_db


@pytest.fixture(params=[True, False], ids=["generated", "real"])
def synthetic(request: pytest.FixtureRequest) -> bool:
    store_candles("NSE:NIFTY", "15m", wave_candles("2024-01-01", 45), synthetic=request.param)
    return bool(request.param)


@pytest.fixture
def client(browse: Browse, alice: User) -> Client:
    return browse(alice)


@pytest.fixture
def backtest(synthetic: bool, alice: User) -> Backtest:
    backtest = submit(alice)
    run_queued()
    return backtest


def test_pages_of_a_backtest_on_generated_candles_say_so(
    client: Client, backtest: Backtest, synthetic: bool
) -> None:
    page = f"/app/backtests/{backtest.pk}"
    pages = (
        page,
        f"{page}/explain",
        "/app/backtests",
        f"/api{page[4:]}/report",
        f"/app/backtests/compare?id={backtest.pk}&id={backtest.pk}",
    )
    for address in pages:
        assert client.get(address).content.decode().count(SAMPLE_NOTICE) == synthetic, address


def test_the_first_note_of_a_receipt_says_so(
    api: Api, alice: User, backtest: Backtest, synthetic: bool
) -> None:
    client, path = api(alice), f"/api/backtests/{backtest.pk}"
    for address in (path, f"{path}/receipt"):
        messages = [note["message"] for note in client.get(address).json()["receipt"]["notes"]]
        assert messages[:1] == [SAMPLE_NOTICE] * synthetic


def test_pages_of_trading_on_generated_candles_say_so(
    client: Client, alice: User, synthetic: bool
) -> None:
    run = start(stopped_algorithm(alice))
    page = f"/app/live/{run.algorithm_id}"
    below = ("", "/trades", "/drift", "/explain")
    for address in (*(page + part for part in below), "/app/live", "/app"):
        assert client.get(address).content.decode().count(SAMPLE_NOTICE) == synthetic, address


def test_a_result_says_until_when_its_candles_are_generated(
    api: Api, client: Client, alice: User
) -> None:
    candles = wave_candles("2024-01-01", 45)
    first = int(np.searchsorted(candles.time, at("2024-02-06 00:00")))
    store_candles("NSE:NIFTY", "15m", candles.slice(0, first), synthetic=True)
    rows = list(rows_of(candles.slice(first, len(candles))))
    receive(timeframe="15m", series={"NSE:NIFTY": rows}, now=make.NOW)
    backtest = submit(alice)
    run_queued()
    path = f"/api/backtests/{backtest.pk}"
    receipt = api(alice).get(path).json()["receipt"]
    assert receipt["synthetic"] == ["NSE:NIFTY"]
    assert receipt["coverage"][0]["generatedUntil"] == "2024-02-05T09:45:00.000Z"
    notice = "Prices are generated: NSE:NIFTY until 5 February 2024, 15:15 IST."
    assert notice in receipt["notes"][0]["message"]
    api(alice).get(f"{path}/evidence")
    run_evidence_job(backtest.pk)
    evidence = api(alice).get(f"{path}/evidence").json()
    assert notice in evidence["verdict"]["sentence"]
    assert {check["status"] for check in evidence["checks"]} == {"not_judged"}
    page = f"/app/backtests/{backtest.pk}"
    for address in (page, f"{page}/explain", "/app/backtests", f"{path}/report"):
        assert notice in client.get(address).content.decode(), address
    assert "generated until 2024-02-05" in client.get(f"{path}/report").content.decode()


def test_a_result_on_real_days_beside_generated_minutes_has_no_notice(
    api: Api, alice: User
) -> None:
    store_candles("NSE:NIFTY", "1m", rising_minutes("2024-02-05 09:15", 375), synthetic=True)
    store_candles("NSE:NIFTY", "15m", wave_candles("2024-01-01", 45))
    backtest = submit(alice)
    run_queued()
    receipt = api(alice).get(f"/api/backtests/{backtest.pk}").json()["receipt"]
    assert receipt["synthetic"] == []
    assert "sample_data" not in {note["code"] for note in receipt["notes"]}
