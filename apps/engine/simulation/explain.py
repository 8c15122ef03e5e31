"""What conditions say at one bar: the same checks, over the same values, that make signals, looked
at one by one.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple

from apps.engine.indicators.catalogue import CATALOGUE
from apps.engine.indicators.indicator import Indicator, IndicatorOutput
from apps.engine.indicators.series import Series
from apps.engine.language.conditions import Condition, EntryConditions, Side
from apps.engine.language.sides import (
    Check,
    Comparison,
    GroupCheck,
    Hours,
    Movement,
    PatternCheck,
    Read,
    entry_check,
    exit_check,
)
from apps.engine.language.strategy import Strategy
from apps.engine.signals.blocks import batches_of
from apps.engine.signals.columns import BatchColumns, ColumnCache
from apps.engine.signals.required_inputs import lookback, required_inputs
from apps.engine.signals.signals import atr_columns, confirmed
from apps.engine.simulation.timeline import SymbolSeries

OPPOSITE: Final[Mapping[Side, Side]] = {"long": "short", "short": "long"}
_SIGNS = {1: "bullish", -1: "bearish", 0: "of either direction"}
_DEFAULT_SOURCE = "close"


class OperandValue(NamedTuple):
    """A value that a check reads at the bar, and as it was a bar before; None where unknown."""

    name: str
    value: float | None
    before: float | None


class Finding(NamedTuple):
    """One check at the bar: whether it holds there, and whether so many candles confirm it.

    `parts` are those of a group.
    """

    text: str
    holds: bool
    confirmed: bool
    operands: tuple[OperandValue, ...] = ()
    parts: tuple[Finding, ...] = ()


class SideFound(NamedTuple):
    """What speaks for opening a side, or for closing it: `signal` says whether all of it together
    does.

    `findings` are told with the place of their condition among those of the step.
    """

    side: Side
    operator: str
    signal: bool
    findings: tuple[tuple[int, Finding], ...]


def sides_at(strategy: Strategy, symbol_series: SymbolSeries, bar: int) -> list[SideFound]:
    """For each side that is traded, at a bar of `symbol_series.used`."""
    return [
        entry_at(side, strategy, symbol_series, bar) for side in traded(strategy.entryConditions)
    ]


def signals_at(
    sides: Sequence[SideFound], strategy: Strategy, symbol_series: SymbolSeries, bar: int
) -> list[Side]:
    """Which of `sides_at` are signalled. Of one side that an opposite signal closes: both, where
    that is true too.
    """
    matches = [part.side for part in sides if part.signal]
    closes_on_opposite = len(sides) == 1 and strategy.exits_on_opposite_signal
    if closes_on_opposite and matches:
        opposite = OPPOSITE[matches[0]]
        if entry_at(opposite, strategy, symbol_series, bar).signal:
            return ["long", "short"]
    return matches


def traded(entry: EntryConditions) -> tuple[Side, ...]:
    return ("long", "short") if entry.positionType == "both" else (entry.positionType,)


def ranges_known(strategy: Strategy, symbol_series: SymbolSeries, bar: int) -> bool:
    """Whether every average true range that the strategy asks for is there: without, no entry."""
    if not any(strategy.atr_periods):
        return True
    (matches,) = atr_columns(required_inputs(strategy), symbol_series.used, bar, bar + 1)
    return all(
        value > 0 for value, period in zip(matches, strategy.atr_periods, strict=True) if period
    )


def entry_at(side: Side, strategy: Strategy, symbol_series: SymbolSeries, bar: int) -> SideFound:
    """What speaks for opening a side; of the one that is not traded, what speaks against the other
    where an opposite signal closes.
    """
    entry = strategy.entryConditions

    def joined(conditions: tuple[Condition, ...]) -> GroupCheck:
        return entry_check(side, entry.model_copy(update={"conditions": conditions}))

    whole, parts = joined(entry.conditions), [joined((part,)) for part in entry.conditions]
    view = _view(strategy, symbol_series, bar, whole, max(entry.confirmationCandles, 1))
    return _side_found(side, whole, parts, view)


def exits_at(side: Side, strategy: Strategy, symbol_series: SymbolSeries, bar: int) -> SideFound:
    """What the conditions of exits say of a position of a side; nothing confirms them."""
    entry, exits = strategy.entryConditions, strategy.exitConditions

    def joined(conditions: tuple[Condition, ...]) -> GroupCheck:
        return exit_check(side, exits.model_copy(update={"conditions": conditions}), entry)

    whole, parts = joined(exits.conditions), [joined((part,)) for part in exits.conditions]
    return _side_found(side, whole, parts, _view(strategy, symbol_series, bar, whole, 1))


def opposite_at(
    side: Side, strategy: Strategy, symbol_series: SymbolSeries, bar: int
) -> bool | None:
    """Whether an opposite signal closes a position of a side; None where none ever does.

    Both sides at once are neither (rule 12).
    """
    if not strategy.exits_on_opposite_signal:
        return None
    if not entry_at(OPPOSITE[side], strategy, symbol_series, bar).signal:
        return False
    return not entry_at(side, strategy, symbol_series, bar).signal


def _side_found(
    side: Side, whole: GroupCheck, parts: Sequence[GroupCheck], view: _View
) -> SideFound:
    """`parts`: each condition alone, of which nothing is left where it is of the other side."""
    return SideFound(
        side,
        whole.operator,
        view.is_confirmed(whole),
        tuple(
            (index, view.finding(check))
            for index, part in enumerate(parts)
            for check in part.checks
        ),
    )


def _view(
    strategy: Strategy, symbol_series: SymbolSeries, bar: int, check: Check, candles: int
) -> _View:
    timeframe, bars = strategy.basicInfo.timeframe, lookback(check) + candles
    (batch,) = batches_of(symbol_series.used, timeframe, bar, bar + 1, bars)
    return _View(
        BatchColumns(symbol_series.used, batch, symbol_series.higher_timeframes, ColumnCache(0)),
        candles,
    )


class _View:
    """The columns that lead up to a bar, and how many candles confirm."""

    def __init__(self, columns: BatchColumns, candles: int) -> None:
        self._columns, self._candles = columns, candles

    def is_confirmed(self, check: Check) -> bool:
        return bool(confirmed(check, self._columns, self._candles)[-1])

    def finding(self, check: Check) -> Finding:
        parts = check.checks if isinstance(check, GroupCheck) else ()
        return Finding(
            text_of(check),
            bool(confirmed(check, self._columns, 1)[-1]),
            self.is_confirmed(check),
            tuple(self._operand(part) for part in _reads(check)),
            tuple(self.finding(part) for part in parts),
        )

    def _operand(self, read: Read) -> OperandValue:
        before, value = self._columns.read(read)[-2:].tolist()
        return OperandValue(name_of(read), _if_known(value), _if_known(before))


def _if_known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _reads(check: Check) -> tuple[Read, ...]:
    match check:
        case Comparison(left, _, right):
            return (left, right) if isinstance(right, Read) else (left,)
        case Movement(read, _, _) | PatternCheck(read, _):
            return (read,)
    return ()


def text_of(check: Check) -> str:
    """A check as a sentence would have it."""
    match check:
        case GroupCheck(operator, checks):
            return "all of these" if operator == "AND" else f"any of these {len(checks)}"
        case Hours(start, end):
            return f"starts from {_clock(start)} to before {_clock(end)}"
        case PatternCheck(read, sign):
            return f"{name_of(read)}, {_SIGNS[sign]}"
        case Movement(read, operator, steps):
            return f"{name_of(read)} {operator} over {steps} candle{'s' if steps > 1 else ''}"
        case Comparison(left, operator, right):
            right_name = name_of(right) if isinstance(right, Read) else f"{right:.12g}"
            return f"{name_of(left)} {operator.replace('_', ' ')} {right_name}"


def _clock(seconds: int) -> str:
    return f"{seconds // 3600:02d}:{seconds % 3600 // 60:02d}"


def name_of(read: Read) -> str:
    """Such as `EMA(9)`, `BBANDS(20, 2).upper of hl2`, `RSI(14) on 1h, 2 back`."""
    name = _computed(read.series, read.column)
    name += f" on {read.timeframe}" if read.timeframe else ""
    return name + (f", {read.offset} back" if read.offset else "")


def _computed(series: Series, column: int) -> str:
    matches = next(_rows(series, column), None)
    if matches is None:
        return series.formula  # a pattern, which has no row
    row, output = matches
    given = dict(series.arguments)
    written = (part.written(given[part.arguments[0]]) for part in row.parameters)
    words = ", ".join(part if isinstance(part, str) else f"{part:g}" for part in written)
    name = f"{row.type}({words})" if words else row.type
    name += f".{output.name}" if len(row.outputs) > 1 else ""
    source = _source(row, series)
    return name if source in ("", _DEFAULT_SOURCE) else f"{name} of {source}"


def _rows(series: Series, column: int) -> Iterator[tuple[Indicator, IndicatorOutput]]:
    """Rows of the catalogue, and their outputs, that are this computation."""
    for row in CATALOGUE.values():
        for output in row.outputs:
            if (output.formula, output.column) == (series.formula, column) and _fits(row, series):
                yield row, output


def _fits(row: Indicator, series: Series) -> bool:
    """VOLUME and PRICE are one formula; the column that a row names is not up to its user."""
    return len(row.inputs) == len(series.inputs) and all(
        named in ("source", read) for named, read in zip(row.inputs, series.inputs, strict=True)
    )


def _source(row: Indicator, series: Series) -> str:
    return series.inputs[row.inputs.index("source")] if row.has_source else ""
