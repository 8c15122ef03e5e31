"""The band of returns from a run's backtest, in the drift of the run."""

from datetime import date, timedelta
from typing import Any

import pytest

from apps.accounts.models import User
from apps.backtests.models import Backtest, BacktestKind
from apps.backtests.running import results
from apps.engine.evidence import growth_band
from apps.engine.results.result_data import ResultData
from apps.trading.models import Run, RunState, SessionStart
from tests import make
from tests.backtests.price_series import wave_candles
from tests.backtests.submissions import submit
from tests.backtests.workers import run_queued
from tests.conftest import Api
from tests.market.bars import store_candles
from tests.trading.algorithm_states import start

pytestmark = pytest.mark.django_db

MONDAY = date(2026, 6, 1)


@pytest.fixture
def run(alice: User) -> Run:
    return start(make.algorithm(alice, **make.steps()))


def with_sessions(run: Run, growth: float, sessions: int = 6) -> None:
    """Store this many sessions, after which the equity has grown by a fraction."""
    capital = float(run.capital)
    for number in range(sessions):
        SessionStart.objects.create(
            run=run,
            day=MONDAY + timedelta(days=number),
            first_row=number,
            data=b"",
            equity=capital * (1 + growth * number / sessions),
        )
    RunState.objects.filter(run=run).update(equity=capital * (1 + growth))


def band_of(api: Api, alice: User, run: Run, query: str = "") -> Any:
    answer = api(alice).get(f"/api/trading/algorithms/{run.algorithm_id}/drift{query}")
    assert answer.status_code == 200, answer.content
    return answer.json()["band"]


@pytest.fixture
def backtest(alice: User, run: Run) -> Backtest:
    store_candles("NSE:NIFTY", "15m", wave_candles("2024-01-01", 60))
    backtest = submit(alice, run.algorithm_id)
    run_queued()
    backtest.refresh_from_db()
    return backtest


def test_growth_is_compared_with_the_band_of_the_backtest(
    api: Api, alice: User, run: Run, backtest: Backtest
) -> None:
    trades, curve = results.load_result(backtest)
    returns = ResultData(trades.records, curve, float(backtest.initial_capital)).daily
    lower, upper = (float(edge[-1]) for edge in growth_band(returns, 6, 0.9, seed=backtest.seed))
    for growth, status in (
        ((lower + upper) / 2, "within"),
        (lower - 0.01, "below"),
        (upper + 0.01, "above"),
    ):
        SessionStart.objects.all().delete()
        with_sessions(run, growth)
        band = band_of(api, alice, run)
        assert (band["status"], band["sessions"], band["backtestId"]) == (status, 6, backtest.pk)
        assert [band["growth"], band["lower"], band["upper"]] == pytest.approx(
            [growth, lower, upper], abs=1e-6
        )
        assert f"{growth:+.2%}" in band["sentence"]


def test_an_earlier_session_is_compared_as_it_ended(
    api: Api, alice: User, run: Run, backtest: Backtest
) -> None:
    with_sessions(run, 0.06)
    band = band_of(api, alice, run, f"?date={MONDAY + timedelta(days=4)}")
    assert (band["sessions"], band["growth"]) == (5, pytest.approx(0.05))


def test_too_little_is_unknown_and_says_why(api: Api, alice: User, run: Run) -> None:
    band = band_of(api, alice, run)
    assert (band["status"], band["growth"]) == ("unknown", None)
    assert band["sentence"] == "No session traded yet."
    with_sessions(run, 0.01, sessions=4)
    assert "4 sessions traded" in band_of(api, alice, run)["sentence"]
    SessionStart.objects.all().delete()
    with_sessions(run, 0.01)
    band = band_of(api, alice, run)
    assert (band["status"], band["lower"]) == ("unknown", None)
    assert "No backtest of these exact steps" in band["sentence"]


def test_backtests_of_other_steps_do_not_count(
    api: Api, alice: User, run: Run, backtest: Backtest
) -> None:
    with_sessions(run, 0.01)
    Backtest.objects.filter(pk=backtest.pk).update(kind=BacktestKind.BACKTEST)
    Run.objects.filter(pk=run.pk).update(
        configuration={
            **run.configuration,
            "positionSizing": {"method": "fixed_quantity", "quantity": 1},
        }
    )
    assert band_of(api, alice, run)["backtestId"] is None
