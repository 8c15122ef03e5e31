"""Alerts as conditions, beside a loop over bars and alerts (rule 25)."""

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from apps.engine.candles.candles import DAY, TIMEFRAMES, Candles, ist_day
from apps.engine.candles.sessions import Override, Regime, Sessions
from apps.engine.kernel.codes import CLOSE_LONG, ENTER_LONG, ENTER_SHORT
from apps.engine.language.strategy import Strategy, parse, read_strategy
from apps.engine.language.summary import describe
from apps.engine.signals import blocks
from apps.engine.signals.columns import ColumnCache, SymbolBars
from apps.engine.signals.required_inputs import required_inputs
from apps.engine.signals.signals import signals_of
from tests.engine.configurations import complete

INDIA = timezone(timedelta(hours=5, minutes=30))
OPENS, CLOSES = 9 * 3600 + 15 * 60, 15 * 3600 + 30 * 60
HALF_DAY = int(np.datetime64("2024-01-10", "D").astype(int))
NSE = Sessions.build(
    [Regime(0, 40_000, OPENS, CLOSES)], [Override(HALF_DAY, OPENS, OPENS + 2 * 3600)]
)


def at(text: str) -> int:
    """Return the epoch seconds of a moment in India."""
    return int(datetime.fromisoformat(text).replace(tzinfo=INDIA).timestamp())


def times(*texts: str) -> NDArray[np.int64]:
    return np.array([at(text) for text in texts], np.int64)


def candles_at(starts: Sequence[int] | NDArray[np.int64]) -> Candles:
    price = np.full(len(starts), 100.0)
    return Candles.build(starts, open=price, high=price, low=price, close=price, volume=price)


def alert(name: str = "breakout", **more: object) -> dict[str, Any]:
    return {"type": "signal", "name": name, **more}


def entering(*conditions: dict[str, Any], timeframe: str = "15m", **entry: object) -> Strategy:
    return parse(
        complete(
            basicInfo={"strategyType": "swing", "timeframe": timeframe, "symbols": ["NSE:TEST"]},
            entryConditions={"positionType": "long", "conditions": list(conditions), **entry},
        )
    )


def entries(strategy: Strategy, candles: Candles, received: NDArray[np.int64]) -> list[str]:
    """Return the starts of the bars at which a long entry is signalled."""
    bars = SymbolBars(candles, sessions=NSE, alerts={"breakout": received})
    bits = signals_of(required_inputs(strategy), bars, 0, len(candles))
    signalled = candles.time[(bits & ENTER_LONG) > 0].tolist()
    return [datetime.fromtimestamp(time, INDIA).isoformat()[:16] for time in signalled]


def session(day: str, step: int, *, without: Sequence[str] = ()) -> list[int]:
    first, last = at(f"{day} 09:15"), at(f"{day} 15:30")
    left_out = {at(f"{day} {time}") for time in without}
    return [time for time in range(first, last, step) if time not in left_out]


# The bar of an alert


@pytest.mark.parametrize(
    ("received", "bar"),
    [
        ("2024-01-02 09:15:00", "2024-01-02T09:15"),  # after yesterday's last bar
        ("2024-01-02 09:15:01", "2024-01-02T09:15"),
        ("2024-01-02 09:30:00", "2024-01-02T09:15"),  # exactly at its end
        ("2024-01-02 09:30:01", "2024-01-02T09:30"),
        ("2024-01-01 15:30:00", "2024-01-01T15:15"),
        ("2024-01-01 15:30:01", "2024-01-02T09:15"),  # over night
        ("2024-01-02 03:00:00", "2024-01-02T09:15"),
        ("2024-01-02 10:50:00", "2024-01-02T11:15"),  # in a bar that is missing
        ("2024-01-02 11:00:00", "2024-01-02T11:15"),
        ("2024-01-02 10:45:00", "2024-01-02T10:30"),
    ],
)
def test_an_alert_counts_at_the_first_bar_that_ends_no_earlier(received: str, bar: str) -> None:
    candles = candles_at(
        session("2024-01-01", 900) + session("2024-01-02", 900, without=["10:45", "11:00"])
    )
    assert entries(entering(alert()), candles, times(received)) == [bar]


