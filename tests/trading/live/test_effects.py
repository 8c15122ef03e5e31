"""Effects of stops, pauses, switches, limits and the calendar on runs at their next rows."""

from collections.abc import Sequence
from datetime import date, timedelta
from decimal import Decimal
from io import StringIO
from typing import Any

import numpy as np
import pytest
from django.core.management import call_command

from apps.accounts.models import User
from apps.algorithms import services as algorithms
from apps.algorithms.lifecycle import AlgorithmStatus
from apps.core.times import moment
from apps.engine.candles import Candles
from apps.engine.kernel.records import instrument_ids
from apps.engine.kernel.saved import load
from apps.market.candles.reading import GRACE_PERIOD
from apps.market.models import CorporateAction
from apps.market.rulebook.files.rule_set import bundled_files
from apps.market.services import load_rule_set
from apps.symbols.models import Instrument
from apps.trading import services
from apps.trading.activity.drift import checking
from apps.trading.live import leases
from apps.trading.live.runner import Runner
from apps.trading.models import (
    BarRow,
    BarStream,
    DailyLoss,
    DriftReport,
    LedgerEntry,
    Order,
    Position,
    Posting,
    Run,
    RunState,
    Signal,
    Trade,
)
from apps.trading.runs import bar_streams
from apps.webhooks.event_types import EventType
from apps.webhooks.models import Event
from tests import make
from tests.market.bars import at, flat_candles
from tests.trading.live.market_day import (
    DAY,
    FIRST,
    SESSION,
    crossing_steps,
    started,
    step,
    store_bars,
)

pytestmark = pytest.mark.django_db

SHARE = "NSE:RELIANCE"
LENGTH = 900
LAST_SESSION = FIRST + 29 * DAY  # of the future: Tuesday, 2026-06-30


def always_in(symbol: str = SHARE, **execution: object) -> dict[str, Any]:
    """Return steps that are long whenever the close is above 100: 100 shares, out at a loss of 20
    percent.
    """
    return crossing_steps(
        [symbol],
        "15m",
        positionSizing={"method": "fixed_quantity", "quantity": 100},
        entryConditions={
            "positionType": "long",
            "conditions": [
                {
                    "type": "indicator_value",
                    "indicator": {"type": "PRICE"},
                    "operator": "above",
                    "value": 100,
                }
            ],
        },
        exitConditions={"stopLoss": {"type": "percentage", "percentage": 20}},
        riskParameters={"maxPositionSize": 500_000, "maxDailyLoss": 1_000, "maxOpenPositions": 1},
        executionSettings={
            "mode": "paper",
            "exchange": "NSE",
            "orderType": "market",
            "charges": "none",
            "productType": "delivery",
            "initialCapital": 100_000,
            **execution,
        },
    )


class Market:
    """A symbol with these closes; each bar opens at the previous close."""

    def __init__(self, closes: Sequence[float], symbol: str = SHARE, *, first: int = FIRST) -> None:
        self.symbol, self.runner, self.row = symbol, Runner(), 0
        self.times = [first + LENGTH * n for n in range(len(closes))]
        self.store(self.times, closes)

    def store(self, times: Sequence[int], closes: Sequence[float]) -> None:
        close = np.array(closes, float)
        opened = np.r_[close[:1], close[:-1]]
        bars = Candles.build(
            times,
            open=opened,
            high=np.maximum(opened, close),
            low=np.minimum(opened, close),
            close=close,
            volume=np.ones(len(close)),
        )
        store_bars({self.symbol: bars}, "15m")

    def go(self, rows: int = 1) -> None:
        """Close this many bars, each processed by the runner at once."""
        self.row += rows
        self.at(self.times[self.row - 1] + LENGTH)

    def at(self, time: int) -> None:
        step(self.runner, [self.symbol], "15m", time)


def june_future(code: str = "NIFTY26JUNFUT") -> str:
    """Add a June future, and return its symbol."""
    Instrument.objects.create(
        symbol=f"NSE:{code}",
        exchange="NSE",
        segment="derivatives",
        code=code,
        exchange_name=code,
        name="NIFTY",
        type="futures",
        underlying="NIFTY",
        expiry=date(2026, 6, 30),
        lot_size=65,
        source="test",
    )
    return f"NSE:{code}"


def status_of(run: Run) -> str:
    run.refresh_from_db()
    return run.algorithm.status


