"""A contract settles when its last session has ended, even without a bar at its end."""

from collections.abc import Sequence
from decimal import Decimal

import numpy as np
import pytest
from django.db.models import Sum

from apps.accounts.models import User
from apps.engine.candles import Candles
from apps.engine.kernel.reasons import EXIT_REASONS
from apps.market.candles.reading import GRACE_PERIOD
from apps.market.rulebook.tradable import SymbolNotTradable
from apps.trading.activity.drift import checking
from apps.trading.live import leases
from apps.trading.live.runner import Runner
from apps.trading.models import (
    BarRow,
    BarStream,
    Book,
    DriftReport,
    Position,
    Posting,
    Run,
    Trade,
)
from apps.trading.runs import expiry
from apps.trading.tasks import settle_expired
from tests import make
from tests.symbols.instruments import equity
from tests.trading.live.market_day import (
    DAY,
    SESSION,
    backtested,
    session_starts,
    started,
    step,
    store_bars,
)
from tests.trading.live.test_effects import (
    LAST_SESSION,
    LENGTH,
    SHARE,
    Market,
    always_in,
    june_future,
)

pytestmark = pytest.mark.django_db

CLOSE = LAST_SESSION + SESSION


@pytest.fixture
def market(alice: User) -> Market:
    """Return ten bars of the last session, with a position since the second."""
    future = june_future()
    made = Market([101] * 10, future, first=LAST_SESSION)
    started(alice, always_in(future, productType="carryforward"), at=LAST_SESSION)
    made.go(10)
    assert Position.objects.open().exists()
    return made


def settle() -> int:
    return expiry.insert_final_rows(now=make.NOW)


def test_a_contract_settles_at_its_last_close_if_no_bar_comes(market: Market) -> None:
    market.at(CLOSE + expiry.GRACE_SECONDS - 1)
    assert settle() == 0
    market.at(CLOSE + expiry.GRACE_SECONDS)
    settle_expired(timestamp=int(make.NOW.timestamp()))
    assert settle() == 0  # it is there
    market.at(CLOSE + expiry.GRACE_SECONDS + 1)
    trade = Trade.objects.get()
    assert (trade.exit_reason, trade.exit_price) == ("expiry", Decimal(101))
    assert not Position.objects.open().exists()
    assert BarStream.objects.get().row_time == CLOSE - LENGTH
    assert Run.objects.get().released_at is not None  # it was given up on before
    assert settle() == 0
    after = LAST_SESSION + DAY
    assert checking.check_ended(now=make.NOW, market_now=after, stopping=lambda: False) == 1
    assert DriftReport.objects.get().differences == []


def test_money_locked_by_a_contract_is_freed_as_in_the_backtest(alice: User) -> None:
    """One position at a time: the share is bought when the future has settled."""
    future = june_future()
    equity(SHARE)
    last_day = session_starts(1, LENGTH, first=LAST_SESSION)
    both = [*last_day, *session_starts(1, LENGTH, first=LAST_SESSION + DAY)[:5]]
    series = {future: flat(last_day, 101.0), SHARE: flat(both, 101.0)}
    store_bars(series, "15m")
    configuration = always_in(future, productType="carryforward")
    configuration["basicInfo"] |= {"symbols": [future, SHARE]}
    configuration["riskParameters"] |= {"maxOpenPositions": 1}
    run = started(alice, configuration, at=LAST_SESSION)
    runner = Runner()
    for start in (last_day[-2], last_day[-1], both[-1]):
        step(runner, list(series), "15m", start + LENGTH + GRACE_PERIOD)
    result = backtested(run, start=LAST_SESSION, end=LAST_SESSION + 2 * DAY)
    assert [EXIT_REASONS[reason] for reason in result.trades["reason"]] == ["expiry", "end_of_data"]
    assert result.trades["symbol"].tolist() == [0, 1]
    assert Trade.objects.get().exit_reason == "expiry"
    assert Position.objects.open().get().symbol == SHARE


def flat(starts: Sequence[int], price: float) -> Candles:
    prices = np.full(len(starts), price)
    return Candles.build(
        starts, open=prices, high=prices, low=prices, close=prices, volume=np.ones(len(starts))
    )