def test_an_alert_after_the_last_bar_or_before_the_first_counts_nowhere() -> None:
    candles = candles_at(session("2024-01-02", 900))
    around = times("2024-01-02 09:15:00", "2024-01-02 15:30:01", "2024-01-03 09:20")
    assert entries(entering(alert()), candles, around) == []
    inside = times("2024-01-02 09:15:01")  # the first bar has none before it: its own length
    assert entries(entering(alert()), candles, inside) == ["2024-01-02T09:15"]


@pytest.mark.parametrize(
    ("received", "bar"),
    [
        ("2024-01-09 15:30:00", "2024-01-09"),
        ("2024-01-09 15:30:01", "2024-01-10"),  # after the close: the next session's
        ("2024-01-10 11:15:00", "2024-01-10"),  # half a day
        ("2024-01-10 11:15:01", "2024-01-12"),  # the 11th is missing
    ],
)
def test_a_daily_bar_ends_at_its_close(received: str, bar: str) -> None:
    days = [at(f"2024-01-{day:02d}") for day in (8, 9, 10, 12)]
    seen = entries(entering(alert(), timeframe="1d"), candles_at(days), times(received))
    assert seen == [f"{bar}T00:00"]


@pytest.mark.parametrize(
    ("received", "bar"),
    [
        ("2024-01-12 15:31", "2024-01-08"),
        ("2024-01-15 00:00:00", "2024-01-08"),
        ("2024-01-15 00:00:01", "2024-01-15"),
        ("2024-01-23 10:00", "2024-01-29"),
    ],
)
def test_a_weekly_bar_ends_with_its_sunday(received: str, bar: str) -> None:
    weeks = [at(f"2024-01-{day:02d}") for day in (1, 8, 15, 29)]
    seen = entries(entering(alert(), timeframe="1w"), candles_at(weeks), times(received))
    assert seen == [f"{bar}T00:00"]


def test_without_a_calendar_a_bar_ends_after_its_length() -> None:
    candles, inputs = (
        candles_at(session("2024-01-02", 14_400)),
        required_inputs(entering(alert(), timeframe="4h")),
    )
    late = {"breakout": times("2024-01-02 16:00")}
    for sessions, expected in ((NSE, [0, 0]), (None, [0, ENTER_LONG])):
        bars = SymbolBars(candles, sessions=sessions, alerts=late)
        assert signals_of(inputs, bars, 0, 2).tolist() == expected


# Within, confirmation, sides, groups, exits


def test_within_remembers_an_alert_for_so_many_candles() -> None:
    candles = candles_at(session("2024-01-01", 900) + session("2024-01-02", 900))
    received = times("2024-01-01 15:20")
    assert entries(entering(alert(within=3)), candles, received) == [
        "2024-01-01T15:15", "2024-01-02T09:15", "2024-01-02T09:30",
    ]  # fmt: skip


def test_an_alert_that_is_confirmed_came_in_the_first_candle() -> None:
    candles = candles_at(session("2024-01-02", 900))
    received = times("2024-01-02 10:00", "2024-01-02 10:20")
    strategy = entering(alert(), confirmationCandles=3)
    assert entries(strategy, candles, received) == ["2024-01-02T10:15", "2024-01-02T10:45"]