def test_a_stop_closes_at_the_next_open_and_then_gives_the_capital_back(alice: User) -> None:
    market = Market([101, 102, 104, 105, 106])
    run = started(alice, always_in())
    market.go(2)
    assert Position.objects.open().get().quantity == 100
    services.stop(owner=alice, algorithm_id=run.algorithm_id, close_positions=True, now=make.NOW)
    market.go()
    assert Position.objects.open().exists()  # its bar had begun when the stop was given
    market.go()
    trade = Trade.objects.get()
    assert (trade.exit_reason, trade.exit_price) == ("stopped", Decimal("104"))
    run.refresh_from_db()
    assert run.released_at is not None
    assert run.account.reserved == 0
    assert run.account.balance == 10_000_000 + 300
    assert not RunState.objects.exists()
    assert not Order.objects.filter(status="open").exists()


def test_a_stop_that_leaves_positions_leaves_their_exits(alice: User) -> None:
    market = Market([101, 101, 101, 80, 80])
    run = started(alice, always_in())
    market.go(2)
    services.stop(owner=alice, algorithm_id=run.algorithm_id, close_positions=False, now=make.NOW)
    market.go(1)
    assert Position.objects.open().exists()
    market.go(1)
    assert Trade.objects.get().exit_reason == "stop_loss"
    run.refresh_from_db()
    assert run.released_at is not None


@pytest.mark.parametrize("before", ["failed", "switched off"])
def test_positions_are_closed_at_the_open_after_the_request_whatever_came_before(
    alice: User, before: str
) -> None:
    market = Market([101, 102, 104, 105, 106, 107])
    run = started(alice, always_in())
    market.go(3)
    if before == "failed":
        services.fail(algorithm=run.algorithm, reason="no bars", now=moment(market.times[2]))
    else:
        engage_kill_switch(alice, close=False, at=market.times[2])
    asked = market.times[3] + 60
    engage_kill_switch(alice, close=True, at=asked)
    market.go()
    assert Position.objects.open().exists()  # its bar had begun when that was asked
    market.go()
    assert Trade.objects.get().exit_time == moment(market.times[4])


def engage_kill_switch(owner: User, *, close: bool, at: int) -> None:
    services.engage_kill_switch(owner=owner, reason="", close_positions=close, now=moment(at))


@pytest.mark.parametrize("reason", ["stopped", "error"])
def test_a_pending_entry_is_cancelled_when_its_run_ends(alice: User, reason: str) -> None:
    market = Market([101, 101])
    run = started(alice, always_in())
    market.go()
    if reason == "stopped":
        services.stop(
            owner=alice, algorithm_id=run.algorithm_id, close_positions=True, now=make.NOW
        )
    else:
        services.fail(algorithm=run.algorithm, reason="no bars", now=make.NOW)
    order, signal = Order.objects.get(), Signal.objects.get()
    assert (order.status, order.reason) == ("cancelled", reason)
    assert (signal.followed, signal.reason) == (False, reason)


def test_no_run_enters_after_the_command_has_engaged_the_kill_switch(alice: User) -> None:
    market = Market([101] * 4)
    started(alice, always_in())
    market.go()
    call_command("kill_switch", "on", "--reason", "bad data", stdout=StringIO())
    market.go()
    assert not Position.objects.exists()
    order = Order.objects.get()
    assert (order.status, order.reason) == ("cancelled", "kill_switch")
    assert set(Signal.objects.values_list("followed", "reason")) == {(False, "kill_switch")}


def test_positions_of_a_deleted_algorithm_are_closed(alice: User) -> None:
    market = Market([101, 101, 101, 102, 102])
    run = started(alice, always_in())
    market.go(2)
    stopped, deleted = moment(market.times[1]), moment(market.times[2] + 60)
    services.stop(owner=alice, algorithm_id=run.algorithm_id, close_positions=False, now=stopped)
    algorithms.archive(owner=alice, algorithm_id=run.algorithm_id, now=deleted)
    market.go()
    assert Position.objects.open().exists()  # its bar had begun when it was deleted
    market.go(2)
    assert Trade.objects.get().exit_reason == "stopped"
    run.refresh_from_db()
    assert run.released_at is not None


