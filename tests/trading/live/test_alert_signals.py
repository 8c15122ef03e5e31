"""Runs whose conditions read received alerts (engine rule 25)."""

import json
import random
from collections.abc import Iterator, Mapping
from typing import Any

import pytest

from apps.accounts.models import User
from apps.alerts import services as alerts
from apps.alerts.models import AlertHook, ReceivedAlert
from apps.core.times import moment
from apps.engine.candles import TIMEFRAMES
from apps.market.candles.reading import GRACE_PERIOD
from apps.market.feeds import clock
from apps.trading import services
from apps.trading.live.runner import Runner
from apps.trading.models import BarStream, Run, Signal, Trade
from tests import make
from tests.alerts.messages import make_hook
from tests.trading.live.market_day import (
    DAY,
    FIRST,
    backtested,
    random_candles,
    session_starts,
    started,
    step,
    store_bars,
)
from tests.trading.live.test_read_symbols import OIL, SHARE, VIX, Monday, checked, steps, store_week
from tests.trading.live.test_runner import expected_of, trades_of

pytestmark = pytest.mark.django_db

BANK = "NSE:SBIN"
LENGTH = 900
BREAKOUT: dict[str, Any] = {"type": "signal", "name": "breakout", "side": "both"}


def receive(
    owner: User, name: str = "breakout", symbol: str | None = None, **fields: str
) -> ReceivedAlert:
    """Receive an alert at the market's time."""
    secret = f"ah_{owner.pk}"
    if not AlertHook.objects.filter(owner=owner).exists():
        make_hook(owner, secret=secret)
    known = set(ReceivedAlert.objects.values_list("pk", flat=True))
    body = {"name": name, "symbol": symbol, "id": f"{len(known)}", **fields}
    alerts.receive_message(
        secret=secret, body=json.dumps(body).encode(), address=None, now=make.NOW
    )
    return ReceivedAlert.objects.exclude(pk__in=known).get()


MANY: list[dict[str, Any]] = [
    steps({**BREAKOUT, "within": 3}, symbols=[BANK, SHARE]),
    steps(
        {**BREAKOUT, "side": "long"},
        {**BREAKOUT, "name": "down", "side": "short"},
        positionType="both",
        timeframe="30m",
    ),
    steps(BREAKOUT, timeframe="1h", confirmationCandles=2),
]
"""Strategies that enter by alerts, in several timeframes and on both sides."""


