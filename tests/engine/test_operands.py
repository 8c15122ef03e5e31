"""Arithmetic, operands as sources, `within`, dates, and patterns of longer candles."""

from datetime import UTC, datetime, timedelta
from functools import reduce
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from apps.engine.candles.candles import Candles, ist_day
from apps.engine.candles.resampling import resample
from apps.engine.candles.sessions import Override, Regime, Sessions
from apps.engine.indicators.aligned_candles import AlignedCandles
from apps.engine.indicators.catalogue import CATALOGUE
from apps.engine.indicators.patterns import pattern_series
from apps.engine.indicators.series import OWN_CANDLES, CandleSource, Read, compute_series
from apps.engine.kernel.codes import ENTER_LONG, ENTER_SHORT
from apps.engine.language.conditions import IndicatorValue
from apps.engine.language.strategy import parse, read_strategy
from apps.engine.signals.columns import SymbolBars
from apps.engine.signals.required_inputs import required_inputs
from apps.engine.signals.signals import signals_of
from tests.engine.configurations import RSI_ABOVE_50, entering
from tests.engine.test_signals import bars, walk

CLOSE = {"type": "PRICE"}
RSI = {"type": "RSI"}
FIELD = "entryConditions.conditions[0]"
HOURS = Regime(0, 40_000, 33_300, 55_800)


def calc(operator: str, *operands: Any) -> dict[str, Any]:
    return {"type": "CALC", "operator": operator, "operands": list(operands)}


def above(operand: dict[str, Any], value: float, **more: object) -> dict[str, Any]:
    condition = {"type": "indicator_value", "indicator": operand, "operator": "above"}
    return {**condition, "value": value, **more}


def pair(
    left: dict[str, Any], operator: str, right: dict[str, Any], **more: object
) -> dict[str, Any]:
    condition = {"type": "indicator_indicator", "indicator1": left, "operator": operator}
    return {**condition, "indicator2": right, **more}


def moving(operand: dict[str, Any], operator: str, candles: int) -> dict[str, Any]:
    condition = {"type": "indicator_value", "indicator": operand, "operator": operator}
    return {**condition, "candles": candles}


def signals(
    candles: Candles, *conditions: dict[str, Any], sessions: Sessions | None = None, **entry: object
) -> list[int]:
    inputs = required_inputs(parse(entering(*conditions, **entry)))
    read = SymbolBars(candles, sessions=sessions)
    return list(signals_of(inputs, read, 0, len(candles)).tolist())


def entries(
    candles: Candles, *conditions: dict[str, Any], sessions: Sessions | None = None, **entry: object
) -> list[int]:
    """Return the bars at which a long entry is signalled."""
    masks = signals(candles, *conditions, sessions=sessions, **entry)
    return [bar for bar, mask in enumerate(masks) if mask & ENTER_LONG]


def values(operand: dict[str, Any], candles: Candles) -> NDArray[np.float64]:
    """Return an operand at each bar, read as the source of a price."""
    condition = parse(entering(above({**CLOSE, "source": operand}, 0))).entryConditions.conditions
    (first,) = condition
    assert isinstance(first, IndicatorValue)
    price = first.indicator.value
    assert isinstance(price, Read)
    column: NDArray[np.float64] = compute_series(price.series, candles)[0]
    return column


# Arithmetic


@pytest.mark.parametrize(
    ("operand", "expected"),
    [
        (calc("add", CLOSE, 1, 2), [5.0, 7.0, 4.0]),
        (calc("subtract", 10, CLOSE), [8.0, 6.0, 9.0]),
        (calc("multiply", CLOSE, CLOSE), [4.0, 16.0, 1.0]),
        (calc("divide", CLOSE, 2), [1.0, 2.0, 0.5]),
        (calc("min", CLOSE, 3), [2.0, 3.0, 1.0]),
        (calc("max", 1, CLOSE, 3), [3.0, 4.0, 3.0]),
        (calc("abs", calc("subtract", CLOSE, 3)), [1.0, 1.0, 2.0]),
    ],
)
def test_arithmetic_is_done_candle_by_candle(
    operand: dict[str, Any], expected: list[float]
) -> None:
    assert values(operand, bars([2, 4, 1])).tolist() == expected


def test_arithmetic_goes_from_left_to_right() -> None:
    large = calc("add", 1e12, CLOSE, -1e12)
    assert values(large, bars([0.1, 0.1])).tolist() == [1e12 + 0.1 - 1e12] * 2


