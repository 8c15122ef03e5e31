"""Conditions read bar by bar: operators, confirmation, sides, and the blocks of rule 11."""

from collections.abc import Sequence
from datetime import datetime, timedelta, timezone
from functools import cache
from typing import Any

import numpy as np
import pytest
import talib
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from apps.engine.candles import WARMUP_BARS, Candles, block_id, block_start, start_of_block
from apps.engine.candles.resampling import bar_ends, resample
from apps.engine.candles.sessions import Regime, Sessions
from apps.engine.indicators.aligned_candles import AlignedCandles
from apps.engine.indicators.series import CandleSource, Read
from apps.engine.kernel.codes import (
    CLOSE_LONG,
    CLOSE_SHORT,
    ENTER_LONG,
    ENTER_SHORT,
    EXIT_LONG,
    EXIT_SHORT,
)
from apps.engine.kernel.records import RANGES
from apps.engine.language.sides import Check, Comparison, Hours, Movement, entry_check
from apps.engine.language.strategy import Strategy, parse
from apps.engine.signals import blocks
from apps.engine.signals.columns import ColumnCache, SymbolBars
from apps.engine.signals.required_inputs import required_inputs
from apps.engine.signals.signals import atr_columns, signals_of
from tests.engine.configurations import CROSS, RSI_ABOVE_50, complete, entering

INDIA = timezone(timedelta(hours=5, minutes=30))
PRICE = {"type": "PRICE"}


def bars(closes: Sequence[float], start: str = "2024-01-02 09:15", step: int = 60) -> Candles:
    """Return bars that open and close at these prices, one volume each."""
    first = int(datetime.fromisoformat(start).replace(tzinfo=INDIA).timestamp())
    price = np.array(closes, dtype=float)
    return Candles.build(
        first + step * np.arange(len(closes)),
        open=price,
        high=price,
        low=price,
        close=price,
        volume=np.ones(len(closes)),
    )


def price(operator: str, value: float | None = None, **more: object) -> dict[str, Any]:
    """Return a condition on the close."""
    condition = {"type": "indicator_value", "indicator": PRICE, "operator": operator, **more}
    return condition | ({} if value is None else {"value": value})


def bits(closes: Sequence[float], *conditions: dict[str, Any], **entry: object) -> list[int]:
    strategy = parse(entering(*conditions, **entry))
    return list(
        signals_of(required_inputs(strategy), SymbolBars(bars(closes)), 0, len(closes)).tolist()
    )


def entries(closes: Sequence[float], *conditions: dict[str, Any], **entry: object) -> list[int]:
    """Return the bars at which a long entry is signalled."""
    return [i for i, bit in enumerate(bits(closes, *conditions, **entry)) if bit & ENTER_LONG]


# Operators


@pytest.mark.parametrize(
    ("operator", "expected"),
    [
        ("above", [2, 3]),
        ("at_or_above", [1, 2, 3, 4]),
        ("below", [0, 5]),
        ("at_or_below", [0, 1, 4, 5]),
        ("crosses_above", [2]),
        ("crosses_below", [5]),
    ],
)
def test_an_operator_compares_with_a_value(operator: str, expected: list[int]) -> None:
    assert entries([9, 10, 11, 12, 10, 8], price(operator, 10)) == expected


def test_a_cross_may_start_from_equality_and_must_leave_it() -> None:
    assert entries([10, 11, 10, 10, 11, 9, 11], price("crosses_above", 10)) == [1, 4, 6]
    assert entries([10, 9, 10, 10, 9, 11, 9], price("crosses_below", 10)) == [1, 4, 6]


def test_the_first_bar_has_nothing_to_cross_from() -> None:
    assert entries([11, 11], price("crosses_above", 10)) == []


def test_rising_and_falling_are_strict_over_their_steps() -> None:
    closes = [1, 2, 3, 3, 4, 5, 6, 5, 4, 3]
    assert entries(closes, price("rising")) == [1, 2, 4, 5, 6]
    assert entries(closes, price("rising", candles=3)) == [6]
    assert entries(closes, price("falling", candles=2)) == [8, 9]