def test_sides_groups_and_exits_read_alerts_of_their_names() -> None:
    either = {
        "type": "group",
        "logicalOperator": "OR",
        "conditions": [alert("dip"), alert("breakout", within=2)],
        "side": "long",
    }
    steps = complete(
        basicInfo={"strategyType": "swing", "timeframe": "15m", "symbols": ["NSE:TEST"]},
        entryConditions={
            "positionType": "both",
            "logicalOperator": "OR",
            "conditions": [either, alert("fall", side="short"), alert("all", side="both")],
        },
        exitConditions={"conditions": [alert("leave", side="long")]},
    )
    received = {
        "dip": times("2024-01-02 09:20"),
        "breakout": times("2024-01-02 09:50"),
        "fall": times("2024-01-02 10:20"),
        "all": times("2024-01-02 10:40"),
        "leave": times("2024-01-02 09:50", "2024-01-02 10:50"),
        "other": times("2024-01-02 11:20"),
    }
    candles = candles_at(session("2024-01-02", 900))
    bars = SymbolBars(candles, sessions=NSE, alerts=received)
    strategy = parse(steps)
    assert strategy.alert_names == ("all", "breakout", "dip", "fall", "leave")
    assert signals_of(required_inputs(strategy), bars, 0, 9).tolist() == [
        ENTER_LONG, 0, ENTER_LONG | CLOSE_LONG, ENTER_LONG, ENTER_SHORT, ENTER_LONG | ENTER_SHORT,
        CLOSE_LONG, 0, 0,
    ]  # fmt: skip


def test_a_name_without_alerts_is_never_true() -> None:
    candles = candles_at(session("2024-01-02", 900))
    inputs = required_inputs(entering(alert("unknown")))
    assert not signals_of(inputs, SymbolBars(candles), 0, len(candles)).any()


def test_conditions_that_look_back_differently_share_a_cache() -> None:
    candles, cache = candles_at(session("2024-01-02", 900)), ColumnCache(10**6)
    bars = SymbolBars(candles, sessions=NSE, alerts={"breakout": times("2024-01-02 10:50")})
    bits = [
        signals_of(required_inputs(entering(alert(within=within))), bars, 9, 14, cache=cache)
        for within in (1, 5, 2)
    ]
    assert [own.tolist() for own in bits] == [[0] * 5, [1, 1, 0, 0, 0], [0] * 5]


# The loop


def plain_truth(
    candles: Candles, timeframe: str, received: Sequence[int], sessions: Sessions | None
) -> list[bool]:
    """Return the truth at each bar by a loop over bars and alerts."""
    length, ends = TIMEFRAMES[timeframe], []
    for start in candles.time.tolist():
        day = int(ist_day(np.array([start]))[0])
        midnight = day * DAY - 19_800
        close = midnight + DAY
        if sessions is not None:
            close = midnight + (OPENS + 2 * 3600 if day == HALF_DAY else CLOSES)
        if timeframe == "1w":
            ends.append(start + length)
        elif timeframe == "1d":
            ends.append(close)
        else:
            ends.append(min(start + length, close) if start < close else start + length)
    begins = [int(candles.time[0]), *ends[:-1]]
    return [
        any(begin < moment <= end for moment in received)
        for begin, end in zip(begins, ends, strict=True)
    ]


