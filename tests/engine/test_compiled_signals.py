"""Compiled passes over columns find the bits that NumPy finds."""

import numpy as np

from apps.engine.signals import compiled, values


def test_crossings_are_found_as_numpy_finds_them() -> None:
    """Values of a few levels, so that they are often equal, some unknown, of many lengths."""
    rng = np.random.default_rng(1)
    for size in (0, 1, 2, 63, 64, 65, 1000):
        for _ in range(10):
            a, b = (rng.integers(0, 4, size).astype(np.float64) for _ in range(2))
            a[rng.random(size) < 0.1], b[rng.random(size) < 0.1] = np.nan, np.nan
            for up in (True, False):
                for beside in (b, 2.0):
                    found = compiled.crossed(a, beside, up)
                    assert found.tolist() == values.crossed(a, beside, up).tolist()
