"""Compiled passes over columns find the bits that NumPy finds."""

import numpy as np

from apps.engine.indicators.catalogue import CATALOGUE
from apps.engine.indicators.series import over, series
from apps.engine.signals import compiled, values
from apps.engine.signals.compiled import COMPILED
from apps.engine.signals.values import IN_NUMPY, Column, Lay
from tests.benchmarks.walks import session_bars


def test_crossings_are_found_as_numpy_finds_them() -> None:
    """Values of a few levels, so that they are often equal, some unknown, of many lengths."""
    rng = np.random.default_rng(1)
    for size in (0, 1, 2, 63, 64, 65, 1000):
        for _ in range(10):
            a, b = (rng.integers(0, 4, size).astype(np.float64) for _ in range(2))
            a[rng.random(size) < 0.1], b[rng.random(size) < 0.1] = np.nan, np.nan
            for up in (True, False):
                for beside in (b, 2.0):
                    found = COMPILED.crossed(a, beside, up)
                    assert found.tolist() == IN_NUMPY.crossed(a, beside, up).tolist()


def test_what_is_infinite_is_laid_as_unknown() -> None:
    part = np.array([1.0, np.inf, np.nan, -np.inf, 2.0])

    def laid(lay: Lay) -> Column:
        column = np.zeros(8)
        lay(column, 2, part)
        lay(column, 0, part[3:])
        return column

    nan = np.nan
    wanted = [nan, 2.0, 1.0, nan, nan, nan, 2.0, 0.0]
    assert np.array_equal(laid(compiled.lay), wanted, equal_nan=True)
    assert laid(values.lay).tobytes() == laid(compiled.lay).tobytes()


def test_what_is_laid_is_of_the_kinds_that_were_compiled() -> None:
    """Contiguous, and read-only where it is a column of the candles."""
    candles = session_bars(2)
    for row in CATALOGUE.values():
        parameters = {one.name: one.default for one in row.parameters}
        one = series(row.type, row.outputs[0].name, "close", parameters)
        for part in next(over(one, candles, [slice(100, 600)])):
            assert (part.dtype, part.flags.c_contiguous) == (np.float64, True), row.type


def test_bits_are_marked_where_each_span_is_true() -> None:
    truth, spans = (
        np.arange(20) % 3 == 0,
        np.array([[0, 2, 2, 7, 1], [0, 5, 7, 7, 9], [0, 5, 7, 16, 8]]),  # wanted from bar 2 on
    )
    marked = []
    for passes in (COMPILED, IN_NUMPY):
        bits = np.full(16, 4, np.uint8)
        passes.mark(bits, 2, truth, spans)
        marked.append(bits.tolist())
    wanted = [4, 4, 6, 4, 4, 4, 4, 6, 4, 4, 6, 4, 4, 6, 4, 4]
    assert marked == [wanted, wanted]