def test_an_indicator_compares_with_another() -> None:
    average = {"type": "SMA", "period": 2}
    above = {
        "type": "indicator_indicator",
        "indicator1": PRICE,
        "operator": "crosses_above",
        "indicator2": average,
    }
    #                 average:  -  9.0 9.5 9.5 8.5
    assert entries([10, 8, 11, 8, 9], above) == [2, 4]


def test_an_offset_reads_so_many_candles_back() -> None:
    higher_than_two_ago = {
        "type": "indicator_indicator",
        "indicator1": PRICE,
        "operator": "above",
        "indicator2": PRICE | {"offset": 2},
    }
    assert entries([1, 2, 3, 2, 2, 5], higher_than_two_ago) == [2, 5]


def test_a_condition_that_cannot_be_computed_yet_is_not_true() -> None:
    rsi = {"type": "indicator_value", "indicator": {"type": "RSI"}, "value": 200}
    closes = [float(100 + i) for i in range(16)]
    assert entries(closes, rsi | {"operator": "below"}) == [14, 15]
    both = bits(closes, rsi | {"operator": "below"}, positionType="both")
    assert both == [0] * 14 + [ENTER_LONG | ENTER_SHORT] * 2
    assert entries([1, 2], rsi | {"operator": "below"}) == []
    assert entries([1, 2], price("above", 1, indicator=PRICE | {"offset": 5})) == []


# AND, OR, hours, confirmation


def test_a_group_needs_all_conditions_or_any() -> None:
    closes = [1, 5, 9]
    two = (price("above", 2), price("below", 6))
    assert entries(closes, *two) == [1]
    assert entries(closes, *two, logicalOperator="OR") == [0, 1, 2]


def test_a_window_includes_bars_that_start_in_it() -> None:
    window = {"type": "time_window", "from": "09:16", "to": "09:18"}
    assert entries([1, 1, 1, 1, 1], window) == [1, 2]


def test_a_level_must_hold_on_each_confirming_candle() -> None:
    closes = [11, 12, 9, 11, 11, 11]
    assert entries(closes, price("above", 10), confirmationCandles=2) == [1, 4, 5]
    assert entries(closes, price("above", 10), confirmationCandles=3) == [5]
    assert entries(closes, price("above", 10), confirmationCandles=0) == [0, 1, 3, 4, 5]


def test_a_movement_must_hold_on_each_confirming_candle() -> None:
    closes = [1, 2, 3, 4, 3, 4]
    assert entries(closes, price("rising"), confirmationCandles=2) == [2, 3]
    assert entries(closes, price("rising", candles=2), confirmationCandles=2) == [3]


def test_a_cross_must_have_happened_first_and_held_since() -> None:
    closes = [9, 11, 12, 10, 11, 11, 11]
    crossing = price("crosses_above", 10)
    assert entries(closes, crossing, confirmationCandles=1) == [1, 4]
    assert entries(closes, crossing, confirmationCandles=2) == [2, 5]
    assert entries(closes, crossing, confirmationCandles=3) == [6]


def test_each_condition_is_confirmed_by_itself_and_hours_are_not() -> None:
    window = {"type": "time_window", "from": "09:17", "to": "09:18"}
    assert entries([11, 11, 11, 11], price("above", 10), window, confirmationCandles=3) == [2]
    either = entries(
        [11, 9, 11, 11], price("above", 10), window, confirmationCandles=2, logicalOperator="OR"
    )
    assert either == [2, 3]


# Patterns of candles


def engulfing(direction: str | None, **more: str) -> dict[str, Any]:
    fields = {"direction": direction} if direction else {}
    return {"type": "candle_pattern", "pattern": "CDLENGULFING", **fields, **more}


SWINGS = [*[100.0, 101.0] * 8, 99.0, 102.0, 98.0, 98.5, 97.5]
"""Bars that open at the close before them: the larger body that turns engulfs the smaller."""


