"""Bars outside of sessions reach a run as they reach its backtest (engine rule 9)."""

import numpy as np
import pytest

from apps.accounts.models import User
from apps.engine.candles import Candles
from apps.engine.kernel.codes import BY_END_OF_DATA
from apps.trading.activity.drift import checking
from apps.trading.live.runner import Runner
from apps.trading.models import BarRow, BarStream, DriftReport, RunState, Trade
from tests import make
from tests.trading.live.market_day import (
    DAY,
    FIRST,
    backtested,
    crossing_steps,
    random_candles,
    session_starts,
    started,
    step,
    store_bars,
)

pytestmark = pytest.mark.django_db

SHARE, LENGTH, SESSIONS = "NSE:BHEL", 900, 2
PRE_OPEN, AFTERNOON = (FIRST + DAY - LENGTH, FIRST + DAY + 22_500)
END = FIRST + 7 * DAY


def bars() -> Candles:
    """Return three weeks before the first day and some after it, with bars before and after hours
    on each day.
    """
    regular = session_starts(15 + SESSIONS, LENGTH, first=FIRST - 21 * DAY)
    opens = [time for time in regular if (time - FIRST) % DAY == 0]
    outside = [moment for time in opens for moment in (time - LENGTH, time + 22_500)]
    return random_candles(7, sorted([*regular, *outside]), wild=0.01)


def test_runs_trade_as_their_backtests_and_without_drift(alice: User) -> None:
    """A run with bars out of session and one without them have their own streams."""
    store_bars({SHARE: bars()}, "15m")
    hourly = {"type": "EMA", "period": 4, "timeframe": "1h"}
    condition = {
        "type": "indicator_indicator",
        "indicator1": {"type": "EMA", "period": 3},
        "operator": "crosses_above",
        "indicator2": hourly,
    }
    entries = {"positionType": "both", "conditions": [condition]}
    given = crossing_steps([SHARE], "15m", entryConditions=entries)
    # Carried overnight, so that bars out of session would matter.
    given["executionSettings"] |= {"productType": "carryforward"}
    runs = {False: started(alice, given)}
    given["executionSettings"]["includeOutOfSession"] = True
    runs[True] = started(alice, given)
    runner = Runner()
    for time in (PRE_OPEN, PRE_OPEN + LENGTH, AFTERNOON, END):
        step(runner, [SHARE], "15m", time)

    assert BarStream.objects.count() == len(runs)
    for included, run in runs.items():
        stream = RunState.objects.get(run=run).stream
        assert stream is not None
        assert stream.include_out_of_session is included
        outside = BarRow.objects.filter(stream=stream, time__in=[PRE_OPEN, AFTERNOON])
        assert outside.count() == (2 if included else 0)

        expected = backtested(run, start=FIRST, end=END).trades
        expected = expected[expected["reason"] != BY_END_OF_DATA]
        traded = Trade.objects.filter(run=run).order_by("exit_time")
        assert len(expected) > 2
        assert np.array_equal(
            [trade.entry_time.timestamp() for trade in traded], expected["entry_time"]
        )
        assert [float(trade.exit_price) for trade in traded] == pytest.approx(
            expected["exit_price"].tolist(), abs=1e-4
        )

    checking.check_ended(now=make.NOW, market_now=END, stopping=lambda: False)
    assert DriftReport.objects.count() == SESSIONS * len(runs)
    assert set(DriftReport.objects.values_list("total", flat=True)) == {0}
