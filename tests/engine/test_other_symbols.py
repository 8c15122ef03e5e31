"""Operands that are computed from another symbol's candles."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from apps.engine.candles.candles import TIMEFRAME_SECONDS, Candles
from apps.engine.candles.resampling import resample
from apps.engine.candles.sessions import Regime, Sessions
from apps.engine.errors import InsufficientBars
from apps.engine.evidence.look_ahead import look_ahead_of
from apps.engine.indicators.aligned_candles import AlignedCandles
from apps.engine.kernel.records import Plan
from apps.engine.language.strategy import Strategy, parse, read_strategy
from apps.engine.results.wire_records import wire_times
from apps.engine.signals.required_inputs import required_inputs
from apps.engine.simulation.explain import sides_at
from apps.engine.simulation.simulate import simulate
from apps.engine.simulation.timeline import (
    History,
    OtherSymbol,
    SymbolSeries,
    signals_of_series,
)
from tests.engine.configurations import complete, entering
from tests.engine.evidence_inputs import evidence_on
from tests.engine.test_operands import above, calc, pair
from tests.engine.test_signals import walk

SHARES = Sessions.build([Regime(0, 40_000, 33_300, 55_800)])
COMMODITIES = Sessions.build([Regime(0, 40_000, 32_400, 84_600)])
VIX, OWN = "NSE:INDIAVIX", "NSE:AAA"
READ = {"type": "PRICE", "on": VIX}
FIELD = "entryConditions.conditions[0]"
DAY_SECONDS = 86_400


def strategy(*conditions: dict[str, Any], timeframe: str = "15m", **entry: Any) -> Strategy:
    steps = entering(*conditions, **{"positionType": "long", **entry})
    steps["basicInfo"] |= {"timeframe": timeframe, "symbols": [OWN]}
    return parse(steps)


def history(candles: Candles, *read: OtherSymbol) -> History:
    return History(OWN, candles, SHARES, other_symbols=read)


def thinned(candles: Candles, seed: int, share: float = 0.8) -> Candles:
    """Return the candles without some of them, at random."""
    return candles.select(np.random.default_rng(seed).random(len(candles)) < share)


def signals(given: Strategy, known: History, start: int, end: int = 2**40) -> NDArray[np.uint8]:
    series = SymbolSeries.of(given, known, start, end)
    return signals_of_series(required_inputs(given), Plan(), series).signals


# Alignment


@pytest.mark.parametrize(
    ("timeframe", "longer"), [("15m", "15m"), ("15m", "1h"), ("15m", "1d"), ("1d", "1d")]
)
@pytest.mark.parametrize("hours", [SHARES, COMMODITIES], ids=["shares", "commodities"])
def test_a_bar_reads_the_last_candle_that_ended_by_its_end(
    timeframe: str, longer: str, hours: Sessions
) -> None:
    own = walk(1500, TIMEFRAME_SECONDS[timeframe])
    read = thinned(resample(thinned(own, 1), timeframe, longer, hours), 2, 0.4)
    seen = AlignedCandles.of_other(
        own, timeframe, read, longer, sessions=SHARES, other_sessions=hours
    ).seen
    closes = {"15m": 900, "1h": 3600}
    close = 55_800 if hours is SHARES else 84_600

    def end(start: int, name: str, last: int) -> int:
        midnight = (start + 19_800) // DAY_SECONDS * DAY_SECONDS - 19_800
        return min(start + closes[name], midnight + last) if name in closes else midnight + last

    def counts_from(start: int) -> int:
        if longer == "1d" and timeframe != "1d":
            return (start + 19_800) // DAY_SECONDS * DAY_SECONDS - 19_800 + DAY_SECONDS
        return end(start, longer, close)

    for bar in range(0, len(own), 7):
        start = int(own.time[bar])
        now = start if longer == "1d" and timeframe != "1d" else end(start, timeframe, 55_800)
        known = [n for n, begun in enumerate(read.time.tolist()) if counts_from(begun) <= now]
        expected = known[-1] if known else -1
        if known:
            age = end(start, timeframe, 55_800) - end(int(read.time[known[-1]]), longer, close)
            same_date = (start + 19_800) // DAY_SECONDS == (
                int(read.time[known[-1]]) + 19_800
            ) // DAY_SECONDS
            if age > 7 * DAY_SECONDS or (longer == timeframe == "15m" and not same_date):
                expected = -1
        assert seen[bar] == expected, bar


def test_a_day_of_commodities_ends_after_that_of_shares() -> None:
    days = walk(30, DAY_SECONDS)
    for hours, behind in ((SHARES, 0), (COMMODITIES, 1)):
        aligned = AlignedCandles.of_other(
            days, "1d", days, "1d", sessions=SHARES, other_sessions=hours
        )
        assert aligned.seen.tolist()[1:] == [bar - behind for bar in range(1, 30)]


# Signals


@pytest.mark.parametrize(
    "condition",
    [
        pair({"type": "EMA", "on": OWN}, "crosses_above", {"type": "SMA", "period": 30, "on": OWN}),
        above({"type": "RSI", "source": calc("add", {"type": "PRICE", "on": OWN}, 0)}, 55),
    ],
)
def test_a_symbol_that_reads_itself_trades_as_without(condition: dict[str, Any]) -> None:
    """From the second day on: at a day's first bar its last candle is the bar itself."""
    candles = walk(4000, 900)
    plain = (
        pair({"type": "EMA"}, "crosses_above", {"type": "SMA", "period": 30})
        if condition["type"] == "indicator_indicator"
        else above({"type": "RSI"}, 55)
    )
    read = history(candles, OtherSymbol(OWN, {"15m": candles}, SHARES))
    start = int(candles.time[2100])
    same = signals(strategy(condition), read, start)
    assert same.tolist() == signals(strategy(plain), history(candles), start).tolist()
    assert 0 < same.mean() < 1