def in_turns(closes: list[float]) -> Candles:
    opens = [closes[0], *closes[:-1]]
    pairs = list(zip(opens, closes, strict=True))
    return Candles.build(
        np.datetime64("2024-01-02T03:45", "s").astype(int) + 60 * np.arange(len(closes)),
        open=opens,
        high=[max(pair) for pair in pairs],
        low=[min(pair) for pair in pairs],
        close=closes,
        volume=[1.0] * len(closes),
    )


def pattern_bits(*conditions: dict[str, Any], **entry: object) -> list[int]:
    """Return the bits of the last five bars; the bars before only swing."""
    candles = in_turns(SWINGS)
    strategy = parse(entering(*conditions, **entry))
    return list(
        signals_of(required_inputs(strategy), SymbolBars(candles), 0, len(candles)).tolist()[-5:]
    )


def test_a_pattern_is_seen_at_its_last_candle() -> None:
    assert pattern_bits(engulfing("bullish")) == [0, 1, 0, 0, 0]
    assert pattern_bits(engulfing("bearish")) == [1, 0, 1, 0, 1]
    assert pattern_bits(engulfing(None)) == [1, 1, 1, 0, 1]
    assert pattern_bits(engulfing("bullish"), positionType="both") == [2, 1, 2, 0, 2]
    assert pattern_bits(engulfing("bullish", side="short"), positionType="both")[1] == ENTER_SHORT


def test_a_pattern_is_confirmed_by_the_next_candles() -> None:
    assert pattern_bits(engulfing("bullish"), confirmationCandles=2) == [0, 0, 1, 0, 0]
    assert pattern_bits(engulfing("bullish"), confirmationCandles=3) == [0, 0, 0, 1, 0]


# Groups


def group(operator: str, *conditions: dict[str, Any], **more: str) -> dict[str, Any]:
    return {"type": "group", "logicalOperator": operator, "conditions": list(conditions), **more}


def test_a_group_is_true_if_all_or_any_of_its_conditions_are() -> None:
    closes = [1, 3, 5, 7, 9]
    odd = group("OR", price("below", 2), group("AND", price("above", 4), price("below", 6)))
    assert entries(closes, odd) == [0, 2]
    assert entries(closes, odd, price("above", 2)) == [2]
    assert entries(closes, odd, price("above", 8), logicalOperator="OR") == [0, 2, 4]


def test_conditions_of_a_group_are_confirmed_each_for_itself() -> None:
    """At no bar was one of the two true for two candles, but the group was."""
    closes = [1, 9, 1, 9, 9]
    either = group("OR", price("below", 2), price("above", 8))
    assert entries(closes, either, confirmationCandles=2) == [4]


def test_a_group_is_mirrored_condition_by_condition() -> None:
    inside = group("AND", price("above", 10), level({"type": "RSI"}, "below", 30))
    outside = group("AND", price("below", 10), level({"type": "RSI"}, "above", 70))
    assert mirrored(group("OR", inside)) == written(group("OR", outside))


def test_the_side_of_a_group_applies_to_all_its_conditions() -> None:
    sided = group("OR", price("above", 10), price("above", 11, side="short"), side="short")
    assert bits([9, 12], sided, positionType="both") == [0, ENTER_SHORT]
    ways = group("OR", price("above", 10, side="long"), price("below", 5))
    signals = bits([4, 7, 12, 6], ways, positionType="both")
    assert signals == [ENTER_LONG, ENTER_SHORT, ENTER_LONG | ENTER_SHORT, ENTER_SHORT]


def test_a_group_without_a_condition_for_a_side_does_not_count_for_it() -> None:
    short_only = group("AND", price("above", 1, side="short"))
    assert bits([9, 12], short_only, price("above", 10), positionType="long") == [0, ENTER_LONG]
    assert bits([9, 12], short_only, positionType="long") == [0, 0]


# Sides


def test_both_sides_at_one_close_set_both_bits() -> None:
    volume = {
        "type": "indicator_value",
        "indicator": {"type": "VOLUME"},
        "operator": "above",
        "value": 0,
    }
    assert bits([10, 10], volume, positionType="both") == [ENTER_LONG | ENTER_SHORT] * 2


