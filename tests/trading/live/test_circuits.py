"""A run meets locked prices as its backtest does (engine rule 22)."""

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from apps.accounts.models import User
from apps.engine.candles import Candles
from apps.engine.candles.candles import frozen
from apps.engine.kernel.records import instrument_ids
from apps.engine.kernel.saved import load
from apps.trading.live.runner import Runner
from apps.trading.models import Order, RunState
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

SYMBOL, LENGTH, BARS_A_DAY = "NSE:RELIANCE", 1800, 13
OFFICIAL = 503.0  # the close of the first session; its last trade is at another price


def locked_days(sign: int) -> Candles:
    """Return four sessions: the second ends locked, the third begins locked, at limits of 10 %."""
    bars = random_candles(3, session_starts(4, LENGTH))
    columns = {name: getattr(bars, name).copy() for name in ("open", "high", "low", "close")}
    limit = round(OFFICIAL * (1 + sign * 0.1), 2)
    further = round(limit * (1 + sign * 0.1), 2)
    second, third = 1 * BARS_A_DAY, 2 * BARS_A_DAY
    for column in columns.values():
        column[second + 5 : third] = limit
        column[third : third + 3] = further
        column[third + 3 :] *= further / 500
    locked: dict[str, Any] = {name: frozen(column) for name, column in columns.items()}
    return replace(bars, **locked)


PRODUCTS, SIDES = ("intraday", "delivery"), ("long", "short")


def always_on(product_type: str, side: str) -> dict[str, Any]:
    always = {"type": "indicator_value", "indicator": {"type": "PRICE"}, "operator": "above"}
    return crossing_steps(
        [SYMBOL],
        "30m",
        entryConditions={"positionType": side, "conditions": [{**always, "value": 1}]},
        exitConditions={
            "maxHoldingCandles": 3,
            "stopLoss": {"type": "percentage", "percentage": 2},
        },
        executionSettings={
            "mode": "paper",
            "exchange": "NSE",
            "orderType": "market",
            "productType": product_type,
        },
    )


@pytest.mark.parametrize(
    ("sign", "traded"),
    [
        (1, [("intraday", "long"), ("delivery", "short")]),
        pytest.param(1, list(product(PRODUCTS, SIDES)), marks=pytest.mark.slow),
        pytest.param(-1, list(product(PRODUCTS, SIDES)), marks=pytest.mark.slow),
    ],
    ids=["quick", "rises", "falls"],
)
def test_paper_and_backtest_wait_with_exits_and_refuse_entries_at_circuits(
    alice: User, sign: int, traded: list[tuple[str, str]]
) -> None:
    runs = [started(alice, always_on(*kind)) for kind in traded]
    store_bars({SYMBOL: locked_days(sign)}, "30m")
    official = np.array([OFFICIAL])
    store_bars(
        {
            SYMBOL: Candles.build(
                [FIRST - 33_300],
                open=official,
                high=official + 40,
                low=official - 40,
                close=official,
                volume=official,
            )
        },
        "1d",
    )
    catch_up({SYMBOL: locked_days(sign)}, "30m", LENGTH, Runner())

    for run, (_, side) in zip(runs, traded, strict=True):
        result = backtested(run, start=FIRST, end=FIRST + 7 * DAY)
        assert trades_of(run) == expected_of(result)
        performance: Any = result.performance
        state = load(bytes(RunState.objects.get(run=run).data), instrument_ids([SYMBOL]))
        exits, waited = performance["waitingExits"].values()
        assert state.account["waited"].tolist() == [[exits, waited]]
        refused = performance["rejectedSignals"]["circuit"]
        assert Order.objects.filter(run=run, reason="circuit").count() == refused
        if (side == "long") == (sign > 0):  # it leaves, and comes in again no more
            assert (exits, refused > 5) == (0, True)
        else:
            assert (exits, waited > 8, refused) == (1, True, 0)
            notes: Any = result.receipt["notes"]
            assert "waiting_exits" in {note["code"] for note in notes}
