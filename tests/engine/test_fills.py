"""Late fills and thin bars: each trade reports them, and a note counts them."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any

import numpy as np
import pytest

from apps.engine.candles import IST, Candles
from apps.engine.candles.sessions import Override, Regime, Sessions
from apps.engine.results.wire_records import ClosedTrade, trade_dicts
from apps.engine.simulation.simulate import History, SimulationResult, simulate
from tests.engine.strategies import price, strategy

NINE_FIFTEEN, HALF_PAST_THREE = 33_300, 55_800


def at(text: str) -> int:
    """Return the epoch seconds of a moment in Asia/Kolkata."""
    return int(datetime.fromisoformat(text + "+00:00").timestamp()) - IST


def day(text: str) -> int:
    return (at(text) + IST) // 86_400


CALENDAR = Sessions.build(
    [Regime(day("2010-01-01"), day("2030-12-31"), NINE_FIFTEEN, HALF_PAST_THREE)],
    [Override(day("2024-01-26"))],
    years=[2024],
)


def traded(
    moments: Sequence[str],
    timeframe: str,
    *,
    rises: int = 0,
    volumes: Sequence[float] | float = 1000.0,
    sessions: Sessions | None = CALENDAR,
    **steps: Any,
) -> SimulationResult:
    """Return a long entry signalled by the bar of index `rises`; all other bars stand still."""
    close = np.full(len(moments), 90.0)
    close[rises:] = 110.0
    candles = Candles.build(
        [at(moment) for moment in moments],
        open=close,
        high=close,
        low=close,
        close=close,
        volume=np.broadcast_to(np.asarray(volumes, np.float64), len(moments)),
    )
    given = strategy(
        basicInfo={"timeframe": timeframe},
        entryConditions={"positionType": "long", "conditions": [price("above", 100)]},
        **{"exitConditions": {"maxHoldingCandles": 1}, **steps},
    )
    history = History("NSE:TEST", candles, sessions)
    return simulate(given, [history], start=0, end=2**40, capital=1_000_000.0)


def first_trade(result: SimulationResult) -> ClosedTrade:
    return trade_dicts(result.trades, result.symbols, result.excursions, result.fills)[0]


def noted(result: SimulationResult, code: str) -> list[str]:
    notes: Any = result.receipt["notes"]
    return [note["message"] for note in notes if note["code"] == code]


def test_a_signal_of_09_20_that_is_filled_at_11_35_says_so() -> None:
    result = traded(["2024-01-01 09:20", "2024-01-01 11:35", "2024-01-01 11:40"], "5m")
    trade = first_trade(result)
    assert (trade["entryDelayBars"], trade["entryDelayMinutes"]) == (26, 130)
    assert (trade["exitDelayBars"], trade["exitDelayMinutes"]) == (0, 0)
    assert noted(result, "late_fills") == [
        "Filled more than 3 bars after their signals, as their symbols had no bars before:"
        " 1 entries and 0 exits, of 2 trades; the longest wait was 26 bars."
    ]


@pytest.mark.parametrize(
    ("timeframe", "signal", "fill", "bars", "minutes"),
    [
        ("5m", "2024-01-01 09:20", "2024-01-01 09:25", 0, 0),
        ("5m", "2024-01-01 09:20", "2024-01-01 09:40", 3, 15),
        ("5m", "2024-01-01 15:25", "2024-01-02 09:15", 0, 0),  # a night
        ("5m", "2024-01-25 15:25", "2024-01-29 09:15", 0, 0),  # a holiday and a weekend
        ("5m", "2024-01-25 15:15", "2024-01-29 09:20", 3, 15),
        ("5m", "2023-01-25 15:25", "2023-01-27 09:15", 0, 0),  # nobody knows 2023's holidays
        ("1h", "2024-01-01 14:15", "2024-01-01 15:15", 0, 0),
        ("1h", "2024-01-01 14:15", "2024-01-02 09:15", 1, 15),  # the last hour has 15 minutes
        ("1d", "2024-01-25 00:00", "2024-01-29 00:00", 0, 0),
        ("1d", "2024-01-25 00:00", "2024-01-31 00:00", 2, 750),
        ("1w", "2024-01-01 00:00", "2024-01-08 00:00", 0, 0),
        ("1w", "2024-01-01 00:00", "2024-01-22 00:00", 2, 3750),
    ],
)
def test_waits_are_bars_and_minutes_of_sessions(
    timeframe: str, signal: str, fill: str, bars: int, minutes: int
) -> None:
    more = {"1d": 86_400, "1w": 604_800}.get(timeframe, 300)
    last = at(fill) + more
    moments = [signal, fill, str(np.datetime64(last + IST, "s")).replace("T", " ")]
    result = traded(moments, timeframe)
    trade = first_trade(result)
    assert (trade["entryDelayBars"], trade["entryDelayMinutes"]) == (bars, minutes)
    assert bool(noted(result, "late_fills")) == (bars > 3)


def test_an_exit_that_a_close_decides_may_come_late_too() -> None:
    result = traded(["2024-01-01 09:15", "2024-01-01 09:20", "2024-01-01 10:20"], "5m")
    trade = first_trade(result)
    assert trade["exitReason"] == "max_holding"
    assert (trade["exitDelayBars"], trade["exitDelayMinutes"]) == (11, 55)
    assert "1 entries and 1 exits, of 2 trades" in noted(result, "late_fills")[0]


def test_a_stop_has_no_wait() -> None:
    stop = {"stopLoss": {"type": "percentage", "percentage": 5}}
    result = traded(["2024-01-01 09:15", "2024-01-01 09:20"], "5m", exitConditions=stop)
    trade = first_trade(result)
    assert trade["exitReason"] == "end_of_data"
    assert trade["exitDelayBars"] is None
    assert trade["exitBarVolume"] is None
    assert trade["exitVolumeShare"] is None


def test_a_fill_of_more_than_a_tenth_of_its_bar_is_thin() -> None:
    moments = ["2024-01-01 09:15", "2024-01-01 09:20", "2024-01-01 09:25"]
    sizing = {"method": "fixed_quantity", "quantity": 100}
    result = traded(moments, "5m", volumes=[5, 999, 1000], positionSizing=sizing)
    trade = first_trade(result)
    assert (trade["entryBarVolume"], trade["exitBarVolume"]) == (999, 1000)
    assert (trade["entryVolumeShare"], trade["exitVolumeShare"]) == (10.01, 10)
    assert noted(result, "thin_fills") == [
        "Of more than 10% of the volume of their bars, which a market may not fill so:"
        " 1 entries and 0 exits, of 2 trades."
    ]


def test_a_bar_without_volume_is_thin_unless_its_symbol_never_has_any() -> None:
    moments = ["2024-01-01 09:15", "2024-01-01 09:20", "2024-01-01 09:25"]
    share = traded(moments, "5m", volumes=[5, 0, 1000])
    trade = first_trade(share)
    assert (trade["entryBarVolume"], trade["entryVolumeShare"]) == (0, None)
    assert "1 entries and 0 exits" in noted(share, "thin_fills")[0]
    index = traded(moments, "5m", volumes=0.0)
    assert first_trade(index)["entryBarVolume"] is None
    assert noted(index, "thin_fills") == []


def test_without_a_calendar_no_wait_is_known() -> None:
    result = traded(
        ["2024-01-01 09:20", "2024-01-01 11:35", "2024-01-01 11:40"], "5m", sessions=None
    )
    assert first_trade(result)["entryDelayBars"] is None
    assert noted(result, "late_fills") == []