def random_bars(rng: np.random.Generator, timeframe: str, bars: int) -> Candles:
    """Return bars of sessions over several blocks, some of them missing."""
    step, first = TIMEFRAMES[timeframe], at("2023-12-25")
    if timeframe == "1w":
        starts = first + step * np.arange(bars)
    else:
        in_day = [0] if timeframe == "1d" else range(OPENS, CLOSES, step)
        whole = np.arange(bars // len(in_day) + 1) * DAY
        starts = first + (whole[:, np.newaxis] + np.array(in_day)).ravel()
    return candles_at(starts[rng.random(len(starts)) < 0.9])


@pytest.mark.parametrize("timeframe", TIMEFRAMES)
@pytest.mark.parametrize("seed", range(4))
def test_bits_equal_a_loop_over_bars_and_alerts(
    monkeypatch: pytest.MonkeyPatch, timeframe: str, seed: int
) -> None:
    rng = np.random.default_rng(seed)
    monkeypatch.setattr(blocks, "BATCH_BARS", int(rng.choice([1, 100, 100_000])))
    candles = random_bars(rng, timeframe, 1_000)
    sessions = NSE if seed % 2 else None
    edges = np.concatenate((candles.time, candles.time + TIMEFRAMES[timeframe]))
    drawn = rng.integers(candles.time[0] - DAY, candles.time[-1] + 9 * DAY, 60)
    near = rng.choice(edges, 40) + rng.integers(-1, 2, 40)
    received = np.sort(np.concatenate((drawn, near)))
    truth = plain_truth(candles, timeframe, received.tolist(), sessions)
    within, confirming = int(rng.integers(1, 5)), int(rng.integers(1, 4))
    strategy = entering(alert(within=within), timeframe=timeframe, confirmationCandles=confirming)
    confirmed = [False] * (confirming - 1) + truth
    expected = [any(confirmed[max(bar - within + 1, 0) : bar + 1]) for bar in range(len(candles))]
    inputs = required_inputs(strategy)
    seen = SymbolBars(candles, {}, sessions, {"breakout": received})
    bits = signals_of(inputs, seen, 0, len(candles))
    assert ((bits & ENTER_LONG) > 0).tolist() == expected
    first, last = sorted(rng.integers(0, len(candles), 2).tolist())
    assert signals_of(inputs, seen, first, last + 1).tolist() == bits[first : last + 1].tolist()
    assert 0 < sum(expected) < len(expected)


# The language


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "must not be empty."),
        ("x" * 101, "must have at most 100 characters."),
        (" breakout", "must not begin or end with a blank."),
        ("breakout\u00a0", "must not begin or end with a blank."),
        ("break\nout", "holds a control character."),
        ("break\u200bout", "holds a control character."),
        (5, "must be a string."),
    ],
)
def test_a_wrong_name_is_refused(name: object, message: str) -> None:
    steps = complete(
        entryConditions={"positionType": "long", "conditions": [{"type": "signal", "name": name}]}
    )
    (error,) = read_strategy(steps).errors
    field = "entryConditions.conditions[0].name"
    assert (error.field, error.message) == (field, f"{field} {message}")


def test_a_name_is_required_and_an_unknown_field_refused() -> None:
    steps = complete(
        entryConditions={"positionType": "long", "conditions": [{"type": "signal", "nmae": "x"}]}
    )
    reading = read_strategy(steps)
    assert [error.message for error in reading.problems] == [
        "entryConditions.conditions[0].nmae is not a known field; did you mean name?",
        "entryConditions.conditions[0].name is required.",
    ]


@pytest.mark.parametrize(
    ("position", "opposite", "fields"),
    [
        ("both", None, ["entryConditions.conditions[0].conditions[0].side",
                        "exitConditions.conditions[0].side"]),
        ("long", True, ["entryConditions.conditions[0].conditions[0].side"]),
        ("long", None, []),
        ("short", False, []),
    ],
)  # fmt: skip
def test_a_side_is_required_where_a_mirror_is_needed(
    position: str, opposite: bool | None, fields: list[str]
) -> None:
    group = {"type": "group", "logicalOperator": "OR", "conditions": [alert(), alert(side="long")]}
    exits: dict[str, object] = {"conditions": [alert()]}
    if opposite is not None:
        exits["exitOnOppositeSignal"] = opposite
    steps = complete(
        entryConditions={"positionType": position, "conditions": [group]}, exitConditions=exits
    )
    message = "is required: alerts have no mirror. Write long, short or both."
    assert [(error.field, error.message) for error in read_strategy(steps).errors] == [
        (field, f"{field} {message}") for field in fields
    ]


def test_an_alert_has_words() -> None:
    assert describe(alert("Gap up")) == 'alert "Gap up" is received'
    assert describe(alert("Gap up", within=3, side="long")) == (
        'alert "Gap up" is received, at one of the last 3 candles (for long positions only)'
    )