def test_a_pause_and_a_kill_switch_block_entries_and_positions_continue(alice: User) -> None:
    market = Market([101] * 8)
    run = started(alice, always_in())
    market.go()
    services.pause(owner=alice, algorithm_id=run.algorithm_id, now=make.NOW)
    market.go()
    assert not Position.objects.exists()
    order = Order.objects.get()
    assert (order.status, order.reason) == ("cancelled", "paused")
    assert set(Signal.objects.values_list("followed", "reason")) == {(False, "paused")}
    services.resume(owner=alice, algorithm_id=run.algorithm_id, now=make.NOW)
    market.go(2)
    assert Position.objects.open().exists()
    services.engage_kill_switch(owner=alice, reason="enough", close_positions=True, now=make.NOW)
    market.go(3)
    assert Trade.objects.get().exit_reason == "stopped"
    assert status_of(run) == AlgorithmStatus.PAUSED
    assert RunState.objects.exists()
    assert Signal.objects.latest("bar_time").reason == "kill_switch"
    services.release_kill_switch(owner=alice, now=make.NOW)
    market.go()
    assert Signal.objects.latest("bar_time").reason == "paused"


def test_a_breach_is_reported_once_and_blocks_entries_for_the_day(alice: User) -> None:
    market = Market([101, 101, 90, 101, 101, 101, 101])
    run = started(alice, always_in())
    market.go(7)
    assert Trade.objects.get().exit_reason == "daily_loss_limit"
    loss = DailyLoss.objects.get()
    assert (loss.loss, loss.limit) == (Decimal(1100), Decimal(1000))
    assert loss.breached_at is not None
    event = Event.objects.get(type=EventType.DAILY_LOSS_LIMIT_REACHED)
    assert event.data["day"] == "2026-06-01"
    assert status_of(run) == AlgorithmStatus.ACTIVE
    reasons = Signal.objects.filter(followed=False).values_list("reason", flat=True)
    assert set(reasons) == {"daily_loss_limit"}
    services.stop(owner=alice, algorithm_id=run.algorithm_id, close_positions=True, now=make.NOW)
    run.refresh_from_db()
    assert run.released_at is not None


def test_a_profit_that_is_enough_is_reported_once_a_day(alice: User) -> None:
    market = Market([101, 101, 112, 113, 113, 113])
    limits = {**always_in()["riskParameters"], "maxDailyProfit": 1_000}
    run = started(alice, {**always_in(), "riskParameters": limits})
    market.go(6)
    assert Trade.objects.get().exit_reason == "daily_profit_limit"
    event = Event.objects.get(type=EventType.DAILY_PROFIT_LIMIT_REACHED)
    names = ("runId", "day", "profit", "limit")
    assert [event.data[name] for name in names] == [run.pk, "2026-06-01", 1100.0, 1000.0]
    assert not DailyLoss.objects.filter(breached_at__isnull=False).exists()


def test_missing_bars_bar_entries_and_in_the_end_the_run(alice: User) -> None:
    market = Market([101])
    run = started(alice, always_in())
    market.go()
    gap = FIRST + 4 * LENGTH
    market.store([gap, gap + LENGTH], [101, 101])
    market.at(gap + LENGTH)
    assert not Position.objects.exists()
    assert Signal.objects.filter(reason="stale_data").exists()
    market.at(gap + 2 * LENGTH)
    market.at(gap + 11 * LENGTH)
    assert status_of(run) == AlgorithmStatus.ACTIVE
    market.at(gap + 12 * LENGTH)
    assert status_of(run) == AlgorithmStatus.ERROR
    assert (
        Event.objects.get(type=EventType.ALGORITHM_ERROR).data["reason"]
        == "no price data for 150 minutes"
    )


def test_a_session_with_unknown_hours_does_not_count_towards_giving_up(alice: User) -> None:
    """The session is Muhurat trading, on a Sunday evening."""
    friday = at("2026-11-06 09:15")
    market = Market([101] * 24, first=friday)
    run = started(alice, always_in(), at=friday)
    market.go(24)
    market.at(at("2026-11-08 11:46"))
    assert status_of(run) == AlgorithmStatus.ACTIVE
    market.at(at("2026-11-09 11:45"))
    assert status_of(run) == AlgorithmStatus.ERROR


