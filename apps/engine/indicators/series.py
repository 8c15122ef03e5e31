"""The computation of indicators: rows of the catalogue as columns over candles.

Formulas are TA-Lib's, with TA-Lib's seeding (an EMA starts from the simple mean of its first
values, MACD starts both averages together), except those of `formulas`. A value that does not exist
yet, or that would divide by zero, is NaN. No value depends on a later bar, but the last bits of
almost all depend on the first (running sums), so a separate rule decides the start of an array
(rule 11).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import talib
from numpy.typing import NDArray

from apps.engine.candles.candles import Candles
from apps.engine.indicators.catalogue import CATALOGUE
from apps.engine.indicators.formulas import OWN_FORMULAS, talib_lookback

Floats = NDArray[np.float64]
Table = NDArray[np.float64]
"""All columns of a series, f8[columns, bars]."""


class Series(NamedTuple):
    """A computation with its complete identity: equal series are computed once."""

    formula: str
    inputs: tuple[str, ...]
    arguments: tuple[tuple[str, float], ...]

    @property
    def reads_volume(self) -> bool:
        return "volume" in self.inputs


def series(type: str, output: str, source: str, parameters: Mapping[str, float]) -> Series:
    """Return the computation behind an output of a catalogue row, with every parameter given."""
    row = CATALOGUE[type]
    return Series(
        row.output(output).formula,
        tuple(source if name == "source" else name for name in row.inputs),
        tuple(
            (argument, parameters[parameter.name])
            for parameter in row.parameters
            for argument in parameter.arguments
        ),
    )


def compute_series(series: Series, candles: Candles) -> Table:
    """Return all columns of a series, NaN for unknown values, from the first bar of `candles`."""
    return mask_infinite(next(over(series, candles, [slice(None)])))


def over(series: Series, candles: Candles, parts: Iterable[slice]) -> Iterator[Table]:
    """Yield the columns of each part of `candles`, from the part's first bar, as if it were alone.

    NaN if not known yet; infinite or NaN after a division by zero.
    """
    inputs = [source(candles, name) for name in series.inputs]
    traded = candles.volume > 0 if series.reads_volume else None
    own = OWN_FORMULAS.get(series.formula)
    formula = own.compute if own else getattr(talib, series.formula)
    arguments, warmup = dict(series.arguments), series_lookback(series)
    for part in parts:
        result = formula(*[column[part] for column in inputs], **arguments)
        if isinstance(result, tuple):
            table = np.stack([_begun(column, warmup) for column in result])
        else:
            table = _begun(result, warmup)[np.newaxis]
        yield table if traded is None else _since_first(traded[part], table)


def _since_first(traded: NDArray[np.bool_], table: Table) -> Table:
    """Return the columns from the first bar with a volume on: before it volume is unknown."""
    first = int(traded.argmax()) if traded.any() else len(traded)
    return np.where(np.arange(len(traded)) < first, np.nan, table) if first else table


def _begun(column: NDArray[np.generic], warmup: int) -> Floats:
    """Return the column with NaN before the first value, where TA-Lib fills whole numbers
    with 0.
    """
    if column.dtype == np.float64:
        return column.view(np.float64)
    values = column.astype(np.float64)
    values[:warmup] = np.nan
    return values


def mask_infinite(table: Table) -> Table:
    """Return the columns with NaN in place of infinite values."""
    infinite = np.isinf(table)
    return np.where(infinite, np.nan, table) if infinite.any() else table


@lru_cache(maxsize=4096)
def series_lookback(series: Series) -> int:
    """Return the bars before the first value."""
    own = OWN_FORMULAS.get(series.formula)
    if own:
        return own.lookback(**dict(series.arguments))
    return talib_lookback(series.formula, **dict(series.arguments))


def source(candles: Candles, name: str) -> NDArray[np.generic]:
    """Return the source of a series: a column of the candles, or one made of them."""
    match name:
        case "hl2":
            return (candles.high + candles.low) / 2
        case "hlc3":
            return (candles.high + candles.low + candles.close) / 3
        case "ohlc4":
            return (candles.open + candles.high + candles.low + candles.close) / 4
        case "day":
            return candles.days
    column: Floats = getattr(candles, name)
    return column