def test_what_is_unknown_infinite_or_divided_by_0_is_unknown() -> None:
    candles = bars([2, 4, 1])
    through_zero = calc("divide", 1, calc("subtract", CLOSE, 4))
    assert np.isnan(values(through_zero, candles)).tolist() == [False, True, False]
    later = calc("max", CLOSE, {**CLOSE, "offset": 2})
    assert np.isnan(values(later, candles)).tolist() == [True, True, False]
    endless = {"type": "EXP", "source": calc("multiply", CLOSE, 300)}
    assert np.isnan(values(calc("min", endless, 5), candles)).tolist() == [False, True, False]


@pytest.mark.parametrize("operator", ["above", "crosses_above", "crosses_below", "at_or_below"])
@pytest.mark.parametrize(
    "operand",
    [
        {"type": "EMA", "period": 9, "offset": 2},
        {"type": "RSI", "period": 5, "source": "hl2"},
        {"type": "OBV"},
        {"type": "OPENING_RANGE", "minutes": 30},
    ],
    ids=lambda operand: operand["type"],
)
def test_an_indicator_plus_0_is_the_indicator(operand: dict[str, Any], operator: str) -> None:
    candles, other = walk(3000, 900), {"type": "SMA", "period": 20, "offset": 1}
    for condition in (pair(operand, operator, other), pair(other, operator, operand)):
        plus = {
            name: calc("add", value, 0) if value == operand else value
            for name, value in condition.items()
        }
        expected = signals(candles, condition, confirmationCandles=2)
        assert signals(candles, plus, confirmationCandles=2) == expected
    moved = signals(candles, moving(calc("add", operand, 0), "rising", 3))
    assert moved == signals(candles, moving(operand, "rising", 3))


# Sources


def test_an_indicator_over_a_price_is_the_indicator_of_that_price() -> None:
    candles = walk(3000, 900)
    for row in CATALOGUE.values():
        if row.inputs != ("source",):
            continue
        name = row.outputs[0].name
        named = {"type": row.type, "source": "high", "output": name}
        over = {**named, "source": {**CLOSE, "source": "high"}}
        assert values(over, candles).tobytes() == values(named, candles).tobytes(), row.type


def test_an_indicator_begins_anew_after_an_unknown_value() -> None:
    known = calc("divide", 1, calc("subtract", CLOSE, 4))
    average = {"type": "SMA", "period": 2, "source": known}
    assert np.round(values(average, bars([2, 3, 4, 5, 6, 8])), 6).tolist() == pytest.approx(
        [np.nan, -0.75, np.nan, np.nan, 0.75, 0.375], nan_ok=True
    )


@pytest.mark.parametrize("row", [row.type for row in CATALOGUE.values() if row.has_source])
def test_every_row_with_a_source_takes_runs_of_any_length(row: str) -> None:
    """An operand that is unknown at random bars has runs of 1, 2, 3 bars and more."""
    source = calc("divide", 1, calc("max", 0, {"type": "MOM", "period": 1}))
    candles = walk(600, 900)
    operand = {"type": row, "source": source}
    whole = values(operand, candles)
    assert whole.shape == (600,)
    inner = values(source, candles)
    assert np.isnan(whole[np.isnan(inner)]).all()


def test_the_average_of_an_oscillator_is_computed_over_the_whole_array() -> None:
    candles = walk(400, 900)
    rsi = values({"type": "RSI", "period": 14}, candles)
    average = values({"type": "SMA", "period": 5, "source": RSI}, candles)
    plain = [np.nan if n < 18 else rsi[n - 4 : n + 1].mean() for n in range(len(rsi))]
    np.testing.assert_allclose(average, plain, rtol=1e-12)


def test_a_source_is_read_in_the_timeframe_of_its_indicator() -> None:
    candles = walk(6000, 900)
    hours = resample(candles, "15m", "1h", None)
    over = {"type": "SMA", "period": 5, "source": RSI}
    longer = {CandleSource(timeframe="1h"): AlignedCandles.of(candles, "15m", hours, "1h", None)}
    steps = entering(above({**over, "timeframe": "1h"}, 50))
    steps["basicInfo"]["timeframe"] = "15m"
    strategy = parse(steps)
    masks = signals_of(
        required_inputs(strategy), SymbolBars(candles, longer), 0, len(candles)
    ).tolist()
    seen = longer[CandleSource(timeframe="1h")].seen
    of_hours = values(over, hours)
    assert [bool(mask) for mask in masks] == [bool(n >= 0 and of_hours[n] > 50) for n in seen]
    assert strategy.candle_sources[CandleSource(timeframe="1h")] == 4 + 14


# Within


