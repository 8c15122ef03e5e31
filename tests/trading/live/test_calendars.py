"""Since 2026-08-03 a share without derivatives still trades until half past three, live as in a
backtest.
"""

from collections.abc import Iterable
from typing import Any

import pytest

from apps.accounts.models import User
from apps.market.feeds import services as feeds
from apps.trading.live.runner import Runner
from apps.trading.models import BarRow, BarStream, Position, Run, Signal, Trade
from apps.trading.runs.bar_rows import unpack_bars
from tests import make
from tests.market.bars import at
from tests.symbols.instruments import master_of_derivatives
from tests.trading.live.market_day import DAY, backtested, started, step
from tests.trading.live.test_effects import LENGTH, SHARE, always_in

pytestmark = pytest.mark.django_db

MONDAY = at("2026-08-03 09:15")
TIMES = [MONDAY + LENGTH * n for n in range(25)]


def entering(timeframe: str, *conditions: dict[str, Any], **execution: Any) -> dict[str, Any]:
    """Return `always_in` with other bars and conditions."""
    steps = always_in(**execution)
    steps["basicInfo"] = {**steps["basicInfo"], "timeframe": timeframe}
    if conditions:
        steps["entryConditions"] = {"positionType": "long", "conditions": list(conditions)}
    return steps


def receive(times: Iterable[int], price: float) -> None:
    rows = [(time, price, price, price, price, 1.0) for time in times]
    feeds.receive(timeframe="15m", series={SHARE: rows}, now=make.NOW)


def close_bar(runner: Runner, time: int, price: float) -> None:
    """Receive the bar at its end."""
    receive([time], price)
    step(runner, [SHARE], "15m", time + LENGTH)


def assert_as_backtested(run: Run, days: int) -> None:
    midnight = at("2026-08-03 00:00")
    result = backtested(run, start=midnight, end=midnight + days * DAY)
    assert len(result.trades) == Trade.objects.count() + Position.objects.open().count() > 0


def test_a_day_ends_with_its_last_bar(alice: User) -> None:
    master_of_derivatives()
    run, runner = started(alice, entering("1d"), at=MONDAY), Runner()
    for day in range(3):
        receive([start + DAY * day for start in TIMES[:-1]], 99.0)
        close_bar(runner, TIMES[-1] + DAY * day, 105.0)
    first = BarRow.objects.earliest("time")
    assert unpack_bars(bytes(first.bars), 1)[0].tolist() == [99, 105, 99, 105, 25]
    assert_as_backtested(run, 3)


def test_an_hour_s_row_closes_when_the_session_does(alice: User) -> None:
    master_of_derivatives()
    started(alice, entering("1h", productType="intraday"), at=MONDAY)
    runner = Runner()
    receive(TIMES[:-2], 101.0)
    for time in TIMES[-2:]:
        close_bar(runner, time, 101.0)
    assert BarStream.objects.get().row_time == at("2026-08-03 15:15")
    assert Trade.objects.exists()
    assert not Position.objects.open().exists()


def test_four_hours_before_the_start_equal_those_of_a_backtest(alice: User) -> None:
    """At 15:15 they were at 150, at 15:30 at 100."""
    master_of_derivatives()
    sma = {"type": "SMA", "period": 2, "timeframe": "4h"}
    above = {
        "type": "indicator_indicator",
        "indicator1": {"type": "PRICE"},
        "operator": "above",
        "indicator2": sma,
    }
    early = {"type": "time_window", "from": "09:15", "to": "09:45"}
    for day in (0, 1):
        rows: list[Any] = [(t + DAY * day, *[_price(t)] * 4, 1.0) for t in TIMES]
        feeds.receive(timeframe="15m", series={SHARE: rows}, now=make.NOW)
    run, runner = started(alice, entering("15m", above, early), at=MONDAY + 2 * DAY), Runner()
    for time in TIMES[:5]:
        close_bar(runner, time + 2 * DAY, 90.0)
    assert Signal.objects.exists()
    assert_as_backtested(run, 3)


def _price(time: int) -> float:
    since = time - MONDAY
    return 50.0 if since < 14_400 else 150.0 if since < 21_600 else 100.0


def test_a_master_imported_during_the_session_counts_from_the_next_row(alice: User) -> None:
    started(alice, entering("15m", productType="intraday"), at=MONDAY)
    runner = Runner()
    receive(TIMES[:19], 101.0)
    close_bar(runner, TIMES[19], 101.0)
    master_of_derivatives()
    receive(TIMES[20:-3], 101.0)
    close_bar(runner, TIMES[-3], 101.0)
    assert Position.objects.open().exists()
    close_bar(runner, TIMES[-2], 101.0)
    close_bar(runner, TIMES[-1], 101.0)
    trade = Trade.objects.get()
    assert (trade.exit_reason, int(trade.exit_time.timestamp())) == ("square_off", TIMES[-1])
