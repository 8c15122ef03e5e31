"""The conditions at one bar: the checks and values behind signals, examined separately."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Final, NotRequired

import numpy as np
from pydantic import Field
from typing_extensions import TypedDict

from apps.engine.indicators.aligned_candles import AlignedCandles
from apps.engine.indicators.catalogue import CATALOGUE
from apps.engine.indicators.indicator import Indicator, IndicatorOutput
from apps.engine.indicators.series import Calculation, CandleSource, ComputedValue, Series
from apps.engine.kernel.codes import TRAIL_LEVEL
from apps.engine.language.conditions import Condition, EntryConditions, LogicalOperator, Side
from apps.engine.language.sides import (
    AlertCheck,
    Check,
    Comparison,
    GroupCheck,
    Hours,
    Movement,
    PatternCheck,
    SessionOfMonth,
    Weekdays,
    Within,
    entry_check,
    exit_check,
    level_reads,
)
from apps.engine.language.strategy import Strategy
from apps.engine.results.wire_records import Timestamp, wire_times
from apps.engine.signals.blocks import batches_of
from apps.engine.signals.columns import BatchColumns, ColumnCache
from apps.engine.signals.required_inputs import bars_back, lookback, required_inputs
from apps.engine.signals.signals import atr_columns, confirmed, level_columns
from apps.engine.simulation.timeline import SymbolSeries

OPPOSITE: Final[Mapping[Side, Side]] = {"long": "short", "short": "long"}
_SIGNS = {1: "bullish", -1: "bearish", 0: "of either direction"}
MOST_ALERTS: Final = 20
"""The alerts of a candle that an explanation names."""
TRAILS: Final = (TRAIL_LEVEL, TRAIL_LEVEL + 1)
"""The levels that no entry needs."""
_LEVEL_PATHS: Final = {
    "stop": "exitConditions.stopLoss.price",
    "target": "exitConditions.takeProfit.price",
    "trail": "exitConditions.trailingStop.price",
}
_DEFAULT_SOURCE = "close"
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_INFIX = {"add": " + ", "subtract": " - ", "multiply": " x ", "divide": " / "}


class ExplainedOperand(TypedDict):
    """A value that a condition reads."""

    name: str
    value: Annotated[
        float | None, Field(description="The value at this candle; null if not known yet.")
    ]
    before: Annotated[float | None, Field(description="The value at the candle before.")]
    candleTime: NotRequired[
        Annotated[
            Timestamp, Field(description="The start of the candle that it reads of another symbol.")
        ]
    ]


class ExplainedCondition(TypedDict):
    """A condition, or a group of conditions, with the values that it read."""

    text: str
    holds: Annotated[bool, Field(description="Whether it is true at this candle.")]
    confirmed: Annotated[
        bool,
        Field(
            description="Whether it is true as long as confirmationCandles asks for; of exits as"
            " `holds`."
        ),
    ]
    operands: Annotated[list[ExplainedOperand], Field(description="The values that it compares.")]
    alerts: NotRequired[
        Annotated[
            list[Timestamp],
            Field(
                max_length=MOST_ALERTS,
                description="When its alerts were received in this candle, fractions of a second"
                f" rounded up: the last {MOST_ALERTS}. Only for a condition on alerts.",
            ),
        ]
    ]
    parts: Annotated[list[ExplainedCondition], Field(description="The conditions of the group.")]


class ListedCondition(ExplainedCondition):
    """A condition with its path in the algorithm."""

    condition: Annotated[str, Field(description="Its path.")]


class ExplainedStep(TypedDict):
    """The conditions of entries, or of exits."""

    logicalOperator: LogicalOperator
    signal: Annotated[bool, Field(description="Whether the conditions together are true.")]
    conditions: list[ListedCondition]


class ListedOperand(TypedDict):
    """An operand outside of conditions."""

    operand: Annotated[str, Field(description="Its path.")]
    values: Annotated[
        list[ExplainedOperand],
        Field(description="Its value, and of a calculation those of its operands."),
    ]


class ExplainedSide(ExplainedStep):
    """The conditions of entries on one side."""

    side: Side
    operands: NotRequired[
        Annotated[
            list[ListedOperand],
            Field(
                description="The operands of levels, of the size and of the ranking, as this side"
                " reads them. Only for an algorithm with such operands."
            ),
        ]
    ]


def sides_at(strategy: Strategy, symbol_series: SymbolSeries, bar: int) -> list[ExplainedSide]:
    """Return the checks of each traded side, at a bar of `symbol_series.used`."""
    sides = []
    for name in traded(strategy.entryConditions):
        side = entry_at(name, strategy, symbol_series, bar)
        if operands := _operands_of(strategy, name):
            bars = 1 + max(map(bars_back, operands.values()))
            view = _view(strategy, symbol_series, bar, bars, 1)
            side["operands"] = [
                {"operand": path, "values": view.operands(value)}
                for path, value in operands.items()
            ]
        sides.append(side)
    return sides


def _operands_of(strategy: Strategy, side: Side) -> dict[str, ComputedValue]:
    """Return the operands outside of conditions, keyed by their paths."""
    operands = {path: operand.value for path, operand in strategy.level_operands.items()}
    for level in level_reads(strategy.exitConditions, strategy.entryConditions):
        operands[_LEVEL_PATHS[level.kind]] = level.long if side == "long" else level.short
    if strategy.entryConditions.rank is not None:
        operands["entryConditions.rank.by"] = strategy.entryConditions.rank.by.value
    return operands


def signals_at(
    sides: Sequence[ExplainedSide], strategy: Strategy, symbol_series: SymbolSeries, bar: int
) -> list[Side]:
    """Return the signalled members of `sides_at`.

    If an opposite signal closes the only side, it is included when true.
    """
    matches = [part["side"] for part in sides if part["signal"]]
    closes_on_opposite = len(sides) == 1 and strategy.exits_on_opposite_signal
    if closes_on_opposite and matches:
        opposite = OPPOSITE[matches[0]]
        if entry_at(opposite, strategy, symbol_series, bar)["signal"]:
            return ["long", "short"]
    return matches


def traded(entry: EntryConditions) -> tuple[Side, ...]:
    return ("long", "short") if entry.positionType == "both" else (entry.positionType,)


def ranges_known(strategy: Strategy, symbol_series: SymbolSeries, bar: int) -> bool:
    """Return whether every average true range and every level that an entry needs is known:
    otherwise there is no entry.
    """
    inputs = required_inputs(strategy)
    levels = level_columns(inputs, symbol_series.bars, bar, bar + 1)
    needed = [level.column for level in inputs.levels if level.column not in TRAILS]
    if np.isnan(levels[:, needed]).any():
        return False
    if not any(strategy.atr_periods):
        return True
    (matches,) = atr_columns(required_inputs(strategy), symbol_series.bars, bar, bar + 1)
    return all(
        value > 0 for value, period in zip(matches, strategy.atr_periods, strict=True) if period
    )


def entry_at(
    side: Side, strategy: Strategy, symbol_series: SymbolSeries, bar: int
) -> ExplainedSide:
    """Return the checks for opening a side; for a side that is not traded, the checks of its
    opposite signal that closes.
    """
    entry = strategy.entryConditions

    def joined(conditions: tuple[Condition, ...]) -> GroupCheck:
        return entry_check(side, entry.model_copy(update={"conditions": conditions}))

    whole, parts = joined(entry.conditions), [joined((part,)) for part in entry.conditions]
    candles = max(entry.confirmationCandles, 1)
    view = _view(strategy, symbol_series, bar, lookback(whole), candles)
    step = _explained_step("entryConditions", whole, parts, view)
    return ExplainedSide(
        side=side,
        logicalOperator=step["logicalOperator"],
        signal=step["signal"],
        conditions=step["conditions"],
    )


def exits_at(
    side: Side, strategy: Strategy, symbol_series: SymbolSeries, bar: int
) -> ExplainedStep:
    """Return the exit conditions for a position of a side; they need no confirmation."""
    entry, exits = strategy.entryConditions, strategy.exitConditions

    def joined(conditions: tuple[Condition, ...]) -> GroupCheck:
        return exit_check(side, exits.model_copy(update={"conditions": conditions}), entry)

    whole, parts = joined(exits.conditions), [joined((part,)) for part in exits.conditions]
    view = _view(strategy, symbol_series, bar, lookback(whole), 1)
    return _explained_step("exitConditions", whole, parts, view)


def opposite_at(
    side: Side, strategy: Strategy, symbol_series: SymbolSeries, bar: int
) -> bool | None:
    """Return whether an opposite signal closes a position of a side; None if none ever does.

    Both sides at once mean neither (rule 12).
    """
    if not strategy.exits_on_opposite_signal:
        return None
    if not entry_at(OPPOSITE[side], strategy, symbol_series, bar)["signal"]:
        return False
    return not entry_at(side, strategy, symbol_series, bar)["signal"]


def _explained_step(
    step: str, whole: GroupCheck, parts: Sequence[GroupCheck], view: _View
) -> ExplainedStep:
    """Return the checks of a side. `parts` are single conditions; one of the other side is
    empty.
    """
    return {
        "logicalOperator": whole.operator,
        "signal": view.is_confirmed(whole),
        "conditions": [
            {"condition": f"{step}.conditions[{index}]", **view.explained(check)}
            for index, part in enumerate(parts)
            for check in part.checks
        ],
    }


def _view(
    strategy: Strategy, symbol_series: SymbolSeries, bar: int, bars: int, candles: int
) -> _View:
    timeframe = strategy.basicInfo.timeframe
    (batch,) = batches_of(symbol_series.used, timeframe, bar, bar + 1, bars + candles)
    columns = BatchColumns(symbol_series.bars, batch, ColumnCache(0))
    return _View(columns, symbol_series.aligned, bar, candles)


class _View:
    """The columns up to a bar, and the number of confirming candles."""

    def __init__(
        self,
        columns: BatchColumns,
        aligned: Mapping[CandleSource, AlignedCandles],
        bar: int,
        candles: int,
    ) -> None:
        self._columns, self._aligned, self._bar = columns, aligned, bar
        self._candles = candles

    def is_confirmed(self, check: Check) -> bool:
        return bool(confirmed(check, self._columns, self._candles)[-1])

    def explained(self, check: Check) -> ExplainedCondition:
        parts: tuple[Check, ...] = ()
        if isinstance(check, GroupCheck):
            parts = check.checks
        elif isinstance(check, Within):
            parts = (check.check,)
        condition: ExplainedCondition = {
            "text": text_of(check),
            "holds": bool(confirmed(check, self._columns, 1)[-1]),
            "confirmed": self.is_confirmed(check),
            "operands": [operand for value in _values(check) for operand in self.operands(value)],
            "parts": [self.explained(part) for part in parts],
        }
        if isinstance(check, AlertCheck):
            condition["alerts"] = wire_times(self._columns.last_alerts(check.name)[-MOST_ALERTS:])
        return condition

    def operands(self, value: ComputedValue) -> list[ExplainedOperand]:
        """Return a value, and of a calculation those of its operands."""
        return [self._operand(node) for node in _nodes(value)]

    def _operand(self, value: ComputedValue) -> ExplainedOperand:
        before, now = self._columns.read(value)[-2:].tolist()
        operand = ExplainedOperand(
            name=name_of(value), value=if_known(now), before=if_known(before)
        )
        if not isinstance(value, Calculation) and value.candles.symbol:
            aligned = self._aligned[value.candles]
            index = int(aligned.seen[self._bar]) - value.offset
            if index >= 0:
                operand["candleTime"] = wire_times(aligned.candles.time[[index]])[0]
        return operand


def if_known(value: float) -> float | None:
    return None if math.isnan(value) else value


def _values(check: Check) -> Iterator[ComputedValue]:
    """Yield the values that a check compares."""
    match check:
        case Comparison(left, _, right):
            yield left
            if not isinstance(right, float | int):
                yield right
        case Movement(value, _, _) | PatternCheck(value, _):
            yield value


def _nodes(value: ComputedValue) -> Iterator[ComputedValue]:
    """Yield a value, and each calculation before its operands."""
    yield value
    if isinstance(value, Calculation):
        for operand in value.operands:
            if not isinstance(operand, float):
                yield from _nodes(operand)


def text_of(check: Check) -> str:
    """Return a check as a part of a sentence."""
    match check:
        case GroupCheck(operator, checks):
            return "all of these" if operator == "AND" else f"any of these {len(checks)}"
        case Within(inner, candles):
            return f"{text_of(inner)}, at one of the last {candles} candles"
        case Hours(start, end):
            return f"starts from {_clock(start)} to before {_clock(end)}"
        case Weekdays(days):
            return f"is on {', '.join(_WEEKDAYS[day] for day in sorted(days))}"
        case SessionOfMonth(low, high):
            return f"is in sessions {low} to {high} of the month"
        case PatternCheck(read, sign):
            return f"{name_of(read)}, {_SIGNS[sign]}"
        case AlertCheck(name):
            return f'alert "{name}" is received'
        case Movement(value, operator, steps):
            return f"{name_of(value)} {operator} over {steps} candle{'s' if steps > 1 else ''}"
        case Comparison(left, operator, right):
            right_name = f"{right:.12g}" if isinstance(right, float | int) else name_of(right)
            return f"{name_of(left)} {operator.replace('_', ' ')} {right_name}"
    raise TypeError(f"{check!r} is no check.")


def _clock(seconds: int) -> str:
    return f"{seconds // 3600:02d}:{seconds % 3600 // 60:02d}"


def name_of(value: ComputedValue) -> str:
    """Return a name such as `EMA(9)`, `BBANDS(20, 2).upper of hl2`, `RSI(14) on 1h, 2 back`,
    `PRICE of NSE:INDIAVIX`, `(PRICE x 1.01)`.
    """
    if isinstance(value, Calculation):
        names = [
            f"{operand:.12g}" if isinstance(operand, float) else name_of(operand)
            for operand in value.operands
        ]
        infix = _INFIX.get(value.operator)
        return f"({infix.join(names)})" if infix else f"{value.operator}({', '.join(names)})"
    name = _computed(value.series, value.column)
    name += f" of {value.candles.symbol}" if value.candles.symbol else ""
    name += f" on {value.candles.timeframe}" if value.candles.timeframe else ""
    return name + (f", {value.offset} back" if value.offset else "")


def _computed(series: Series, column: int) -> str:
    matches = next(_rows(series, column), None)
    if matches is None:
        return series.formula  # a pattern has no row
    row, output = matches
    given = dict(series.arguments)
    written = (
        part.written(number)
        for part in row.parameters
        if (number := given[part.arguments[0]]) != part.default or not part.is_added
    )
    words = ", ".join(part if isinstance(part, str) else f"{part:g}" for part in written)
    name = f"{row.type}({words})" if words else row.type
    name += "" if output.name == "value" else f".{output.name}"
    source = _source(row, series)
    if not isinstance(source, str):
        return f"{name} of {name_of(source)}"
    return name if source in ("", _DEFAULT_SOURCE) else f"{name} of {source}"


def _rows(series: Series, column: int) -> Iterator[tuple[Indicator, IndicatorOutput]]:
    """Return the rows of the catalogue, with their outputs, for this computation."""
    for row in CATALOGUE.values():
        for output in row.outputs:
            if (output.formula, output.column) == (series.formula, column) and _fits(row, series):
                yield row, output


def _fits(row: Indicator, series: Series) -> bool:
    """Return whether the columns fit.

    VOLUME and PRICE share a formula; the user cannot choose a column that the row fixes.
    """
    return len(row.inputs) == len(series.inputs) and all(
        named in ("source", read) for named, read in zip(row.inputs, series.inputs, strict=True)
    )


def _source(row: Indicator, series: Series) -> str | ComputedValue:
    return series.inputs[row.inputs.index("source")] if row.has_source else ""
