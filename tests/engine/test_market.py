"""Symbols of different times, joined as one market."""

import numpy as np

from apps.engine.candles import Candles, CandleTable, ist_day
from apps.engine.candles.candles import frozen
from apps.engine.kernel.records import RANGES, Bars
from apps.engine.signals.signals import NO_RANGES
from apps.engine.simulation.market import combine_signals, join
from apps.engine.simulation.timeline import SymbolSeries, SymbolSignals

NO_FLAGS = np.empty(0, np.uint8)


def symbol_series(times: list[int], rng: np.random.Generator) -> SymbolSeries:
    price = rng.random(len(times)) + 1
    columns = dict.fromkeys(("open", "high", "low", "close", "volume"), price)
    candles = Candles.build(60 * np.array(times), **columns)
    return SymbolSeries("", candles, candles, NO_FLAGS, {})


def drawn(rng: np.random.Generator) -> list[SymbolSeries]:
    """Draw symbols with mostly the same times, some with gaps, some a minute later."""
    minutes = np.cumsum(rng.integers(1, 900, int(rng.integers(2, 60))))
    all_series = []
    for share in rng.choice([1.0, 1.0, 0.9, 0.1], int(rng.integers(1, 8))):
        own = minutes[rng.random(len(minutes)) < share] + rng.choice([0, 0, 1])
        all_series.append(symbol_series(own.tolist() or [1], rng))
    return all_series


def in_a_table(all_series: list[SymbolSeries], rng: np.random.Generator) -> list[SymbolSeries]:
    """Join the same symbols in a table, each from some bar on."""
    table, sliced = CandleTable.build(1000), []
    for original in all_series:
        used = table.add(original.candles)
        candles = used.slice(int(rng.integers(0, len(used))), len(used))
        sliced.append(original._replace(used=used, candles=candles))
    return sliced


def test_each_row_is_a_time_with_its_bars_and_signals() -> None:
    rng = np.random.default_rng(1)
    for turn in range(120):
        all_series = drawn(rng)
        if turn % 2:
            all_series = in_a_table(all_series, rng)
        heard = [rng.integers(1, 9, len(series.candles)).astype(np.uint8) for series in all_series]
        market, signals = combine_signals(
            join(all_series), [SymbolSignals(bits, NO_RANGES) for bits in heard]
        )
        times = [series.candles.time.tolist() for series in all_series]
        assert market.time.tolist() == sorted(set().union(*times))
        assert market.day.tolist() == ist_day(market.time).tolist()
        assert not market.time.flags.writeable
        for s, own in enumerate(times):
            cells = market.cells_of(s)
            has_bar = cells >= 0
            assert market.time[has_bar].tolist() == own
            assert signals[s, has_bar].tolist() == heard[s].tolist()
            assert not signals[s, ~has_bar].any()
            for name in Bars._fields:
                read = getattr(market.bars, name)[cells[has_bar]]
                assert read.tolist() == getattr(all_series[s].candles, name).tolist()


def test_a_single_symbol_is_not_copied() -> None:
    minutes = symbol_series([1, 2, 3], np.random.default_rng(1))
    market, _ = join([minutes])
    assert market.time is minutes.candles.time
    assert np.shares_memory(market.bars.close, minutes.candles.close)


def test_bars_in_one_table_are_not_copied() -> None:
    rng = np.random.default_rng(1)
    apart = [symbol_series(times, rng) for times in ([1, 2, 3], [1, 2, 3], [2, 3])]
    all_series = in_a_table(apart, rng)
    market, _ = join(all_series)
    for series in all_series:
        for name in Bars._fields:
            assert np.shares_memory(getattr(market.bars, name), getattr(series.candles, name))
        assert not series.used.volume.flags.writeable
    first, second, later = (symbol_series.used.time for symbol_series in all_series)
    assert first is second
    assert later.tolist() == [120, 180]
    for beside in (apart[0], all_series[0]):  # one lies elsewhere, or where another lies
        market, _ = join([*all_series, beside])
        assert not np.shares_memory(market.bars.open, all_series[0].candles.open)


def test_ranges_and_flags_lie_as_the_bars_do() -> None:
    rng = np.random.default_rng(1)
    apart = [
        symbol_series(times, rng)._replace(
            flags=frozen(np.full(len(times), flag, np.uint8))  # type: ignore[type-var]  # bytes, too
        )
        for flag, times in ((1, [1, 2]), (2, [2]))
    ]
    signals = [SymbolSignals(np.zeros(n, np.uint8), np.full((n, RANGES), float(n))) for n in (2, 1)]
    table = CandleTable.build(5)
    laid = [series._replace(candles=table.add(series.candles)) for series in apart]
    for all_series in apart, laid:
        market, _ = combine_signals(join(all_series), signals)
        assert market.flags.tolist() == [1, 1, 2]
        assert market.atr[:, 0].tolist() == [2, 2, 1]