def test_within_is_true_where_it_was_true_at_one_of_the_last_candles() -> None:
    closes = [1, 9, 1, 1, 1, 9, 9, 1, 1, 1]
    assert entries(bars(closes), above(CLOSE, 5, within=3)) == [1, 2, 3, 5, 6, 7, 8]
    assert entries(bars(closes), above(CLOSE, 5, within=1)) == [1, 5, 6]
    confirmed = above(CLOSE, 5, within=2)
    assert entries(bars(closes), confirmed, confirmationCandles=2) == [6, 7]


def test_within_a_group_is_taken_of_the_group() -> None:
    closes = [1, 9, 1, 4, 1, 1, 1]
    both = {"type": "group", "logicalOperator": "AND", "within": 2}
    inside = [above(CLOSE, 3, within=3), above({**CLOSE, "offset": 1}, 8)]
    assert entries(bars(closes), {**both, "conditions": inside}) == [2, 3]


def test_within_adds_to_the_warm_up() -> None:
    strategy = parse(entering(above({"type": "SMA", "period": 20}, 1, within=10)))
    assert strategy.candle_sources[OWN_CANDLES] == 19 + 9
    group: dict[str, Any] = {"type": "group", "logicalOperator": "AND", "within": 5}
    group["conditions"] = [RSI_ABOVE_50]
    assert parse(entering(group, confirmationCandles=3)).candle_sources[OWN_CANDLES] == 14 + 4 + 2


# Dates


def days(first: str, count: int) -> Candles:
    """Return a bar a date, at 09:15 in India."""
    start = datetime.fromisoformat(first).replace(tzinfo=UTC) + timedelta(hours=3, minutes=45)
    times = [int((start + timedelta(days=day)).timestamp()) for day in range(count)]
    price = np.full(count, 10.0)
    return Candles.build(times, open=price, high=price, low=price, close=price, volume=price)


def dates_of(candles: Candles, chosen: list[int]) -> list[str]:
    return [str(day) for day in ist_day(candles.time[chosen]).astype("M8[D]")]


def test_weekdays_are_those_of_the_date_in_india() -> None:
    candles = days("2026-02-02", 8)
    window = {"type": "time_window", "weekdays": ["MON", "THU"]}
    assert dates_of(candles, entries(candles, window)) == ["2026-02-02", "2026-02-05", "2026-02-09"]


@pytest.mark.parametrize(
    ("span", "expected"),
    [
        ([1, 1], ["2026-02-02", "2026-03-02"]),
        ([2, 3], ["2026-02-04", "2026-02-05", "2026-03-03", "2026-03-04"]),
        ([-2, -1], ["2026-02-26", "2026-02-28", "2026-03-30", "2026-03-31"]),
    ],
)
def test_sessions_of_a_month_are_counted_with_holidays_and_special_sessions(
    span: list[int], expected: list[str]
) -> None:
    """2026-02-03 and -27 are holidays here, and Saturday 2026-02-28 has a session."""
    epoch = np.datetime64("1970-01-01")
    closed = [int((np.datetime64(day) - epoch).astype(int)) for day in ("2026-02-03", "2026-02-27")]
    special = int((np.datetime64("2026-02-28") - epoch).astype(int))
    calendar = Sessions.build(
        [HOURS], [*map(Override, closed), Override(special, 33_300, 40_000)], years=[2026]
    )
    candles = days("2026-02-01", 59)
    window = {"type": "time_window", "sessionOfMonth": span}
    assert dates_of(candles, entries(candles, window, sessions=calendar)) == expected


def test_where_the_calendar_is_not_certain_no_session_of_the_month_counts() -> None:
    """The hours of 2026-02-16 are unknown, and the holidays of 2027."""
    doubtful = Override(
        int((np.datetime64("2026-02-16") - np.datetime64("1970-01-01")).astype(int)), known=False
    )
    calendar = Sessions.build([HOURS], [doubtful], years=[2026])
    candles = days("2026-02-01", 28)
    forward = {"type": "time_window", "sessionOfMonth": [1, 23]}
    backward = {"type": "time_window", "sessionOfMonth": [-23, -1]}
    assert dates_of(candles, entries(candles, forward, sessions=calendar))[-1] == "2026-02-13"
    assert dates_of(candles, entries(candles, backward, sessions=calendar))[0] == "2026-02-17"
    unknown = days("2027-01-01", 31)
    for window in (forward, backward):
        assert entries(unknown, window, sessions=calendar) == []
        assert entries(candles, window) == []


