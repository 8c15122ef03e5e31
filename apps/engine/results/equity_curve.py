"""The equity curve of a result, on the wire."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple

import numpy as np

from apps.engine.kernel.records import CURVE, Array
from apps.engine.results.wire_records import EquityPoint, curve_blocks, curve_points


class EquityCurve(NamedTuple):
    """CURVE records: equity at the close of each row."""

    records: Array

    @classmethod
    def joined(cls, parts: Iterable[Array]) -> EquityCurve:
        """Return the curve of parts in order."""
        return cls(np.concatenate([np.empty(0, CURVE), *parts]))

    def points(self, count: int) -> list[EquityPoint]:
        """Return at most this many buckets of rows; see `curve_points`."""
        return curve_points(self.records, count)

    def blocks(self, size: int) -> Iterator[list[EquityPoint]]:
        """Yield a point for each row, `size` at a time."""
        return curve_blocks(self.records, size)
