"""The booking of positions, marked at the last closes."""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from math import isnan

import numpy as np

from apps.core.times import moment
from apps.trading.booking.interpret import StepOutcome
from apps.trading.models import Intent, Position, queries
from apps.trading.models.money import price
from apps.trading.models.queries import execute_columns

# Rupees by run and symbol.
ByPosition = dict[tuple[str, str], Decimal]


def settle_fractions(outcomes: Sequence[StepOutcome]) -> Mapping[tuple[str, str], Position]:
    """Add the results of settled fractions to their positions.

    Return the positions keyed by run and symbol.
    """
    rows = [
        (outcome.step.run.pk, fraction.symbol, fraction.gross)
        for outcome in outcomes
        for fraction in outcome.step.fractions
    ]
    if not rows:
        return {}
    execute_columns(queries.ADD_FRACTIONS, rows)
    positions = Position.objects.open().filter(run__in=[run_id for run_id, _, _ in rows])
    return {(position.run_id, position.symbol): position for position in positions}


def book_positions(outcomes: Sequence[StepOutcome]) -> ByPosition:
    """Write the positions that are open after the steps or were closed in them.

    Return the results of fractions settled earlier, keyed by closed position.
    """
    closed = execute_columns(
        queries.CLOSE_POSITIONS, [row for outcome in outcomes for row in _closed_positions(outcome)]
    )
    Position.objects.bulk_create(
        position for outcome in outcomes for position in _brief_positions(outcome)
    )
    execute_columns(
        queries.MARK_POSITIONS, [row for outcome in outcomes for row in _held_positions(outcome)]
    )
    return {(run_id, symbol): fractions for run_id, symbol, fractions in closed}


def _closed_positions(outcome: StepOutcome) -> Iterator[tuple[object, ...]]:
    """Yield the positions from before the step that are closed."""
    for execution in outcome.executions:
        if execution.closes and execution.was_held:
            yield outcome.step.run.pk, execution.symbol, moment(execution.time), execution.price


def _brief_positions(outcome: StepOutcome) -> Iterator[Position]:
    """Yield the positions that were opened and closed again in the same bar."""
    entries = {
        execution.symbol: execution
        for execution in outcome.executions
        if execution.intent is Intent.ENTRY
    }
    exits = [
        execution
        for execution in outcome.executions
        if execution.intent is Intent.EXIT and not execution.was_held
    ]
    for execution in exits:
        if execution.closes:
            entry = entries[execution.symbol]
            quantity = sum(part.quantity for part in exits if part.symbol == execution.symbol)
            yield Position(
                run=outcome.step.run,
                symbol=execution.symbol,
                quantity=quantity if execution.side == "sell" else -quantity,
                entry_price=price(entry.price),
                mark=price(execution.price),
                opened_at=moment(entry.time),
                closed_at=moment(execution.time),
            )


def _held_positions(outcome: StepOutcome) -> Iterator[tuple[object, ...]]:
    positions, symbols = outcome.step.state.positions, outcome.step.symbols
    for index in np.flatnonzero(positions["side"]).tolist():
        position = positions[index]
        units = position["side"] * position["quantity"] * position["contract"]["multiplier"]
        yield (
            outcome.step.run.pk,
            symbols[index],
            round(float(position["side"] * position["quantity"])),
            float(position["average"]),
            float(units * (position["close"] - position["average"])),
            float(position["close"]),
            _level(position["stop"]),
            _level(position["target"]),
            moment(int(position["entry_time"])),
        )


def _level(value: float) -> float | None:
    """Return the level, or None for NaN."""
    return None if isnan(value) else float(value)
