"""Small results for tests of reports: trades and curves of a few rows."""

import numpy as np

from apps.engine.kernel.reasons import EXIT_REASONS
from apps.engine.kernel.records import CURVE, TRADE, Array
from tests.market.bars import at


def trade(entry: str, exit_: str, gross: float, **more: float) -> dict[str, float]:
    return {
        "entry_time": at(entry),
        "exit_time": at(exit_),
        "gross": gross,
        "side": 1,
        "value": 1000.0,
        "reason": EXIT_REASONS.index("signal"),
        "entry_price": 100.0,
        "exit_price": 101.5,
        **more,
    }


def trades(*rows: dict[str, float]) -> Array:
    records = np.zeros(len(rows), TRADE)
    for record, row in zip(records, rows, strict=True):
        for name, value in row.items():
            record[name] = value
    return records


def curve(*points: tuple[str, float]) -> Array:
    return np.array([(at(time), equity) for time, equity in points], CURVE)