def test_a_condition_for_one_side_is_used_there_unchanged() -> None:
    sided = (price("above", 10, side="long"), price("above", 12, side="short"))
    assert bits([9, 11, 13], *sided, positionType="both") == [
        0,
        ENTER_LONG,
        ENTER_LONG | ENTER_SHORT,
    ]
    assert bits([9, 11, 13], *sided, positionType="long") == [0, ENTER_LONG, ENTER_LONG]
    assert bits([9, 11, 13], *sided, positionType="short") == [0, 0, ENTER_SHORT]


def test_a_side_without_conditions_is_never_true() -> None:
    only_long = price("above", 10, side="long")
    assert bits([11, 11], only_long, positionType="both", logicalOperator="AND") == [1, 1]
    assert bits([11, 11], only_long, positionType="short") == [0, 0]


def test_a_short_algorithm_reads_its_conditions_unmirrored() -> None:
    assert bits([9, 11], price("below", 10), positionType="short") == [ENTER_SHORT, 0]


@pytest.mark.parametrize(
    ("position", "exits", "expected"),
    [
        ("long", None, [0, 0, ENTER_LONG]),
        ("long", True, [EXIT_LONG, 0, ENTER_LONG]),
        ("long", False, [0, 0, ENTER_LONG]),
        ("short", True, [EXIT_SHORT, 0, ENTER_SHORT]),
        ("both", True, [ENTER_SHORT, 0, ENTER_LONG]),
    ],
)
def test_the_opposite_signal_of_one_side_only_closes(
    position: str, exits: bool | None, expected: list[int]
) -> None:
    steps = entering(price("above", 10), positionType=position)
    if exits is not None:
        steps["exitConditions"]["exitOnOppositeSignal"] = exits
    signals = signals_of(required_inputs(parse(steps)), SymbolBars(bars([9, 10, 11])), 0, 3)
    assert signals.tolist() == expected


def closing(*conditions: dict[str, Any], position: str, **exits: object) -> list[int]:
    """Return the CLOSE bits alone, at closes of 9, 10 and 11."""
    steps = entering(price("above", 1), positionType=position, confirmationCandles=3)
    steps["exitConditions"] = {"conditions": list(conditions), **exits}
    steps["riskParameters"]["stopLoss"] = 1
    signals = signals_of(required_inputs(parse(steps)), SymbolBars(bars([9, 10, 11])), 0, 3)
    return list((signals & (CLOSE_LONG | CLOSE_SHORT)).tolist())


def test_conditions_of_exits_are_mirrored_for_the_other_side_and_not_confirmed() -> None:
    above = price("above", 10)
    assert closing(above, position="long") == [0, 0, CLOSE_LONG]
    assert closing(above, position="short") == [0, 0, CLOSE_SHORT]
    assert closing(above, position="both") == [CLOSE_SHORT, 0, CLOSE_LONG]
    assert closing(above | {"side": "short"}, position="both") == [0, 0, CLOSE_SHORT]
    either = closing(above, price("below", 10), position="long", logicalOperator="OR")
    assert either == [CLOSE_LONG, 0, CLOSE_LONG]
    assert closing(group("OR", above, price("below", 10)), position="long") == either


def mirrored(condition: dict[str, Any]) -> Check:
    """Return the test that the short side makes of a condition."""
    steps = entering(condition, positionType="both")
    (test,) = entry_check("short", parse(steps).entryConditions).checks
    return test


def written(condition: dict[str, Any]) -> Check:
    steps = entering(condition, positionType="both")
    (test,) = entry_check("long", parse(steps).entryConditions).checks
    return test


def level(indicator: dict[str, Any], operator: str, value: float) -> dict[str, Any]:
    return {
        "type": "indicator_value",
        "indicator": indicator,
        "operator": operator,
        "value": value,
    }


