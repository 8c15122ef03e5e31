"""Every result on generated candles says so: in pages, in the report, in the notes of a receipt."""

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.backtests.models import Backtest
from apps.market.candles.reading import SAMPLE_NOTICE
from tests.backtests.price_series import wave_candles
from tests.backtests.submissions import submit
from tests.backtests.workers import run_queued
from tests.conftest import Api
from tests.console.conftest import Browse
from tests.market.bars import store_candles
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
        f"{page}/evidence",
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