def send_at_random(rng: random.Random, owner: User) -> None:
    for _ in range(rng.choice([0, 0, 1, 2])):
        receive(owner, rng.choice(["breakout", "down"]), rng.choice([None, None, SHARE, BANK]))


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("configurations", "rows"),
    [(MANY[:2], 3), pytest.param(MANY, 1, marks=pytest.mark.slow)],
    ids=["quick", "all"],
)
def test_runs_trade_on_alerts_as_their_backtests_do(
    alice: User, bob: User, configurations: list[dict[str, Any]], rows: int
) -> None:
    """Alerts come between the rows, while two processes work in turn on some rows each. Two users
    share the streams, and each has alerts of their own.
    """
    store_week(3)
    runs = [
        started(owner, configuration) for owner in (alice, bob) for configuration in configurations
    ]
    kept, rng, symbols = Runner(), random.Random(3), [SHARE, BANK, VIX]
    starts = session_starts(2, LENGTH)[:29]
    for number, start in enumerate(starts):
        for owner in (alice, bob):
            send_at_random(rng, owner)
        end = start + LENGTH + rng.choice([0, 30])
        if number % rows:
            clock.move(end, symbols=symbols, timeframe="15m", now=make.NOW)
        else:
            step(kept if number // rows % 3 else Runner(), symbols, "15m", end)
    step(kept, symbols, "15m", starts[-1] + LENGTH + GRACE_PERIOD)
    assert BarStream.objects.count() == len(configurations)
    of_runs = []
    for run in runs:
        result = backtested(run, start=FIRST, end=starts[-1] + LENGTH)
        assert trades_of(run) == expected_of(result)
        of_runs.append(trades_of(run))
        assert of_runs[-1], run.configuration["entryConditions"]
    assert of_runs[: len(configurations)] != of_runs[len(configurations) :]
    assert checked() == []


def test_a_replay_over_stored_alerts_trades_as_the_run_on_paper(alice: User) -> None:
    """The replay reads four rows at a time."""
    store_week(5)
    rng, starts = random.Random(5), session_starts(1, LENGTH)[:17]
    run = started(alice, steps({**BREAKOUT, "within": 2}, symbols=[SHARE, BANK]))

    def go_through(run: Run, *, sending: bool) -> list[tuple[object, ...]]:
        runner = Runner()
        for start in starts if sending else starts[::4]:
            if sending:
                send_at_random(rng, alice)
            step(runner, [SHARE, BANK], "15m", start + LENGTH + GRACE_PERIOD)
        trades = trades_of(run)
        services.stop(
            owner=alice, algorithm_id=run.algorithm_id, close_positions=True, now=make.NOW
        )
        step(runner, [SHARE, BANK], "15m", starts[-1] + DAY)
        return trades

    on_paper = go_through(run, sending=True)
    assert len(on_paper) > 3
    clock.end_replay()
    again = started(alice, run.configuration)
    assert go_through(again, sending=False) == on_paper


_MIDNIGHT = FIRST - 33_300
_LATE = [FIRST + DAY * day + 22_500 + LENGTH * bar for day in range(4) for bar in range(4)]
LONG_DAYS: list[tuple[str, list[int], list[str]]] = [
    ("1d", [_MIDNIGHT + DAY * day for day in range(-60, 25) if day % 7 < 5], [SHARE, OIL]),
    ("1w", [_MIDNIGHT + 7 * DAY * week for week in range(-20, 8)], [SHARE, BANK]),
    ("15m", sorted([*session_starts(4, LENGTH), *_LATE]), [SHARE, BANK]),
]
"""Days of symbols whose sessions end at different times, weeks, and bars after the session."""


@pytest.mark.slow
@pytest.mark.timeout(120)
@pytest.mark.parametrize("within", [1, 2])
@pytest.mark.parametrize(("timeframe", "starts", "symbols"), LONG_DAYS)
def test_any_candles_have_the_alerts_of_their_backtest(
    alice: User, *, timeframe: str, starts: list[int], symbols: list[str], within: int
) -> None:
    configuration = steps({**BREAKOUT, "within": within}, symbols=symbols, timeframe=timeframe)
    configuration["exitConditions"]["maxHoldingCandles"] = 1
    configuration["executionSettings"]["includeOutOfSession"] = timeframe == "15m"
    store_bars(
        {symbol: random_candles(n, starts, missing=0.1) for n, symbol in enumerate(symbols)},
        timeframe,
    )
    run, runner, rng = started(alice, configuration), Runner(), random.Random(within)
    length, now = TIMEFRAMES[timeframe], FIRST
    for end in (start + length for start in starts if start >= _MIDNIGHT):
        moments = range(now + 1, max(end, now + 10))
        for at in sorted(rng.sample(moments, rng.choice([0, 0, 1, 2]))):
            step(runner, symbols, timeframe, at)
            receive(alice, symbol=rng.choice([None, *symbols]))
        now = max(now + 10, end + rng.choice([0, GRACE_PERIOD]))
        step(runner, symbols, timeframe, now)
    step(runner, symbols, timeframe, now + DAY)
    result = backtested(run, start=_MIDNIGHT, end=starts[-1] + length)
    assert len(trades_of(run)) > 3
    assert trades_of(run) == expected_of(result)
    assert checked(now + 9 * DAY) == []


class Listening(Monday):
    """A session whose run reads alerts."""

    def __init__(self, owner: User, condition: Mapping[str, Any] = BREAKOUT) -> None:
        super().__init__(owner, steps(condition))
        self.owner = owner


@pytest.fixture
def monday(alice: User) -> Listening:
    return Listening(alice)


def test_an_alert_counts_at_the_bar_in_which_it_was_received(
    alice: User, monday: Listening
) -> None:
    monday.at(0, 1)
    receive(alice)
    monday.at(1, 1)
    monday.at(2, 1)
    assert monday.signals() == [1]


def test_an_alert_that_comes_when_its_bar_is_closed_counts_at_the_next(
    alice: User, monday: Listening
) -> None:
    """In a replay the market's time stands at the end of the bar."""
    monday.at(0, 0)
    receive(alice)
    monday.at(1, 0)
    assert monday.signals() == [1]
    result = backtested(monday.run, start=FIRST, end=monday.starts[2])
    assert len(result.trades) == 0 or int(result.trades["entry_time"][0]) == monday.starts[2]


def test_an_alert_over_night_counts_at_the_first_bar(alice: User) -> None:
    starts = session_starts(2, LENGTH)
    store_bars({SHARE: random_candles(1, starts)}, "15m")
    run, runner = started(alice, steps(BREAKOUT)), Runner()
    first_day = [start for start in starts if start < FIRST + DAY]
    step(runner, [SHARE], "15m", first_day[-1] + LENGTH + GRACE_PERIOD)
    clock.move(first_day[-1] + 8 * 3600, symbols=[], timeframe="15m", now=make.NOW)
    receive(alice)
    step(runner, [SHARE], "15m", starts[-1] + LENGTH + GRACE_PERIOD)
    times = Signal.objects.filter(run=run, action="entry").values_list("bar_time", flat=True)
    assert list(times) == [moment(starts[len(first_day)])]


def test_alerts_of_another_name_user_or_symbol_change_nothing(
    alice: User, bob: User, monday: Listening
) -> None:
    receive(alice, "other")
    receive(alice, symbol=BANK)
    receive(bob)
    for number in range(4):
        monday.at(number, 1)
    assert monday.signals() == []
    receive(alice, symbol=SHARE)
    monday.at(4, 1)
    assert monday.signals() == [4]


@pytest.mark.parametrize("time", ["1999-01-01T09:15:00Z", "2099-12-31T23:59:59Z", "soon"])
def test_the_time_that_its_sender_wrote_changes_nothing(
    alice: User, monday: Listening, time: str
) -> None:
    monday.at(0, 1)
    assert receive(alice, time=time).sent_at == time
    monday.at(1, 1)
    assert monday.signals() == [1]


def test_what_an_alert_did_is_known_from_its_candle(alice: User) -> None:
    """One that comes before the first bar of a run counts there, if it came after the bar before
    it.
    """
    starts = session_starts(2, LENGTH)
    store_bars({SHARE: random_candles(2, starts)}, "15m")
    too_small = {"method": "fixed_amount", "amount": 1}
    conditions = steps(BREAKOUT), {**steps(BREAKOUT), "positionSizing": too_small}
    rich, poor = (started(alice, own_steps, at=starts[3] + 60) for own_steps in conditions)
    runner = Runner()
    counted = []
    for start in starts[3:9]:
        counted.append(receive(alice, symbol=SHARE if start == starts[4] else None))
        step(runner, [SHARE], "15m", start + LENGTH + GRACE_PERIOD)
    unread = receive(alice, "other"), receive(alice, symbol=BANK), receive(alice)

    def outcomes(run: Run) -> list[tuple[int, list[tuple[bool, str]]]]:
        effects = services.effects_of(owner=alice, alerts=[*counted, *unread])
        assert set(effects) == {alert.pk for alert in counted}
        return [
            (
                starts.index(int(effect.bar_time.timestamp())),
                [(signal.followed, signal.reason) for signal in effect.signals],
            )
            for alert in counted
            for effect in effects[alert.pk]
            if effect.run == run
        ]

    assert [bar for bar, _ in outcomes(rich)] == list(range(3, 9))
    assert outcomes(rich)[0] == (3, [(True, "")])
    assert outcomes(poor)[0] == (3, [(False, "below_one_lot")])


def test_an_alert_counts_for_each_symbol_at_its_own_next_bar(alice: User) -> None:
    starts = session_starts(1, LENGTH)[:8]
    store_bars({SHARE: random_candles(2, starts)}, "15m")
    store_bars({BANK: random_candles(3, [*starts[:5], *starts[6:]])}, "15m")
    started(alice, steps(BREAKOUT, symbols=[SHARE, BANK]))
    runner = Runner()
    step(runner, [SHARE, BANK], "15m", starts[4] + LENGTH + GRACE_PERIOD)
    alert = receive(alice)
    step(runner, [SHARE, BANK], "15m", starts[7] + LENGTH + GRACE_PERIOD)
    effects = services.effects_of(owner=alice, alerts=[alert])[alert.pk]
    bars = {
        symbol: starts.index(int(effect.bar_time.timestamp()))
        for effect in effects
        for symbol in effect.symbols
    }
    assert bars == {SHARE: 5, BANK: 6}
    assert [signal.symbol for effect in effects for signal in effect.signals] == [SHARE, BANK]


def test_a_run_explains_the_alert_of_a_candle(alice: User, monday: Listening) -> None:
    monday.at(0, 1)
    receive(alice)
    monday.at(1, 1)
    monday.at(2, 1)

    def truths() -> Iterator[bool]:
        for number in range(3):
            explanation = services.explain_run(
                owner=alice,
                algorithm_id=monday.run.algorithm_id,
                symbol=SHARE,
                at=monday.starts[number],
            )
            yield from (side["signal"] for side in explanation.bar["sides"])

    assert Trade.objects.count() == 0
    assert list(truths()) == [False, True, False]