def test_a_last_bar_without_its_last_minute_is_looked_for(alice: User) -> None:
    store_bars({SHARE: flat_candles([FIRST + 60 * n for n in range(374)], 101.0)}, "1m")
    started(alice, always_in(productType="intraday"))
    runner, last = Runner(), FIRST + SESSION - LENGTH
    for time in (FIRST + LENGTH, FIRST + 2 * LENGTH, last, FIRST + SESSION - 60):
        step(runner, [SHARE], "1m", time)
    stream = BarStream.objects.get()
    assert stream.row_time == last - LENGTH
    assert stream.wake_at == make.NOW + timedelta(seconds=60 + GRACE_PERIOD)
    step(runner, [SHARE], "1m", FIRST + SESSION + GRACE_PERIOD)
    assert BarStream.objects.get().row_time == last
    assert not Position.objects.open().exists()


def test_a_run_that_starts_in_the_midst_of_a_session_enters_at_once(alice: User) -> None:
    market = Market([101] * 8)
    started(alice, always_in(), at=FIRST + 5 * LENGTH)
    market.at(FIRST + 6 * LENGTH)
    assert Signal.objects.get().followed
    market.at(FIRST + 7 * LENGTH)
    assert Position.objects.open().exists()


def test_lost_capital_is_an_error_and_holds_nothing(alice: User) -> None:
    configuration = always_in(initialCapital=10_200) | {
        "exitConditions": {"maxHoldingCandles": 50},
        "riskParameters": {
            "maxPositionSize": 500_000,
            "maxDailyLoss": 1_000_000,
            "maxOpenPositions": 1,
        },
        "entryConditions": {
            "positionType": "short",
            "conditions": [
                {
                    "type": "indicator_value",
                    "indicator": {"type": "PRICE"},
                    "operator": "above",
                    "value": 100,
                }
            ],
        },
    }
    market = Market([101, 101, 300, 300])
    run = started(alice, configuration)
    market.go(4)
    assert status_of(run) == AlgorithmStatus.ERROR
    assert run.released_at is not None
    assert not Position.objects.open().exists()
    assert not RunState.objects.exists()


def test_a_contract_is_settled_at_the_close_of_its_last_session(alice: User) -> None:
    future = june_future()
    market = Market([101] * 25, future, first=LAST_SESSION)
    started(alice, always_in(future, productType="carryforward"), at=LAST_SESSION)
    market.go(25)
    trade = Trade.objects.get()
    assert (trade.exit_reason, trade.exit_price) == ("expiry", Decimal(101))
    assert not Position.objects.open().exists()


def test_hours_loaded_during_trading_end_the_contract(alice: User) -> None:
    future = june_future()
    market = Market([101] * 25, future, first=LAST_SESSION)
    started(alice, always_in(future, productType="carryforward"), at=LAST_SESSION)
    market.go(5)
    short_day = "NSE,,2026-06-30,special,a short day,09:15,12:00,a circular,\n"
    days = bundled_files()["days.csv"] + short_day
    load_rule_set(files={"days.csv": days}, source="a circular", now=make.NOW)
    market.go(5)
    assert Position.objects.open().exists()
    market.go()
    assert Trade.objects.get().exit_reason == "expiry"


def test_a_split_makes_more_shares_of_a_position_at_lower_prices(alice: User) -> None:
    market = Market([101, 101, 101])
    run = started(alice, always_in())
    market.go(3)
    split(1, 10)
    market.times.append(FIRST + DAY)
    market.store([FIRST + DAY], [10.2])
    market.go()
    position = Position.objects.open().get()
    assert (position.quantity, position.entry_price) == (1000, Decimal("10.1"))
    assert position.stop == Decimal("8.05")  # 8.08 is no tick
    assert position.unrealised == 100
    assert not Trade.objects.exists()
    assert RunState.objects.get(run=run).equity == pytest.approx(100_100)


def split(before: int, after: int) -> None:
    """Add a split that takes effect on the second day."""
    CorporateAction.objects.create(
        symbol=SHARE,
        ex_date=date(2026, 6, 2),
        kind="split",
        shares_before=before,
        shares_after=after,
        source="test",
        loaded_at=make.NOW,
    )


def held_over(ratio: tuple[int, int], closes: Sequence[float], **replaced: Any) -> Run:
    """Return a run that entered on the first day at 974.30, and continues with these closes on the
    second, when the split takes effect at the first open.
    """
    market = Market([974.3, 974.3, 974.3])
    run = started(owner := User.objects.get(), always_in() | replaced)
    assert run.account_id == owner.pk
    market.go(3)
    split(*ratio)
    market.times += [FIRST + DAY + LENGTH * n for n in range(len(closes))]
    market.store(market.times[3:], closes)
    market.go(len(closes))
    assert_no_drift()
    return run