def test_waiting_bars_and_a_working_runner_come_first(market: Market) -> None:
    market.at(CLOSE + expiry.GRACE_SECONDS)
    BarStream.objects.update(leased_until=make.NOW + leases.LEASE)
    assert settle() == 0
    BarStream.objects.update(leased_until=None)
    market.store([LAST_SESSION + 11 * LENGTH], [102])
    assert settle() == 0
    market.at(CLOSE + expiry.GRACE_SECONDS)
    assert settle() == 1
    market.at(CLOSE + expiry.GRACE_SECONDS)
    assert Trade.objects.get().exit_price == Decimal(102)
    assert not BarRow.objects.filter(time__gte=CLOSE).exists()


LATER = "NIFTY26JULFUT"
FUTURE = f"NSE:{LATER}"


@pytest.fixture
def unknown(alice: User) -> Market:
    """Return a session of a contract in no master, with a position.

    By its name it would live for four more weeks.
    """
    made = Market([101] * 25, FUTURE, first=LAST_SESSION)
    started(alice, always_in(FUTURE, productType="carryforward"), at=LAST_SESSION)
    made.go(3)
    assert Position.objects.open().exists()
    return made


def test_a_master_of_the_last_day_ends_the_contract(unknown: Market) -> None:
    june_future(LATER)
    unknown.go(22)
    assert Trade.objects.get().exit_reason == "expiry"


def test_a_master_loaded_after_the_last_bar_settles_the_contract(unknown: Market) -> None:
    unknown.go(22)
    june_future(LATER)
    unknown.at(CLOSE + expiry.GRACE_SECONDS)
    assert settle() == 1
    unknown.at(CLOSE + expiry.GRACE_SECONDS + 1)
    trade = Trade.objects.get()
    assert (trade.exit_reason, trade.exit_price) == ("expiry", Decimal(101))
    assert not Position.objects.open().exists()
    assert settle() == 0
    after = LAST_SESSION + DAY
    assert checking.check_ended(now=make.NOW, market_now=after, stopping=lambda: False) == 1
    assert DriftReport.objects.get().differences == []


def test_where_a_row_did_not_settle_it_no_other_is_put(unknown: Market) -> None:
    unknown.go(22)
    june_future(LATER)
    unknown.at(CLOSE + expiry.GRACE_SECONDS)
    assert settle() == 1
    BarStream.objects.update(row_time=BarRow.objects.latest("time").time)
    assert settle() == 0


def test_a_contract_missing_in_all_masters_ends_on_the_day_of_its_name(alice: User) -> None:
    """The last Tuesday of June 2026 is the 30th."""
    symbol = "NSE:NIFTY26JUNFUT"
    market = Market([101] * 25, symbol, first=LAST_SESSION)
    started(alice, always_in(symbol, productType="carryforward"), at=LAST_SESSION)
    market.go(25)
    trade = Trade.objects.get()
    assert (trade.exit_reason, trade.exit_price) == ("expiry", Decimal(101))


def test_a_contract_settles_without_a_last_bar_too(alice: User) -> None:
    symbol = "NSE:NIFTY26JUNFUT"
    market = Market([101] * 10, symbol, first=LAST_SESSION)
    started(alice, always_in(symbol, productType="carryforward"), at=LAST_SESSION)
    market.go(10)
    market.at(CLOSE + expiry.GRACE_SECONDS)
    assert settle() == 1
    market.at(CLOSE + expiry.GRACE_SECONDS + 1)
    assert Trade.objects.get().exit_reason == "expiry"


CALL = "NSE:NIFTY26JUN24000CE"
OF_SHARE = "NSE:RELIANCE26JUNFUT"