def pair(
    first: dict[str, Any], operator: str, other: dict[str, Any], **more: object
) -> dict[str, Any]:
    return {
        "type": "indicator_indicator",
        "indicator1": first,
        "operator": operator,
        "indicator2": other,
        **more,
    }


def said(text: str) -> dict[str, Any]:
    """Read a condition from its words: `TYPE.output@source operator value-or-indicator`."""
    first, operator, other = text.split()
    if other.lstrip("-").isdigit():
        return level(indicator(first), operator, int(other))
    return pair(indicator(first), operator, indicator(other))


def indicator(text: str) -> dict[str, Any]:
    text, _, source = text.partition("@")
    type, _, output = text.partition(".")
    return (
        {"type": type}
        | ({"source": source} if source else {})
        | ({"output": output} if output else {})
    )


@pytest.mark.parametrize(
    ("condition", "mirror"),
    [
        ("PRICE above 100", "PRICE below 100"),
        ("PRICE@high above 100", "PRICE@low below 100"),
        ("RSI crosses_above 30", "RSI crosses_below 70"),
        ("MFI at_or_below 20", "MFI at_or_above 80"),
        ("STOCH.d below 20", "STOCH.d above 80"),
        ("WILLR below -80", "WILLR above -20"),
        ("CCI above 100", "CCI below -100"),
        ("MACD crosses_above 0", "MACD crosses_below 0"),
        ("ROC above 2", "ROC below -2"),
        ("MOM above 2", "MOM below -2"),
        ("SUPERTREND.trend above 0", "SUPERTREND.trend below 0"),
        ("EMA crosses_above SMA", "EMA crosses_below SMA"),
        ("MACD.macd above MACD.signal", "MACD.macd below MACD.signal"),
        ("PRICE crosses_below BBANDS.lower", "PRICE crosses_above BBANDS.upper"),
        ("PRICE above KC.upper", "PRICE below KC.lower"),
        ("PRICE above MAX@high", "PRICE below MIN@low"),
        ("PRICE above HA.high", "PRICE below HA.low"),
        # outputs without a direction stay as they are
        ("ADX above 25", "ADX above 25"),
        ("ATR below 5", "ATR below 5"),
        ("VOLUME above 5", "VOLUME above 5"),
        ("STDDEV above 5", "STDDEV above 5"),
        ("VOLUME above SMA@volume", "VOLUME above SMA@volume"),
        ("VOLUME above MAX@volume", "VOLUME above MAX@volume"),
        # outputs that swap without turning keep their operator
        ("ADX.plusDI crosses_above ADX.minusDI", "ADX.minusDI crosses_above ADX.plusDI"),
        ("ADX.plusDI above ADX", "ADX.minusDI above ADX"),
        ("PLUS_DI above 25", "MINUS_DI above 25"),
        ("AROON.aroonUp above AROON.aroonDown", "AROON.aroonDown above AROON.aroonUp"),
        # one that turns against one that does not has no mirror
        ("RSI above ADX", "RSI above ADX"),
    ],
)
def test_the_mirror_of_a_condition(condition: str, mirror: str) -> None:
    assert mirrored(said(condition)) == written(said(mirror))
    assert mirrored(said(mirror)) == written(said(condition))


def test_rising_mirrors_falling_and_hours_mirror_themselves() -> None:
    assert mirrored(price("rising", candles=3)) == written(price("falling", candles=3))
    window = {"type": "time_window", "from": "09:15", "to": "10:00"}
    assert mirrored(window) == written(window)


def test_tests_are_plain_values() -> None:
    window = {"type": "time_window", "from": "09:15", "to": "10:00"}
    assert written(window) == Hours(33300, 36000)
    assert isinstance(written(price("rising")), Movement)
    cross = written(CROSS)
    assert isinstance(cross, Comparison)
    assert isinstance(cross.left, Read)
    assert cross.left.series.arguments == (("timeperiod", 9),)


# Ranges and blocks (rule 11)


