"""The computation of indicators: rows of the catalogue as columns over candles.

Formulas are TA-Lib's, with TA-Lib's seeding (an EMA starts from the simple mean of its first
values, MACD starts both averages together), except those of `formulas`. A value that does not exist
yet, or that would divide by zero, is NaN. No value depends on a later bar, but the last bits of
almost all depend on the first (running sums), so a separate rule decides the start of an array
(rule 11).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import lru_cache, reduce
from typing import Any, Final, NamedTuple, TypeAlias

import numpy as np
import talib
from numpy.typing import NDArray

from apps.engine.candles.candles import Candles
from apps.engine.indicators.catalogue import CATALOGUE
from apps.engine.indicators.formulas import OWN_FORMULAS, talib_lookback

Floats = NDArray[np.float64]
Table = NDArray[np.float64]
"""All columns of a series, f8[columns, bars]."""
_ARITHMETIC: Final[Mapping[str, np.ufunc]] = {
    "add": np.add,
    "subtract": np.subtract,
    "multiply": np.multiply,
    "divide": np.divide,
    "min": np.minimum,
    "max": np.maximum,
}


class Series(NamedTuple):
    """A computation with its complete identity: equal series are computed once.

    An input is a column of the candles, by name, or a value made of them.
    """

    formula: str
    inputs: tuple[str | ComputedValue, ...]
    arguments: tuple[tuple[str, float], ...]

    @property
    def reads_volume(self) -> bool:
        return "volume" in self.inputs


class CandleSource(NamedTuple):
    """The candles that a value is computed from: of another symbol, or of a longer timeframe. Empty
    names stand for the algorithm's own.
    """

    symbol: str = ""
    timeframe: str = ""


OWN_CANDLES: Final = CandleSource()


class Read(NamedTuple):
    """A value per bar: a column of a series, some candles back.

    With a `timeframe` or another `symbol`, it is of the last closed candle there, and `offset`
    counts those candles.
    """

    series: Series
    column: int
    offset: int
    candles: CandleSource = OWN_CANDLES


class Calculation(NamedTuple):
    """Arithmetic of values and numbers, candle by candle, from left to right."""

    operator: str
    operands: tuple[Read | Calculation | float, ...]


ComputedValue: TypeAlias = Read | Calculation
ReadOther: TypeAlias = Callable[[Read, slice], Floats]
"""Returns the values of another symbol's candles at a part of the bars."""


def own_candles_only(read: Read, part: slice) -> Floats:
    """Refuse another symbol's candles."""
    raise ValueError(f"{read.candles.symbol} is not read here.")


def reads_of(value: ComputedValue | float) -> Iterator[Read]:
    """Yield the series that a value is made of, without those inside of their sources."""
    if isinstance(value, Read):
        yield value
    elif isinstance(value, Calculation):
        for operand in value.operands:
            yield from reads_of(operand)


def series(
    type: str, output: str, source: str | ComputedValue, parameters: Mapping[str, float]
) -> Series:
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
    return mask_infinite(next(over(series, candles, [slice(0, len(candles))])))


def over(
    series: Series,
    candles: Candles,
    parts: Iterable[slice],
    read_other: ReadOther = own_candles_only,
) -> Iterator[Table]:
    """Yield the columns of each part of `candles`, from the part's first bar, as if it were alone.

    NaN if not known yet; infinite or NaN after a division by zero. `read_other` is needed where an
    input reads another symbol.
    """
    named = {name: source(candles, name) for name in series.inputs if isinstance(name, str)}
    traded = candles.volume > 0 if series.reads_volume else None
    for part in parts:
        inputs = [
            named[name][part]
            if isinstance(name, str)
            else _values_of(name, candles, part, read_other)
            for name in series.inputs
        ]
        if len(named) == len(series.inputs):
            table = _computed(series, inputs)
        else:
            table = _computed_over_runs(series, inputs)
        yield table if traded is None else _since_first(traded[part], table)


def _computed(series: Series, inputs: list[NDArray[np.generic]]) -> Table:
    own = OWN_FORMULAS.get(series.formula)
    formula = own.compute if own else getattr(talib, series.formula)
    result = formula(*inputs, **dict(series.arguments))
    warmup = series_lookback(series)
    if isinstance(result, tuple):
        return np.stack([_begun(column, warmup) for column in result])
    return _begun(result, warmup)[np.newaxis]


def _computed_over_runs(series: Series, inputs: list[NDArray[np.generic]]) -> Table:
    """Return the columns, computed anew from each first known value after unknown ones."""
    known = np.logical_and.reduce([np.isfinite(column.astype(np.float64)) for column in inputs])
    edges = np.flatnonzero(np.diff(known, prepend=False, append=False)).tolist()
    columns = len(_computed(series, [np.ones(1)] * len(inputs)))
    table = np.full((columns, len(known)), np.nan)
    for begin, end in zip(edges[::2], edges[1::2], strict=True):
        table[:, begin:end] = _computed(series, [column[begin:end] for column in inputs])
    return table


def _values_of(
    value: ComputedValue | float, candles: Candles, part: slice, read_other: ReadOther
) -> Floats:
    """Return a value at each bar of a part, computed over the part alone."""
    if isinstance(value, Calculation):
        operands = [
            operand
            if isinstance(operand, float)
            else _values_of(operand, candles, part, read_other)
            for operand in value.operands
        ]
        return calculated(value.operator, operands)
    if isinstance(value, float):
        return np.full(part.stop - part.start, value)
    if value.candles != OWN_CANDLES:
        return read_other(value, part)
    table = mask_infinite(next(over(value.series, candles, [part], read_other)))
    return shifted(table[value.column], value.offset)


def calculated(operator: str, operands: Sequence[Any]) -> Floats:
    """Return the result of a calculation; unknown where an operand is, where it divides by 0, and
    where it is infinite. Any: columns and numbers.
    """
    with np.errstate(all="ignore"):
        if operator == "abs":
            result = np.abs(operands[0])
        else:
            result = reduce(_ARITHMETIC[operator], operands)
    return np.where(np.isfinite(result), result, np.nan)


def shifted(column: Floats, bars: int) -> Floats:
    """Return the value of this many bars ago; unknown before the array starts."""
    if not bars:
        return column
    earlier = np.full(len(column), np.nan)
    earlier[bars:] = column[: max(len(column) - bars, 0)]
    return earlier


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