def test_neither_the_start_of_the_range_nor_later_candles_change_a_bit() -> None:
    own, read = walk(9000, 900), thinned(walk(9000, 900, seed=5), 3)
    ratio = calc("divide", {"type": "PRICE"}, READ)
    conditions = (
        pair(READ, "crosses_above", {"type": "EMA", "period": 40, "on": VIX, "offset": 1}),
        above({"type": "RSI", "period": 5, "on": VIX, "timeframe": "1h"}, 80, within=2),
        pair(ratio, "crosses_above", {"type": "SMA", "period": 9, "source": ratio}),
    )
    given = strategy(*conditions, logicalOperator="OR")
    hours = resample(read, "15m", "1h", SHARES)

    def known(until: int) -> History:
        cut = read.between(0, until)
        over = {"15m": cut, "1h": resample(cut, "15m", "1h", SHARES, until=until)}
        return history(own.between(0, until), OtherSymbol(VIX, over, SHARES))

    first = int(own.time[2500])
    uncut = history(own, OtherSymbol(VIX, {"15m": read, "1h": hours}, SHARES))
    whole = signals(given, uncut, first)
    assert 0.05 < whole.mean() < 0.95
    for bar in range(2501, len(own), 611):
        until = int(own.time[bar]) + 900
        cut = signals(given, known(until), first, until)
        assert cut.tolist() == whole[: bar - 2499].tolist()
        later = signals(given, uncut, int(own.time[bar - 1]))
        assert later.tolist() == whole[bar - 2501 :].tolist()


