"""Formulas over all blocks at once give TA-Lib's and NumPy's bits, whatever the blocks are."""

from itertools import pairwise

import numpy as np
import pytest

from apps.engine.candles import Candles, frozen
from apps.engine.indicators.indicator import SOURCES
from apps.engine.indicators.series import Column, Series
from apps.engine.signals import chains
from apps.engine.signals.chains import CHAINS
from apps.engine.signals.compiled import COMPILED
from apps.engine.signals.programs import Spans
from apps.engine.signals.values import IN_NUMPY, Blocks, spans_of


def walk(rng: np.random.Generator, bars: int, scale: float) -> Candles:
    """Prices are finite and above zero; some bars have no volume, and dates begin anywhere."""
    columns = scale * np.exp(np.cumsum(rng.normal(0, 0.01, (5, bars)), axis=1))
    columns[4] *= rng.random(bars) < rng.choice([0.1, 1.0])
    step = int(rng.choice([60, 900]))
    return Candles(frozen(step * np.arange(bars)), *map(frozen, columns))


def spans(rng: np.random.Generator, bars: int) -> Spans:
    """Blocks of any lengths, with any warm-up and lead, that end where the bars end."""
    count, warmup, lead = (int(rng.integers(*ends)) for ends in ((1, 15), (0, 400), (0, 40)))
    edges = np.sort(rng.choice(np.arange(1, bars), count, replace=False))
    first, stop = np.array(list(pairwise([*edges, bars]))).T
    return spans_of(Blocks(np.maximum(first - warmup, 0), first, stop, first), lead)


def ema(period: int) -> Series:
    return Series("EMA", ("close",), (("timeperiod", period),))


def any_series(rng: np.random.Generator) -> Series:
    """Of any source and any periods, short ones most often."""
    formula = str(rng.choice(list(CHAINS)))
    if formula == "SESSION_VWAP":
        return CHAINS[formula].series(formula)
    drawn = rng.choice([2, 9, 14, 21, 200, 990, int(rng.integers(2, 400))], 3, replace=False)
    fast, slow, signal = sorted(map(int, drawn))
    periods = {"timeperiod": slow}
    if formula == "MACD":
        periods = {"fastperiod": fast, "slowperiod": slow, "signalperiod": min(signal, 30)}
    return Series(formula, (str(rng.choice(SOURCES)),), tuple(periods.items()))


def assert_same_bits(series: Series, candles: Candles, blocks: Spans) -> None:
    found, wanted = (of.columns(series, candles, blocks) for of in (COMPILED, IN_NUMPY))
    assert list(map(bits, found)) == list(map(bits, wanted)), series


def bits(column: Column) -> bytes:
    """One NaN is as good as another."""
    return np.where(np.isnan(column), np.nan, column).tobytes()


def test_chains_have_the_same_bits_over_any_blocks() -> None:
    assert all(map(chains.has_same_bits, CHAINS)), "TA-Lib rounds otherwise on this machine"
    rng = np.random.default_rng(1)
    for _ in range(150):
        bars = int(rng.integers(20, 3000))
        candles = walk(rng, bars, float(rng.choice([1e-13, 1e-5, 0.3, 100, 80_000, 1e12])))
        assert_same_bits(any_series(rng), candles, spans(rng, bars))


def test_a_price_that_stays_has_no_strength() -> None:
    price = frozen(np.repeat([10.0, 11.0], 300))
    candles = Candles(frozen(np.arange(600)), price, price, price, price, price)
    for period in (2, 14, 40):
        series = Series("RSI", ("close",), (("timeperiod", period),))
        assert_same_bits(series, candles, np.array([[0, 100, 100, 600, 0]]))


@pytest.mark.slow
def test_chains_have_the_same_bits_over_millions_of_bars() -> None:
    rng = np.random.default_rng(2)
    for _ in range(200):
        candles = walk(rng, 100_000, float(rng.choice([0.05, 7, 1500, 90_000])))
        assert_same_bits(any_series(rng), candles, spans(rng, len(candles)))


def test_what_grows_beyond_numbers_is_unknown_from_there_on() -> None:
    price = frozen(np.full(60, 1.5e308))
    candles = Candles(frozen(np.arange(60)), price, price, price, price, price)
    blocks = np.array([[0, 0, 0, 30, 0], [10, 30, 30, 60, 30]])
    for formula, chain in CHAINS.items():
        if chain.inputs == ("close",):
            assert_same_bits(chain.series(formula), candles, blocks)
    for of in (COMPILED, IN_NUMPY):
        (column,) = of.columns(ema(5), candles, blocks)
        assert np.isnan(column).all()


def test_where_talib_rounds_otherwise_its_own_function_computes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Such as where it was built for processors that round a product and a sum one by one."""

    def rounded(series: Series, candles: Candles, spans: Spans) -> tuple[np.ndarray, ...]:
        (column,) = IN_NUMPY.columns(series, candles, spans)
        return (column * (1 + 1e-15),)

    chains.has_same_bits.cache_clear()
    monkeypatch.setitem(CHAINS, "EMA", CHAINS["EMA"]._replace(compute=rounded))
    assert chains.chain_of(ema(9)) is None
    chains.has_same_bits.cache_clear()