def assert_no_drift() -> None:
    checking.check_ended(now=make.NOW, market_now=FIRST + 2 * DAY, stopping=lambda: False)
    assert list(DriftReport.objects.values_list("total", flat=True)) == [0, 0]


@pytest.mark.parametrize(
    ("side", "stop", "target"), [("long", "310.40", "341.05"), ("short", "339.15", "308.50")]
)
def test_levels_after_a_split_are_on_the_tick_again(
    alice: User, side: str, stop: str, target: str
) -> None:
    """Rule 3.

    Entered at 974.30, the long's stop was 931.20, its target 1,023.05; a third of these is 310.40
    and 341.0166. Those of the short were 1,017.40 and 925.55: 339.1333 and 308.5166.
    """
    exits = {
        "stopLoss": {"type": "points", "points": 43.07},
        "takeProfit": {"type": "points", "points": 48.73},
    }
    entries = always_in()["entryConditions"] | {"positionType": side}
    held_over((1, 3), [325.0], exitConditions=exits, entryConditions=entries)
    position = Position.objects.open().get()
    assert abs(position.quantity) == 300
    assert (position.stop, position.target) == (Decimal(stop), Decimal(target))


def test_a_split_between_two_steps_keeps_one_trade_in_the_later_shares(alice: User) -> None:
    """Bought at 974.30; 40 of 100 leave at 994.30. A third of 1,034.30 is 344.7666: a fifth of 300
    leaves at 344.80, and the other 120 at the stop of 259.80.
    """
    market = Market([974.3, 974.3, 1000])
    exits = {
        "stopLoss": {"type": "percentage", "percentage": 20},
        "steps": [
            {"at": {"type": "points", "points": 20}, "close": 40},
            {"at": {"type": "points", "points": 60}, "close": 20},
        ],
    }
    limits = {"maxPositionSize": 500_000, "maxDailyLoss": 100_000, "maxOpenPositions": 1}
    started(alice, always_in() | {"exitConditions": exits, "riskParameters": limits})
    market.go(3)
    assert Position.objects.open().get().quantity == 60
    split(1, 3)
    market.times += [FIRST + DAY + LENGTH * n for n in range(3)]
    market.store(market.times[3:], [340, 346, 250])
    market.go()
    assert Position.objects.open().get().quantity == 180
    market.go()
    assert Position.objects.open().get().quantity == 120
    market.go()
    assert_no_drift()
    trade = Trade.objects.get()
    gross = (
        40 * Decimal(20) + 60 * Decimal("344.80") + 120 * Decimal("259.80") - 60 * Decimal("974.3")
    )
    assert (trade.quantity, trade.exit_reason, trade.gross_profit) == (300, "stop_loss", gross)
    average = (40 * Decimal("994.3") + 60 * Decimal("344.80") + 120 * Decimal("259.80")) / 300
    assert trade.exit_price == pytest.approx(average, abs=Decimal("0.01"))


@pytest.mark.parametrize("side", ["long", "short"])
def test_a_fraction_of_a_share_is_settled_in_cash_at_the_open(alice: User, side: str) -> None:
    """A bonus turns 7 shares at 974.30 into 10.5: half a share is worth 350 at the open of 700, and
    has cost 324.77 (974.30 / 1.5 / 2).
    """
    sizing = {"method": "fixed_quantity", "quantity": 7}
    entries = always_in()["entryConditions"] | {"positionType": side}
    run = held_over(
        (2, 3),
        [700, 700],
        positionSizing=sizing,
        entryConditions=entries,
        exitConditions={"stopLoss": {"type": "percentage", "percentage": 50}},
        riskParameters={"maxPositionSize": 500_000, "maxDailyLoss": 100_000, "maxOpenPositions": 1},
    )
    sign = 1 if side == "long" else -1
    won = sign * Decimal("25.23")
    entry = LedgerEntry.objects.get(kind="fraction")
    position = Position.objects.get(closed_at=None)
    assert entry.position == position
    assert (position.quantity, position.entry_price) == (sign * 10, Decimal("649.5333"))
    amounts = dict(entry.postings.values_list("book", "amount"))
    assert amounts == {
        "cash": Decimal("324.77") + won,
        "locked": -Decimal("324.77"),
        "result": -won,
    }
    run.refresh_from_db()
    assert run.capital == 100_000 + won
    state = load(
        bytes(RunState.objects.get(run=run).data),
        instrument_ids(run.configuration["basicInfo"]["symbols"]),
    )
    held = sign * 10 * (700 - 974.3 / 1.5)
    assert state.account["equity"][0] == pytest.approx(100_000 + sign * 25.2333 + held, abs=0.01)
    assert DailyLoss.objects.filter(day=date(2026, 6, 2)).exists()