def test_the_evidence_looks_for_later_candles_of_other_symbols(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own, read = walk(1500, 900), walk(1500, 900, seed=5)
    steps = complete(
        entryConditions={
            "positionType": "long",
            "conditions": [pair(READ, "crosses_above", {"type": "EMA", "on": VIX})],
        }
    )
    steps["basicInfo"] |= {"timeframe": "15m", "symbols": [OWN]}
    known = history(own, OtherSymbol(VIX, {"15m": read}, SHARES))
    assert look_ahead_of(evidence_on(parse(steps), [known])).changed == ()
    aligned = AlignedCandles.of_other

    def early(*arguments: Any, **more: Any) -> AlignedCandles:
        other = aligned(*arguments, **more)
        return other._replace(seen=np.minimum(other.seen + 1, len(other.candles) - 1))

    monkeypatch.setattr(AlignedCandles, "of_other", early)
    assert look_ahead_of(evidence_on(parse(steps), [known])).changed


# Results


def test_too_few_candles_of_a_read_symbol_are_named() -> None:
    own = walk(1500, 900)
    known = history(own, OtherSymbol(VIX, {"15m": own.slice(1480, 1500)}, SHARES))
    given = strategy(above({"type": "SMA", "period": 50, "on": VIX}, 1))
    with pytest.raises(InsufficientBars) as refusal:
        simulate(given, [known], start=0, end=2**40, capital=1e6)
    assert refusal.value.symbol == VIX


def test_the_receipt_names_the_candles_of_a_read_symbol_once() -> None:
    own, read = walk(1500, 900), walk(1500, 900, seed=5)
    steps = entering(above(READ, 1), positionType="long")
    steps["basicInfo"] |= {"timeframe": "15m", "symbols": [OWN, "NSE:BBB"]}
    other = OtherSymbol(VIX, {"15m": read}, SHARES)
    histories = [replace(history(own, other), symbol=symbol) for symbol in (OWN, "NSE:BBB")]
    result = simulate(parse(steps), histories, start=0, end=2**40, capital=1e6)
    series = [(series.symbol, series.timeframe) for series in result.candle_series]
    assert series == [(OWN, "15m"), ("NSE:BBB", "15m"), (VIX, "15m")]
    changed = replace(other, candles={"15m": walk(1500, 900, seed=6)})
    changed_histories = [replace(known, other_symbols=[changed]) for known in histories]
    again = simulate(parse(steps), changed_histories, start=0, end=2**40, capital=1e6)
    assert again.receipt["candles"] != result.receipt["candles"]


def test_an_explanation_tells_which_candle_was_read() -> None:
    own, read = walk(600, 900), walk(600, 900, seed=5)
    given = strategy(above(calc("add", {**READ, "offset": 2}, 1), 1))
    series = SymbolSeries.of(given, history(own, OtherSymbol(VIX, {"15m": read}, SHARES)), 0, 2**40)
    (side,) = sides_at(given, series, 555)
    whole, inner = side["conditions"][0]["operands"]
    assert (whole["name"], "candleTime" in whole) == ("(PRICE of NSE:INDIAVIX, 2 back + 1)", False)
    assert [inner["candleTime"]] == wire_times(own.time[[553]])
    assert inner["value"] == read.close[553]
    assert whole["value"] == read.close[553] + 1


# Refusals


def test_more_than_ten_other_symbols_are_refused() -> None:
    names = [f"NSE:SYM{n}" for n in range(11)]
    group = [above({"type": "PRICE", "on": name}, 1) for name in [OWN, *names, names[0]]]
    steps = entering(*group, positionType="long")
    steps["basicInfo"]["symbols"] = [OWN]
    (error,) = read_strategy(steps).errors
    assert error.message == (
        "entryConditions.conditions[11].indicator.on names more than 10 other symbols."
    )


def test_a_source_that_reads_another_symbol_has_no_timeframe() -> None:
    source = calc("divide", {"type": "PRICE"}, READ)
    steps = entering(
        above({"type": "SMA", "source": source, "timeframe": "1h"}, 1), positionType="long"
    )
    (error,) = read_strategy(steps).errors
    assert error.field == f"{FIELD}.indicator.timeframe"
    inside = {"type": "SMA", "on": VIX, "source": {"type": "RSI", "on": OWN}}
    (error,) = read_strategy(entering(above(inside, 1), positionType="long")).errors
    assert error.field == f"{FIELD}.indicator.source.on"