def test_hours_and_dates_must_all_hold() -> None:
    window = {"type": "time_window", "from": "09:15", "to": "09:45", "weekdays": ["TUE"]}
    candles = walk(3000, 900)
    chosen = candles.time[entries(candles, window)] + 19_800
    assert set((chosen % 86_400).tolist()) == {33_300, 34_200}
    assert set(((chosen // 86_400 + 3) % 7).tolist()) == {1}
    assert len(chosen) > 10


# Patterns


def test_a_pattern_of_longer_candles_holds_while_its_candle_is_the_last_one_closed() -> None:
    candles = walk(6000, 900)
    hours = resample(candles, "15m", "1h", None)
    aligned = AlignedCandles.of(candles, "15m", hours, "1h", None)
    engulfs = compute_series(pattern_series("CDLENGULFING"), hours)[0] > 0
    for offset in (0, 2):
        condition = {
            "type": "candle_pattern",
            "pattern": "CDLENGULFING",
            "direction": "bullish",
            "timeframe": "1h",
            "offset": offset,
        }
        steps = entering(condition)
        steps["basicInfo"]["timeframe"] = "15m"
        bars_read = SymbolBars(candles, {CandleSource(timeframe="1h"): aligned})
        masks = signals_of(required_inputs(parse(steps)), bars_read, 0, len(candles)).tolist()
        expected = [bool(n >= offset and engulfs[n - offset]) for n in aligned.seen]
        assert [bool(mask) for mask in masks] == expected
        assert sum(expected) > 50


def test_a_pattern_some_candles_back_is_the_pattern_then() -> None:
    candles = walk(3000, 900)
    pattern = {"type": "candle_pattern", "pattern": "CDLHAMMER"}
    at_once = entries(candles, pattern)
    assert entries(candles, {**pattern, "offset": 4}) == [bar + 4 for bar in at_once if bar < 2996]


# Sides


def test_both_counts_a_condition_for_each_side_as_it_is_written() -> None:
    masks = signals(bars([9, 12]), above(CLOSE, 10, side="both"), positionType="both")
    assert masks == [0, ENTER_LONG | ENTER_SHORT]


def test_the_mirror_of_an_average_of_an_oscillator_turns_as_the_oscillator() -> None:
    candles = walk(2000, 900)
    average = {"type": "SMA", "period": 5, "source": RSI}
    both = signals(candles, above(average, 60), positionType="both")
    below = {**above(average, 40), "operator": "below"}
    short = signals(candles, below, positionType="short")
    assert [mask & ENTER_SHORT for mask in both] == short
    of_volume = {"type": "SMA", "period": 5, "source": {"type": "VOLUME"}}
    assert set(signals(candles, above(of_volume, 500), positionType="both")) == {0, 3}


@pytest.mark.parametrize(
    ("entry", "opposite", "needs_side"),
    [
        ({"positionType": "both"}, None, True),
        ({"positionType": "long"}, None, False),
        ({"positionType": "long"}, True, True),
        ({"positionType": "short"}, False, False),
    ],
)
def test_arithmetic_needs_a_side_where_a_mirror_is_read(
    entry: dict[str, Any], opposite: bool | None, needs_side: bool
) -> None:
    condition = above({"type": "EMA", "source": calc("add", CLOSE, 1)}, 5)
    steps = entering(condition, **entry)
    if opposite is not None:
        steps["exitConditions"]["exitOnOppositeSignal"] = opposite
    fields = [error.field for error in read_strategy(steps).errors]
    assert fields == ([f"{FIELD}.side"] if needs_side else [])
    group = {"type": "group", "logicalOperator": "AND", "conditions": [condition], "side": "both"}
    steps["entryConditions"]["conditions"] = [group]
    assert read_strategy(steps).errors == ()


def test_an_exit_needs_a_side_where_both_sides_are_traded() -> None:
    steps = entering(RSI_ABOVE_50, positionType="both")
    steps["exitConditions"]["conditions"] = [above(calc("add", CLOSE, 1), 5)]
    (error,) = read_strategy(steps).errors
    assert error.field == "exitConditions.conditions[0].side"


# Refusals


def averaged(source: dict[str, Any], _: int) -> dict[str, Any]:
    return {"type": "EMA", "source": source}


@pytest.mark.parametrize(
    ("operand", "field", "message"),
    [
        (calc("abs", CLOSE, 1), "operands", "must have exactly 1 entry for abs"),
        (calc("add", CLOSE), "operands", "must have at least 2 entries for add"),
        (calc("min", *[CLOSE] * 9), "operands", "must have at most 8 entries"),
        (calc("add", CLOSE, "1"), "operands[1]", "must be a number"),
        (
            reduce(lambda inner, _: calc("abs", inner), range(5), CLOSE),
            "",
            "is 5 deep; at most 4 are allowed",
        ),
        (
            reduce(averaged, range(5), CLOSE),
            "",
            "is 5 deep; at most 4 are allowed",
        ),
        (
            {"type": "SMA", "period": 900, "source": {"type": "SMA", "period": 200}},
            "",
            "needs 1098 candles before its first value; at most 1000 are allowed",
        ),
        ({"type": "ATR", "source": CLOSE}, "source", "is not a known field"),
        (
            {"type": "EMA", "source": {"type": "EMA", "source": "closing"}},
            "source.source",
            "must be one of close, open, high, low, volume, hl2, hlc3, ohlc4",
        ),
    ],
)
def test_an_operand_is_refused(operand: dict[str, Any], field: str, message: str) -> None:
    path = f"{FIELD}.indicator" + (f".{field}" if field else "")
    errors = read_strategy(entering(above(operand, 1))).errors
    assert [(error.field, error.message) for error in errors] == [(path, f"{path} {message}.")]


@pytest.mark.parametrize(
    ("window", "field", "message"),
    [
        ({"sessionOfMonth": [1]}, "sessionOfMonth", "must be two numbers of one sign"),
        ({"sessionOfMonth": [0, 1]}, "sessionOfMonth", "must be two numbers of one sign"),
        ({"sessionOfMonth": [3, 2]}, "sessionOfMonth", "must be two numbers of one sign"),
        ({"sessionOfMonth": [1, 24]}, "sessionOfMonth[1]", "must be at most 23"),
        ({"weekdays": ["MON", "MON"]}, "weekdays", "has a day twice"),
        ({"weekdays": ["Monday"]}, "weekdays[0]", "must be one of MON"),
    ],
)
def test_a_window_is_refused(window: dict[str, Any], field: str, message: str) -> None:
    (error,) = read_strategy(entering({"type": "time_window", **window})).errors
    assert error.field == f"{FIELD}.{field}"
    assert error.message.startswith(f"{FIELD}.{field} {message}")


def test_a_window_without_a_time_and_with_half_a_time_is_incomplete() -> None:
    for window, field in (
        ({}, FIELD),
        ({"to": "10:00"}, f"{FIELD}.from"),
        ({"weekdays": []}, f"{FIELD}.weekdays"),
    ):
        reading = read_strategy(entering({"type": "time_window", **window}))
        assert reading.errors == ()
        assert [gap.field for gap in reading.incomplete] == [field]


def test_dates_are_not_used_on_weekly_candles() -> None:
    window = {"type": "time_window", "weekdays": ["MON"], "sessionOfMonth": [1, 1]}
    steps = entering(window)
    steps["basicInfo"]["timeframe"] = "1w"
    assert [error.message for error in read_strategy(steps).errors] == [
        f"{FIELD}.weekdays is not used on weekly candles.",
        f"{FIELD}.sessionOfMonth is not used on weekly candles.",
    ]


def test_dates_on_daily_candles_are_not_warned_of() -> None:
    steps = entering({"type": "time_window", "weekdays": ["MON"]}, positionType="long")
    steps["basicInfo"]["timeframe"] = "1d"
    fields = [warning.field for warning in parse(steps).warnings]
    assert "entryConditions.conditions" not in fields


def test_an_opposite_signal_that_no_condition_can_give_is_warned_of() -> None:
    steps = entering(above(CLOSE, 1, side="long"), positionType="long")
    steps["exitConditions"]["exitOnOppositeSignal"] = True
    fields = [warning.field for warning in parse(steps).warnings]
    assert "exitConditions.exitOnOppositeSignal" in fields
    steps["entryConditions"]["conditions"].append(above(CLOSE, 1))
    fields = [warning.field for warning in parse(steps).warnings]
    assert "exitConditions.exitOnOppositeSignal" not in fields


def test_an_indicator_in_a_source_reaches_as_far_as_the_candles_around_it() -> None:
    month = {"type": "PREVIOUS_MONTH", "output": "high"}
    for timeframe, warned in ((None, True), ("1h", False)):
        longer = {} if timeframe is None else {"timeframe": timeframe}
        average = {"type": "SMA", "period": 3, "source": month, **longer}
        steps = entering(above(average, 1), positionType="long")
        steps["basicInfo"]["timeframe"] = "1m"
        messages = [warning.message for warning in parse(steps).warnings]
        assert any("PREVIOUS_MONTH needs" in text for text in messages) is warned
