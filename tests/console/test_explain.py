"""A candle of a backtest, and of trading on paper, explained on its page."""

import pytest

from apps.accounts.models import User
from tests.backtests.price_series import wave_candles
from tests.backtests.submissions import submit
from tests.backtests.workers import run_queued
from tests.console.conftest import Browse
from tests.console.forms import HOSTILE_TEXTS
from tests.market.bars import store_candles
from tests.trading.algorithm_states import start, step_over, stopped_algorithm

PART = {"HX-Request": "true"}


def test_a_candle_of_a_backtest_is_explained(browse: Browse, alice: User, bob: User) -> None:
    store_candles("NSE:NIFTY", "15m", wave_candles("2024-01-01", 45))
    address = f"/app/backtests/{submit(alice).pk}"
    run_queued()
    client = browse(alice)
    assert f'action="{address}/explain"' in client.get(address).content.decode()
    query = f"{address}/explain?symbol=NSE:NIFTY&at=2024-02-05T12:00"
    page = client.get(query)
    assert page.context["explanation"]["candle"]["time"] == "2024-02-05T06:30:00.000Z"
    part = client.get(query, headers=PART).content.decode()
    assert "05 Feb 2024, 12:00" in part
    assert "Entry long" in part
    assert "<html" not in part
    assert client.get(f"{address}/explain").status_code == 200
    assert browse(bob).get(query).status_code == 404


@pytest.mark.parametrize(
    ("query", "status"),
    [
        ("symbol=NSE:NIFTY&at=2031-02-05T12:00", 404),
        ("symbol=NSE:NIFTY&at=never", 400),
        ("symbol=NSE:TCS&at=2024-02-05T12:00", 400),
    ],
)
def test_a_moment_without_a_candle_is_refused(
    browse: Browse, alice: User, query: str, status: int
) -> None:
    store_candles("NSE:NIFTY", "15m", wave_candles("2024-01-01", 45))
    address = f"/app/backtests/{submit(alice).pk}/explain"
    run_queued()
    client = browse(alice)
    refused = client.get(f"{address}?{query}", headers=PART)
    assert refused.status_code == status
    assert b'role="alert"' in refused.content
    assert b"<form" in client.get(f"{address}?{query}").content
    for text in HOSTILE_TEXTS:
        body = client.get(address, {"symbol": text, "at": text}).content.decode()
        assert text not in body or text.startswith("{{")


def test_a_candle_of_trading_on_paper_is_explained(browse: Browse, alice: User, bob: User) -> None:
    run = start(stopped_algorithm(alice))
    address = f"/app/live/{run.algorithm_id}"
    step_over(run, "2026-06-29T05:00:00Z")
    client = browse(alice)
    assert f'data-explains="{address}/explain"' in client.get(address).content.decode()
    query = f"{address}/explain?symbol=NSE:NIFTY&at=2026-06-29T10:30"
    part = client.get(query, headers=PART)
    assert part.status_code == 200, part.content
    assert "29 Jun 2026, 10:30" in part.content.decode()
    absent = client.get(query.replace("29T10", "30T10"), headers=PART)
    assert (absent.status_code, b"No run of this algorithm" in absent.content) == (404, True)
    assert browse(bob).get(query).status_code == 404
