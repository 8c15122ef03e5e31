"""A run makes no entry at the end of a session that its backtest does not make (engine rule 9)."""

from collections import Counter
from typing import Any

import pytest

from apps.accounts.models import User
from apps.trading.live.runner import Runner
from apps.trading.models import Order, OrderStatus, Signal
from tests.trading.live.market_day import (
    DAY,
    FIRST,
    backtested,
    catch_up,
    crossing_steps,
    random_candles,
    session_starts,
    started,
    store_bars,
)
from tests.trading.live.test_runner import expected_of, trades_of

pytestmark = pytest.mark.django_db

SYMBOLS, LENGTH = ("NSE:RELIANCE", "NSE:SBIN"), 900
HOURS = (("10:00", "10:15"), ("14:30", "14:45"), ("15:15", "15:30"))
WINDOWS = [{"type": "time_window", "from": first, "to": end} for first, end in HOURS]


def entering_late(order_type: str) -> dict[str, Any]:
    """Return steps that enter at each last candle, and at one without a later one in its
    session.
    """
    return crossing_steps(
        SYMBOLS,
        "15m",
        entryConditions={"positionType": "long", "logicalOperator": "OR", "conditions": WINDOWS},
        exitConditions={
            "maxHoldingCandles": 2,
            "stopLoss": {"type": "percentage", "percentage": 5},
        },
        executionSettings={
            "mode": "paper",
            "exchange": "NSE",
            "orderType": order_type,
            "productType": "intraday",
        },
    )


def test_an_intraday_entry_never_waits_for_a_later_session(alice: User) -> None:
    starts = session_starts(2, LENGTH)
    short = [
        time for time in starts if (time - FIRST) % DAY < 22 * LENGTH or (time - FIRST) // DAY % 2
    ]
    series = {SYMBOLS[0]: random_candles(1, starts), SYMBOLS[1]: random_candles(2, short)}
    runs = [started(alice, entering_late(order_type)) for order_type in ("market", "limit")]
    store_bars(series, "15m")
    catch_up(series, "15m", LENGTH, Runner())

    for run in runs:
        result = backtested(run, start=FIRST, end=FIRST + 7 * DAY)
        assert trades_of(run) == expected_of(result)
        rejected: Any = result.performance["rejectedSignals"]
        assert rejected["after_session"] == 2 + 1 + 1
        signals = Signal.objects.filter(run=run).exclude(reason="")
        reasons = Counter(signals.values_list("reason", flat=True))
        assert reasons == Counter({name: n for name, n in rejected.items() if n})
        waited = Order.objects.filter(run=run, reason="after_session")
        assert [order.status for order in waited] == [OrderStatus.CANCELLED]
        assert not Order.objects.filter(run=run, status=OrderStatus.OPEN).exists()
        for order in Order.objects.filter(run=run, intent="entry", status=OrderStatus.FILLED):
            assert order.fills.get().at.date() == order.bar_time.date()