def test_the_profit_of_a_fraction_belongs_to_its_trade(alice: User) -> None:
    """7 shares at 974.30 become ten and a half; all leave at 700: 7,350 less 6,820.10."""
    run = held_over(
        (2, 3),
        [700, 700, 700],
        positionSizing={"method": "fixed_quantity", "quantity": 7},
        exitConditions={"maxHoldingCandles": 3},
    )
    trade = Trade.objects.get()
    assert (trade.quantity, trade.profit, trade.exit_reason) == (
        10,
        Decimal("529.90"),
        "max_holding",
    )
    run.refresh_from_db()
    assert run.algorithm.performance["netProfit"] == 529.9
    assert sum(Posting.objects.values_list("amount", flat=True)) == 0
    assert run.capital == Decimal("100529.90")


def test_too_few_shares_for_a_fraction_are_sold_at_the_open(alice: User) -> None:
    """Ten shares become one, and there are 7: they are sold at a tenth of the open of 9,800."""
    sizing = {"method": "fixed_quantity", "quantity": 7}
    held_over((10, 1), [9800], positionSizing=sizing)
    trade = Trade.objects.get()
    assert (trade.quantity, trade.exit_price, trade.exit_reason) == (7, Decimal("980"), "stopped")
    assert trade.exit_time == moment(FIRST + DAY)


def test_manual_requests_are_done_at_the_next_row(alice: User) -> None:
    market = Market([101, 101, 101, 101, 101, 99, 99])
    started(alice, always_in())
    market.go()
    Order.objects.update(cancel_requested_at=make.NOW)
    market.go()
    assert not Position.objects.exists()
    assert Order.objects.order_by("bar_time")[0].status == "cancelled"
    market.go()
    position = Position.objects.open().get()
    position.close_requested_at = make.NOW
    position.save()
    market.go(2)
    assert [trade.exit_reason for trade in Trade.objects.all()] == ["stopped"]


def test_runners_in_turn_keep_the_capital_of_a_run(alice: User) -> None:
    market = Market([101, 102, 104, 70, 101, 103, 105, 60, 101, 101])
    limits = {"maxPositionSize": 500_000, "maxDailyLoss": 100_000, "maxOpenPositions": 1}
    run = started(alice, {**always_in(), "riskParameters": limits})
    first, other = market.runner, Runner()
    for runner, rows in ((first, 2), (other, 4), (first, 4)):
        market.runner = runner
        market.go(rows)
    run.refresh_from_db()
    profit = sum(Trade.objects.values_list("profit", flat=True))
    assert Trade.objects.count() == 2
    assert run.capital == run.account.reserved == 100_000 + profit


def test_a_runner_that_was_given_up_on_writes_nothing(alice: User) -> None:
    started(alice, always_in())
    bar_streams.assign_runs(now=make.NOW)
    taken = leases.acquire(known=[], now=make.NOW)
    assert len(taken) == 1
    assert leases.renew(taken, now=make.NOW) == {taken[0].pk}
    BarStream.objects.update(lease_token=taken[0].lease_token + 1)
    assert leases.renew(taken, now=make.NOW) == frozenset()
    assert not BarRow.objects.exists()


def test_an_unreadable_state_is_an_error_of_its_own_run(alice: User, bob: User) -> None:
    market = Market([101, 101, 101])
    broken, whole = started(alice, always_in()), started(bob, always_in())
    RunState.objects.filter(run=broken).update(data=b"of another engine")
    market.go(2)
    assert status_of(broken) == AlgorithmStatus.ERROR
    assert status_of(whole) == AlgorithmStatus.ACTIVE
    assert Position.objects.open().get().run == whole