def walk(count: int, step: int, seed: int = 3) -> Candles:
    """Return a random walk of bars, all inside days of 375 minutes (or a bar a day), from
    2022 on.
    """
    rng = np.random.default_rng(seed)
    close = 500 + np.cumsum(rng.normal(0, 1, count))
    opened = close + rng.normal(0, 0.5, count)
    a_day = max(375 * 60 // step, 1)
    bar = np.arange(count)
    start = 33300 if a_day > 1 else 0
    return Candles.build(
        1640975400 + bar // a_day * 86400 + start + bar % a_day * step,
        open=opened,
        high=np.maximum(opened, close) + rng.random(count),
        low=np.minimum(opened, close) - rng.random(count),
        close=close,
        volume=rng.integers(1, 1000, count).astype(float),
    )


def every_condition(timeframe: str, longer: str) -> Strategy:
    steps = entering(
        CROSS,
        group("AND", RSI_ABOVE_50, level({"type": "OBV", "timeframe": longer}, "above", 0)),
        pair(PRICE, "crosses_above", {"type": "EMA", "period": 3, "timeframe": longer}),
        level({"type": "CCI", "timeframe": longer, "offset": 2}, "crosses_above", 50),
        price("rising", indicator={"type": "OBV", "timeframe": longer}, candles=2),
        pair(PRICE, "above", {"type": "VWAP"}),
        pair({"type": "OBV"}, "crosses_above", {"type": "OBV", "offset": 3}),
        pair(PRICE, "crosses_above", {"type": "SMA", "period": 5}),
        price("rising", candles=4),
        pair(
            {"type": "SMA", "period": 9, "source": {"type": "OBV", "offset": 1}},
            "crosses_above",
            {
                "type": "CALC",
                "operator": "subtract",
                "operands": [{"type": "OBV"}, {"type": "ATR", "timeframe": longer}],
            },
            side="both",
            within=4,
        ),
        {"type": "signal", "name": "scan", "side": "long", "within": 3},
        logicalOperator="OR",
        positionType="both",
        confirmationCandles=2,
    )
    steps["basicInfo"]["timeframe"] = timeframe
    return parse(steps)


def test_signals_cover_exactly_the_range() -> None:
    strategy = parse(entering(price("above", 1)))
    signals = signals_of(required_inputs(strategy), SymbolBars(bars([2] * 6)), 2, 4)
    assert signals.tolist() == [1, 1]
    assert signals_of(required_inputs(strategy), SymbolBars(bars([2] * 6)), 3, 3).tolist() == []
    assert signals_of(required_inputs(strategy), SymbolBars(bars([])), 0, 0).tolist() == []


KINDS = [("30m", "1d", 1800, 3000), ("1m", "15m", 60, 9000), ("1d", "1w", 86400, 4500)]


@cache
def over_all(kind: tuple[str, str, int, int]) -> tuple[Candles, Strategy, list[int]]:
    """Return (candles, strategy, its signals at all of them)."""
    timeframe, longer, step, count = kind
    candles, strategy = walk(count, step), every_condition(timeframe, longer)
    every = longer_candles(candles, timeframe, longer)
    seen = seen_in(candles, timeframe, longer, every)
    whole = signals_of(
        required_inputs(strategy),
        SymbolBars(candles, seen, alerts=alerts_of(candles)),
        0,
        count,
    )
    return candles, strategy, whole.tolist()


def alerts_of(candles: Candles) -> dict[str, NDArray[np.int64]]:
    """Return one alert for every fifty bars."""
    rng = np.random.default_rng(len(candles))
    first, last = candles.time[[0, -1]].tolist()
    return {"scan": np.sort(rng.integers(first, last, len(candles) // 50))}


@given(st.data(), st.sampled_from(KINDS))
@settings(max_examples=15, deadline=None)
def test_neither_the_start_of_a_range_nor_its_end_changes_a_bit(
    data: st.DataObject, kind: tuple[str, str, int, int]
) -> None:
    """Longer candles are made from the bars up to the end alone, and held only as long as
    needed.
    """
    timeframe, longer, _, count = kind
    candles, strategy, whole = over_all(kind)
    assert len(set(whole)) > 2
    first = data.draw(st.integers(0, count - 1))
    last = data.draw(st.integers(first + 1, min(first + 50, count)))
    begins = opening_of_block(candles, first, timeframe)
    begin = int(np.searchsorted(candles.time, begins))
    held_from = data.draw(st.integers(0, max(0, begin - WARMUP_BARS)))
    held = candles.slice(held_from, last)
    known = longer_candles(candles.slice(0, last), timeframe, longer)
    block = int(np.searchsorted(known.time, start_of_block(begins, longer)))
    known = known.slice(max(block - WARMUP_BARS, 0), len(known))
    watch = required_inputs(strategy)
    part = signals_of(
        watch,
        SymbolBars(held, seen_in(held, timeframe, longer, known), alerts=alerts_of(candles)),
        first - held_from,
        len(held),
    )
    assert part.tolist() == whole[first:last]


def test_a_range_in_batches_is_the_range_at_once(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked = ranges(size=7, stop=14, target=14, trail=21, adds=10)
    averages = atr_columns(required_inputs(asked), SymbolBars(walk(3000, 1800)), 100, 2900)
    monkeypatch.setattr(blocks, "BATCH_BARS", 700)
    for kind in KINDS:
        candles, strategy, whole = over_all(kind)
        known = longer_candles(candles, *kind[:2])
        longer = seen_in(candles, *kind[:2], known)
        cache, inputs = ColumnCache(10**8), required_inputs(strategy)
        seen = SymbolBars(candles, longer, alerts=alerts_of(candles))
        for _ in range(2):  # the second time from the cache
            signals = signals_of(inputs, seen, 0, len(candles), cache=cache)
            assert signals.tolist() == whole
    assert (
        atr_columns(required_inputs(asked), SymbolBars(walk(3000, 1800)), 100, 2900).tobytes()
        == averages.tobytes()
    )


HOURS = Sessions.build([Regime(0, 40_000, 33300, 55800)])


def longer_candles(candles: Candles, timeframe: str, longer: str) -> Candles:
    until = int(bar_ends(candles.time[-1:], timeframe, HOURS)[0])
    return resample(candles, timeframe, longer, HOURS, until=until)


def seen_in(
    candles: Candles, timeframe: str, longer: str, known: Candles
) -> dict[CandleSource, AlignedCandles]:
    return {
        CandleSource(timeframe=longer): AlignedCandles.of(candles, timeframe, known, longer, HOURS)
    }


def test_a_longer_timeframe_is_read_from_the_array_of_its_own_block() -> None:
    """Hours have blocks of a year; the second one begins with 2,000 hours of the first."""
    candles = walk(7000, 1800)
    steps = entering(level({"type": "OBV", "timeframe": "1h", "offset": 1}, "above", 2000))
    steps["basicInfo"]["timeframe"] = "30m"
    known = longer_candles(candles, "30m", "1h")
    longer = seen_in(candles, "30m", "1h", known)
    signals = signals_of(
        required_inputs(parse(steps)), SymbolBars(candles, longer), 0, len(candles)
    )
    assert 0.1 < signals.mean() < 0.9
    for bar in range(100, len(candles), 47):
        closed = longer_candles(candles.slice(0, bar + 1), "30m", "1h")
        first_day = start_of_block(int(candles.time[bar]), "30m")
        begin = int(np.searchsorted(closed.time, start_of_block(first_day, "1h")))
        array = closed.slice(max(begin - WARMUP_BARS, 0), len(closed))
        assert bool(signals[bar]) == (talib.OBV(array.close, array.volume)[-2] > 2000), bar


def opening_of_block(candles: Candles, bar: int, timeframe: str) -> int:
    block = int(block_id(candles.time[bar : bar + 1], timeframe)[0])
    return block_start(block, timeframe)


def array_of_rule_11(candles: Candles, bar: int, timeframe: str) -> Candles:
    begin = int(np.searchsorted(candles.time, opening_of_block(candles, bar, timeframe)))
    return candles.slice(max(0, begin - WARMUP_BARS), bar + 1)


def test_every_operand_of_a_bar_comes_from_the_array_of_its_own_block() -> None:
    """OBV starts with its array, so one bar too many or a value from the block before shows."""
    candles = walk(4000, 1800)
    strategy = parse(entering(pair({"type": "OBV"}, "crosses_above", {"type": "OBV", "offset": 2})))
    signals = signals_of(required_inputs(strategy), SymbolBars(candles), 0, 4000)
    above = parse(entering(level({"type": "OBV"}, "above", 3000)))
    levels = signals_of(required_inputs(above), SymbolBars(candles), 0, 4000)
    for bar in range(3, 4000):
        part = array_of_rule_11(candles, bar, "30m")
        obv = talib.OBV(part.close, part.volume)
        crossed = len(obv) > 3 and obv[-2] <= obv[-4] and obv[-1] > obv[-3]
        assert (bool(signals[bar]), bool(levels[bar])) == (crossed, obv[-1] > 3000)


def test_the_ranges_that_rules_ask_for_come_from_the_same_arrays() -> None:
    candles = walk(3000, 1800)
    strategy = ranges(size=7, stop=14, target=14, trail=21, adds=10)
    columns = atr_columns(required_inputs(strategy), SymbolBars(candles), 2200, 2900)
    assert columns.shape == (700, RANGES)
    for bar in range(2200, 2900, 7):
        part = array_of_rule_11(candles, bar, "30m")
        periods = (7, 14, 14, 21, 10)
        expected = [talib.ATR(part.high, part.low, part.close, n)[-1] for n in periods]
        assert columns[bar - 2200].tolist() == expected


def ranges(size: int, stop: int, target: int, trail: int, adds: int) -> Strategy:
    distance = {"direction": "favour", "type": "atr", "atrPeriod": adds}
    return parse(
        complete(
            positionSizing={
                "method": "volatility_based",
                "riskPercentage": 1,
                "atrPeriod": size,
                "pyramiding": {"enabled": True, "distance": distance},
            },
            exitConditions={
                "stopLoss": {"type": "atr", "atrPeriod": stop},
                "takeProfit": {"type": "atr", "atrPeriod": target},
                "trailingStop": {"enabled": True, "type": "atr", "atrPeriod": trail},
            },
        )
    )


def test_a_range_that_no_rule_asks_for_is_unknown() -> None:
    candles = walk(100, 60)
    only_stop = parse(complete(exitConditions__stopLoss={"type": "atr", "atrPeriod": 10}))
    columns = atr_columns(required_inputs(only_stop), SymbolBars(candles), 0, 100)
    assert np.isnan(columns[:, [0, 2, 3]]).all()
    assert np.isnan(columns[:10, 1]).all()
    assert (columns[10:, 1] > 0).all()


def test_without_a_rule_that_asks_there_are_no_ranges() -> None:
    bars = SymbolBars(walk(10, 60))
    assert atr_columns(required_inputs(parse(complete())), bars, 0, 10).shape == (0, RANGES)
    idle = {"enabled": False, "type": "atr"}
    strategy = parse(complete(exitConditions__trailingStop=idle))
    assert atr_columns(required_inputs(strategy), bars, 0, 10).shape == (0, RANGES)


def test_vwap_restarts_each_day_even_after_a_block_edge() -> None:
    """The first day of a month starts again, whatever the array holds before it."""
    candles = walk(9000, 60)
    strategy = parse(entering(pair(PRICE, "above", {"type": "VWAP"})))
    signals = signals_of(required_inputs(strategy), SymbolBars(candles), 0, 9000)
    for bar in range(8250, 9000, 13):
        day = slice(bar - bar % 375, bar + 1)
        typical = (candles.high[day] + candles.low[day] + candles.close[day]) / 3
        average = running(typical * candles.volume[day]) / running(candles.volume[day])
        assert bool(signals[bar]) == (candles.close[bar] > average)


def running(values: NDArray[np.float64]) -> float:
    return float(np.cumsum(values)[-1])
