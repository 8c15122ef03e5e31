"""Closed longer candles at a bar (rule 17), and their use in a strategy."""

import numpy as np
import pytest

from apps.engine.candles import Candles
from apps.engine.candles.resampling import resample
from apps.engine.candles.sessions import Override, Regime, Sessions
from apps.engine.errors import InsufficientBars
from apps.engine.indicators.aligned_candles import AlignedCandles
from apps.engine.results.wire_records import trade_dicts
from apps.engine.simulation.simulate import History, simulate
from tests.engine.strategies import price, strategy

MINUTE, IST = 60, 19_800
MONDAY = 19_723  # 2024-01-01
NSE = Sessions.build([Regime(0, 40_000, 33300, 55800)], [Override(MONDAY + 1, 33300, 40500)])
"""09:15 to 15:30, on Tuesday until 11:15."""


def moments(*clock: str, day: int = MONDAY) -> list[int]:
    """Return the epoch seconds of times of a day in Kolkata."""
    return [
        day * 86400 - IST + int(hour) * 3600 + int(minute) * 60
        for hour, minute in (time.split(":") for time in clock)
    ]


def bars(times: list[int], close: list[float] | None = None) -> Candles:
    prices = np.array(close or [100.0] * len(times))
    return Candles.build(
        times, open=prices, high=prices, low=prices, close=prices, volume=prices * 0
    )


def seen(times: list[int], timeframe: str, longer: list[int], name: str) -> list[int]:
    return list(AlignedCandles.of(bars(times), timeframe, bars(longer), name, NSE).seen.tolist())


def test_a_longer_candle_counts_at_the_bar_that_ends_with_it() -> None:
    hours = moments("09:15", "10:15")
    at = moments("09:15", "10:05", "10:10", "10:15", "11:10", "11:15")
    assert seen(at, "5m", hours, "1h") == [-1, -1, 0, 0, 1, 1]


def test_the_last_candle_of_a_session_ends_with_it() -> None:
    """From 15:15 on a quarter of an hour is left, and on Tuesday 11:15 is the close."""
    at = moments("15:20", "15:25")
    assert seen(at, "5m", moments("14:15", "15:15"), "1h") == [0, 1]
    tuesday = moments("09:15", day=MONDAY + 1)
    at = moments("11:05", "11:10", day=MONDAY + 1)
    assert seen(at, "5m", tuesday, "4h") == [-1, 0]


def test_a_bar_that_the_close_cuts_short_ends_there_too() -> None:
    assert seen(moments("14:45", "15:15"), "30m", moments("15:15"), "1h") == [-1, 0]


def test_a_day_counts_from_the_next_date_and_a_week_from_the_next_monday() -> None:
    at = [moments("15:25", day=MONDAY + day)[0] for day in (-1, 0, 1, 6, 7)]
    days = [day * 86400 - IST for day in (MONDAY - 1, MONDAY, MONDAY + 1)]
    assert seen(at, "5m", days, "1d") == [-1, 0, 1, 2, 2]
    weeks = [day * 86400 - IST for day in (MONDAY - 7, MONDAY)]
    assert seen(at, "5m", weeks, "1w") == [-1, 0, 0, 0, 1]
    assert seen(days, "1d", weeks, "1w") == [-1, 0, 0]


def hourly(operator: str, value: float, **more: object) -> dict[str, object]:
    condition = price(operator, value)
    return condition | {"indicator": {"type": "PRICE", "timeframe": "15m", **more}}


CLOSES = [99.0] * 14 + [101.0] + [99.0] * 14 + [98.0] + [97.0] * 20
"""Minutes: the first quarter of an hour closes at 101, the second at 98."""


def history() -> History:
    times = [moments("09:15")[0] + MINUTE * i for i in range(len(CLOSES))]
    candles = bars(times, CLOSES)
    quarters = resample(candles, "1m", "15m", NSE, until=times[-1] + MINUTE)
    return History("NSE:TEST", candles, NSE, higher_timeframes={"15m": quarters})


@pytest.mark.parametrize(
    ("condition", "entered"),
    [
        (hourly("above", 100), "04:00"),
        (hourly("below", 100), "04:15"),
        (hourly("above", 100, offset=1), "04:15"),
        (hourly("crosses_below", 100), "04:15"),
        (
            {
                "type": "indicator_value",
                "operator": "falling",
                "indicator": {"type": "PRICE", "timeframe": "15m"},
            },
            "04:15",
        ),
    ],
)
def test_a_condition_reads_the_last_closed_candle(
    condition: dict[str, object], entered: str
) -> None:
    wanted = strategy(entryConditions={"conditions": [condition]})
    result = simulate(wanted, [history()], start=0, end=2**40, capital=1e6)
    assert str(trade_dicts(result.trades, result.symbols, None)[0]["entryTime"])[11:16] == entered


def test_a_falling_longer_candle_is_held_while_it_is_the_last() -> None:
    """The longer candle is held at each minute, not only at the one that closed it."""
    falling = {
        "type": "indicator_value",
        "operator": "falling",
        "indicator": {"type": "PRICE", "timeframe": "15m"},
    }
    wanted = strategy(
        entryConditions={"conditions": [falling], "confirmationCandles": 10},
        exitConditions={"maxHoldingCandles": 1},
    )
    result = simulate(wanted, [history()], start=0, end=2**40, capital=1e6)
    times = [
        str(trade["entryTime"])[11:16] for trade in trade_dicts(result.trades, result.symbols, None)
    ]
    assert times[0] == "04:24"
    assert len(times) == 11


def test_a_range_without_a_warm_longer_candle_is_refused() -> None:
    slow = {"indicator": {"type": "SMA", "period": 4, "timeframe": "15m"}}
    wanted = strategy(entryConditions={"conditions": [price("above", 1) | slow]})
    with pytest.raises(InsufficientBars):
        simulate(wanted, [history()], start=0, end=2**40, capital=1e6)


def test_the_receipt_holds_the_longer_candles_too() -> None:
    wanted = strategy(entryConditions={"conditions": [hourly("above", 100)]})
    histories = history()
    other = History(
        histories.symbol,
        histories.candles,
        NSE,
        higher_timeframes={
            "15m": bars(histories.higher_timeframes["15m"].time.tolist(), [1.0, 2.0, 3.0])
        },
    )
    first, second = (
        simulate(wanted, [given], start=0, end=2**40, capital=1e6).receipt
        for given in (histories, other)
    )
    assert first["candles"] != second["candles"]


def test_the_receipt_holds_the_hours_that_longer_candles_end_at() -> None:
    wanted = strategy(
        entryConditions={"conditions": [hourly("above", 100)]},
        executionSettings={"includeOutOfSession": True},
    )
    histories = history()
    early = Sessions.build([Regime(19_000, 21_000, 9 * 3600 + 900, 9 * 3600 + 2100)])  # to 09:35
    other = History(
        histories.symbol, histories.candles, early, higher_timeframes=histories.higher_timeframes
    )
    first, second = (
        simulate(wanted, [given], start=0, end=2**40, capital=1e6).receipt
        for given in (histories, other)
    )
    assert first["candles"] == second["candles"]
    assert first["rulebook"] != second["rulebook"]