@pytest.mark.parametrize(
    ("symbol", "official", "settled", "price"),
    [
        ("NSE:NIFTY26JUNFUT", 105.0, "expiry", 105.0),
        ("NSE:NIFTY26JUNFUT", None, "expiry", 101.0),
        (CALL, 24_110.4, "expiry", 110.4),
        (CALL, 23_900.0, "expiry", 0.0),
        (OF_SHARE, 105.0, "expiry_close", 101.0),
    ],
)
def test_rule_13_a_contract_ends_as_in_the_backtest(
    alice: User, symbol: str, official: float | None, settled: str, price: float
) -> None:
    """Nothing trades after it, even though bars come for three more days."""
    starts = [
        *session_starts(1, LENGTH, first=LAST_SESSION),
        *session_starts(3, LENGTH, first=LAST_SESSION + DAY),
    ]
    series = {symbol: flat(starts, 101.0)}
    store_bars(series, "15m")
    if official is not None:
        underlying = symbol.split("26", maxsplit=1)[0]
        midnight = LAST_SESSION - (LAST_SESSION + 19_800) % DAY
        store_bars({underlying: flat([midnight], official)}, "1d")
    configuration = always_in(
        symbol, productType="carryforward", charges="standard", initialCapital=10_000_000
    )
    configuration["riskParameters"] |= {"maxPositionSize": 10_000_000, "maxDailyLoss": 10_000_000}
    run = started(alice, configuration, at=LAST_SESSION)
    runner = Runner()
    for start in (starts[0], starts[23], starts[24], starts[29]):
        step(runner, list(series), "15m", start + LENGTH + GRACE_PERIOD)
    result = backtested(run, start=LAST_SESSION, end=LAST_SESSION + 5 * DAY)
    traded = Trade.objects.get()
    assert [EXIT_REASONS[reason] for reason in result.trades["reason"]] == [settled]
    assert (traded.exit_reason, float(traded.exit_price)) == (settled, price)
    assert result.trades["exit_price"][0] == pytest.approx(price)
    assert float(traded.charges) == pytest.approx(result.trades["charges"][0])
    assert float(traded.profit) == pytest.approx(
        result.trades["gross"][0] - result.trades["charges"][0]
    )
    assert not Position.objects.open().exists()
    assert BarRow.objects.latest("time").time == starts[24]


def test_a_contract_cannot_be_started_after_its_last_session(alice: User) -> None:
    configuration = always_in("NSE:NIFTY26MAYFUT", productType="carryforward")
    with pytest.raises(SymbolNotTradable, match="NSE:NIFTY26MAYFUT cannot be traded: The contract"):
        started(alice, configuration, at=LAST_SESSION)


def test_rule_6_a_sold_option_locks_a_share_of_its_underlying_as_in_the_backtest(
    alice: User,
) -> None:
    """At a fill at 24,000, 12 % of it and the premium of 101 are locked for each unit of a lot of
    65, so 200,000 do not pay for a second lot; bought options lock only their premium.
    """
    starts = session_starts(1, LENGTH, first=LAST_SESSION)
    closes = 23_900.0 + 50.0 * np.arange(len(starts))
    index = Candles.build(
        starts, open=closes, high=closes, low=closes, close=closes, volume=np.zeros(len(starts))
    )
    series = {CALL: flat(starts, 101.0)}
    store_bars(series, "15m")
    store_bars({"NSE:NIFTY": index}, "15m")
    configuration = always_in(CALL, productType="carryforward", initialCapital=200_000)
    configuration["entryConditions"] |= {"positionType": "short"}
    configuration["riskParameters"] |= {"maxPositionSize": 500_000, "maxDailyLoss": 10_000_000}
    configuration["positionSizing"] = {"method": "fixed_quantity", "quantity": 10_000}
    run = started(alice, configuration, at=LAST_SESSION)
    runner = Runner()
    for start in starts[:4]:
        step(runner, list(series), "15m", start + LENGTH + GRACE_PERIOD)
    held = Position.objects.open().get()
    result = backtested(run, start=LAST_SESSION, end=LAST_SESSION + DAY)
    (trade,) = result.trades
    unit = 101 + 0.12 * 23_900  # from the candle before the fill's
    assert -held.quantity == trade["quantity"] == 200_000 // unit // 65 * 65
    locked = Posting.objects.filter(book=Book.LOCKED).aggregate(total=Sum("amount"))["total"]
    assert float(locked) == pytest.approx(float(trade["quantity"]) * unit, abs=0.01)
    assert "estimated_margin" in {note["code"] for note in result.receipt["notes"]}
