"""Backtests of more bars than a worker holds in memory."""

from datetime import date
from typing import Any

import pytest

from apps.accounts.models import User
from apps.backtests import execution, histories
from apps.backtests.histories import TooManyBars
from apps.backtests.models import Backtest
from apps.backtests.submissions import read_date_range
from apps.engine.simulation import streamed
from apps.engine.simulation.simulations import ignore_progress
from apps.engine.simulation.streamed import CandlesChanged
from apps.market import corporate_actions, intraday_buffer
from apps.market.importers.corporate_actions import ActionRow
from tests import make
from tests.backtests.submissions import submit
from tests.backtests.waves import waves
from tests.backtests.workers import begin
from tests.engine.test_streamed import bytes_of
from tests.market.bars import at, flat, minutes, store_candles

pytestmark = pytest.mark.django_db

SYMBOLS = ["NSE:INFY", "NSE:NIFTY"]
HOURLY = {
    "type": "indicator_value", "operator": "above", "value": 50,
    "indicator": {"type": "RSI", "period": 9, "timeframe": "1h"},
}  # fmt: skip


@pytest.fixture
def running(alice: User) -> Backtest:
    """Seven months of two symbols, one of which is split on the way; hours are made of quarters."""
    for symbol in SYMBOLS:
        store_candles(symbol, "15m", waves("2024-01-01", 160))
    rows = [ActionRow("NSE:INFY", day, "bonus", 1, 2, "a test") for day in (date(2024, 5, 15),)]
    corporate_actions.store_actions(rows=rows, now=make.NOW)
    steps = make.steps()
    basics = {**steps["basicInfo"], "symbols": SYMBOLS}
    conditions = [*steps["entryConditions"]["conditions"], HOURLY]
    entry = {**steps["entryConditions"], "conditions": conditions}
    algorithm = make.algorithm(alice, **make.steps(basicInfo=basics, entryConditions=entry))
    submit(
        alice, algorithm.pk, date_range=read_date_range("2024-02-01", "2024-07-31", now=make.NOW)
    )
    return begin()


def in_parts(patch: pytest.MonkeyPatch, *, at_a_time: int = 800) -> None:
    patch.setattr(execution, "MAX_BARS_IN_MEMORY", at_a_time)
    patch.setattr(streamed, "BARS_AT_A_TIME", at_a_time)


def test_a_backtest_in_parts_has_the_bytes_of_a_whole_one(
    running: Backtest, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = execution.run_backtest(running, ignore_progress)
    in_parts(monkeypatch)
    fractions = list[float]()
    parts = execution.run_backtest(running, fractions.append)
    notes: Any = whole.result.receipt["notes"]
    assert "adjusted_prices" in [note["code"] for note in notes]
    assert len(whole.result.trades) > 20
    assert bytes_of(parts.result) == bytes_of(whole.result)
    assert (parts.coverage, parts.hashes(None)) == (whole.coverage, whole.hashes(None))
    assert len(fractions) > 10


def test_bars_that_come_in_meanwhile_are_left_out(
    running: Backtest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As in a range that includes today, while the market is open."""
    running.end = at("2024-08-12 11:00")
    whole = execution.run_backtest(running, ignore_progress)
    in_parts(monkeypatch)
    coming = iter(minutes("2024-08-12 09:15", 7, step=900).time.tolist())
    received = list[int]()

    def receive(done: float) -> None:
        """Store the next quarter of an hour, of one symbol, then of the other."""
        if done > execution.SHARE_OF_READING and (time := next(coming, None)):
            symbol = SYMBOLS[len(received) % 2]
            intraday_buffer.store_bars({symbol: flat([time], 1000.0)}, "15m", now=make.NOW)
            received.append(time)

    parts = execution.run_backtest(running, receive)
    assert len(received) == 7
    assert bytes_of(parts.result) == bytes_of(whole.result)
    assert (parts.coverage, parts.hashes(None)) == (whole.coverage, whole.hashes(None))


def test_bars_that_are_changed_meanwhile_end_it(
    running: Backtest, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_parts(monkeypatch)

    def change(done: float) -> None:
        if done > 0.5:
            bar = flat([at("2024-07-30 09:15")], 1234.5)
            intraday_buffer.store_bars({SYMBOLS[1]: bar}, "15m", now=make.NOW)

    with pytest.raises(CandlesChanged, match=f"Candles of {SYMBOLS[1]} were stored"):
        execution.run_backtest(running, change)


def test_there_is_an_end_of_what_a_worker_reads(
    running: Backtest, monkeypatch: pytest.MonkeyPatch
) -> None:
    in_parts(monkeypatch)
    monkeypatch.setattr(execution, "MAX_BARS", 2_000)
    with pytest.raises(TooManyBars, match="more than 2,000 bars"):
        execution.run_backtest(running, ignore_progress)
    assert histories.MAX_BARS >= 47_000_000
