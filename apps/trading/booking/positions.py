"""What runs hold, marked at the last closes."""

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from math import isnan
from typing import Any, Final

import numpy as np
from django.db import connection

from apps.core.times import moment
from apps.trading.booking.interpret import Execution, StepOutcome
from apps.trading.models import Intent, Position
from apps.trading.money import price

CLOSE: Final = """
    UPDATE trading_position AS one
    SET closed_at = new.at, mark = round(new.mark::numeric, 4), unrealised = 0
    FROM unnest(%s::text[], %s::text[], %s::timestamptz[], %s::float8[])
        AS new (run_id, symbol, at, mark)
    WHERE one.run_id = new.run_id AND one.symbol = new.symbol AND one.closed_at IS NULL
    RETURNING one.run_id, one.symbol, one.fractions
"""
SETTLE: Final = """
    UPDATE trading_position AS one SET fractions = fractions + new.gross
    FROM unnest(%s::text[], %s::text[], %s::numeric[]) AS new (run_id, symbol, gross)
    WHERE one.run_id = new.run_id AND one.symbol = new.symbol AND one.closed_at IS NULL
"""
MARK: Final = """
    INSERT INTO trading_position AS one (
        run_id, symbol, quantity, entry_price, unrealised, mark, stop, target, opened_at
    )
    SELECT run_id, symbol, quantity, round(entry_price::numeric, 4), round(unrealised::numeric, 2),
        round(mark::numeric, 4), round(stop::numeric, 4), round(target::numeric, 4), opened_at
    FROM unnest(
        %s::text[], %s::text[], %s::bigint[], %s::float8[], %s::float8[], %s::float8[],
        %s::float8[], %s::float8[], %s::timestamptz[]
    ) AS new (run_id, symbol, quantity, entry_price, unrealised, mark, stop, target, opened_at)
    ON CONFLICT (run_id, symbol) WHERE closed_at IS NULL DO UPDATE SET
        quantity = excluded.quantity, entry_price = excluded.entry_price,
        unrealised = excluded.unrealised, mark = excluded.mark, stop = excluded.stop,
        target = excluded.target
"""
"""Each symbol has one open position in a run at most, so what is held is marked, or new."""


ByPosition = dict[tuple[str, str], Decimal]
"""Rupees by run and symbol."""


def settle_fractions(outcomes: Sequence[StepOutcome]) -> Mapping[tuple[str, str], Position]:
    """Add what fractions of shares have won or lost to their positions; returns these by run and
    symbol.
    """
    rows = [
        (outcome.step.run.pk, one.symbol, one.gross)
        for outcome in outcomes
        for one in outcome.fractions
    ]
    if not rows:
        return {}
    _run(SETTLE, rows)
    held = Position.objects.open().filter(run__in=[run_id for run_id, _, _ in rows])
    return {(one.run_id, one.symbol): one for one in held}


def book_positions(outcomes: Sequence[StepOutcome]) -> ByPosition:
    """Write what is held after the steps, and what has been closed in them. Returns what fractions
    of shares had won or lost for the positions that were closed.
    """
    closed = _run(CLOSE, [row for outcome in outcomes for row in _closed(outcome)])
    Position.objects.bulk_create(one for outcome in outcomes for one in _passed(outcome))
    _run(MARK, [row for outcome in outcomes for row in _held(outcome)])
    return {(run_id, symbol): fractions for run_id, symbol, fractions in closed}


def _run(statement: str, rows: Sequence[tuple[object, ...]]) -> list[Any]:
    """What the statement returns, if anything. Any: rows of the database."""
    if not rows:
        return []
    with connection.cursor() as cursor:
        cursor.execute(statement, [list(column) for column in zip(*rows, strict=True)])
        return cursor.fetchall() if cursor.description else []


def _closed(outcome: StepOutcome) -> Iterator[tuple[object, ...]]:
    """What was held before."""
    for one in _exits(outcome):
        if one.was_held:
            yield outcome.step.run.pk, one.symbol, moment(one.time), one.price


def _exits(outcome: StepOutcome) -> Iterator[Execution]:
    return (one for one in outcome.executions if one.intent is Intent.EXIT)


def _passed(outcome: StepOutcome) -> Iterator[Position]:
    """What was opened and closed again in the same bar."""
    entries = {one.symbol: one for one in outcome.executions if one.intent is Intent.ENTRY}
    for one in _exits(outcome):
        if not one.was_held:
            entry = entries[one.symbol]
            yield Position(
                run=outcome.step.run,
                symbol=one.symbol,
                quantity=one.quantity if one.side == "sell" else -one.quantity,
                entry_price=price(entry.price),
                mark=price(one.price),
                opened_at=moment(entry.time),
                closed_at=moment(one.time),
            )


def _held(outcome: StepOutcome) -> Iterator[tuple[object, ...]]:
    positions, symbols = outcome.step.state.positions, outcome.step.strategy.basicInfo.symbols
    for index in np.flatnonzero(positions["side"]).tolist():
        one = positions[index]
        yield (
            outcome.step.run.pk,
            symbols[index],
            round(float(one["side"] * one["quantity"])),
            float(one["average"]),
            float(one["exposure"] * (one["close"] - one["average"])),
            float(one["close"]),
            _level(one["stop"]),
            _level(one["target"]),
            moment(int(one["entry_time"])),
        )


def _level(value: Any) -> float | None:
    """None where there is none. Any: a NumPy number."""
    return None if isnan(value) else float(value)
