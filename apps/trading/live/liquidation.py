"""The liquidation of stranded runs: their positions are closed at the last price.

A run is stranded when its saved state or its steps cannot be read: no row can step it, so its exits
would never come and its capital would stay reserved. When its owner stops it, or requests the close
of its positions, they are closed here, as stored in the tables.
"""

import logging
from collections.abc import Mapping
from datetime import datetime
from fractions import Fraction
from math import prod
from typing import Any, Final

import numpy as np
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet, Sum

from apps.algorithms.models import AlgorithmStatus
from apps.core import jobs
from apps.core.database import is_passing
from apps.core.times import day_in_india
from apps.engine import EngineError
from apps.engine.candles import ist_day
from apps.engine.language import Strategy, parse
from apps.engine.live import ContractTerms, LiveStrategy, State, load_state
from apps.market.candles import ratio_changes
from apps.market.services import market_time
from apps.trading.booking.interpret import STEP
from apps.trading.booking.record import book_steps
from apps.trading.booking.step_result import BarStep
from apps.trading.live.contract_terms import contract_terms_for
from apps.trading.models import (
    BarRow,
    BarStream,
    Book,
    Fill,
    Intent,
    Position,
    Posting,
    Run,
    RunState,
    SessionStart,
)
from apps.trading.runs import services
from apps.trading.runs.bar_rows import empty_row

# Statuses in which nobody can close the positions any more.
_OVER: Final = (AlgorithmStatus.STOPPED, AlgorithmStatus.ARCHIVED)
log = logging.getLogger(__name__)


def close_stranded_runs(*, now: datetime) -> int:
    """Close the positions of stranded runs whose close is wanted; return the number of runs."""
    if jobs.is_quiet():
        return 0
    closed = 0
    candidates = _candidates().filter(stream__isnull=False)
    for run_id, stream_id in list(candidates.values_list("run_id", "stream_id")):
        assert stream_id is not None
        try:
            closed += _close_if_stranded(run_id, stream_id, now=now)
        except Exception as error:
            if is_passing(error):
                raise
            log.exception("the stranded run %s cannot be closed", run_id)
    return closed


@transaction.atomic
def _close_if_stranded(run_id: str, stream_id: int, *, now: datetime) -> bool:
    # This lock waits for a runner that steps the stream, and makes later ones wait.
    BarStream.objects.locked().filter(pk=stream_id).first()
    state = _candidates().select_related("run__algorithm", "stream").filter(run=run_id).first()
    if state is None or not _is_stranded(state):
        return False
    _close(state, now=now)
    return True


def _candidates() -> QuerySet[RunState]:
    """Return the states of runs with positions to be closed."""
    held = Position.objects.open().filter(run=OuterRef("run"))
    all_wanted = Q(run__algorithm__status__in=_OVER, run__ended_at__isnull=False)
    all_wanted |= Q(run__close_requested_at__isnull=False)
    wanted = Exists(held.filter(close_requested_at__isnull=False)) | (all_wanted & Exists(held))
    return RunState.objects.filter(wanted).order_by("run")


def _is_stranded(state: RunState) -> bool:
    try:
        load_state(bytes(state.data), _symbols_of(state))
        parse(state.run.configuration)
    except EngineError:
        return True
    return False


def _symbols_of(state: RunState) -> list[str]:
    assert state.stream is not None  # a run that holds something was stepped
    return list(state.stream.symbols)


def _close(state: RunState, *, now: datetime) -> None:
    """Settle the positions at their last close, as an expiry does, and book that as a step."""
    run = state.run
    step = _closing_step(state, market_now=market_time(now))
    book_steps([step], now=now)
    log.warning("closed %d positions of the stranded run %s", len(step.trades), run.pk)
    if run.ended_at is not None and not run.positions.open().exists():
        services.release_run(run=Run.objects.select_related("account").get(pk=run.pk), now=now)


def _closing_step(state: RunState, *, market_now: int) -> BarStep:
    run, symbols = state.run, _symbols_of(state)
    assert state.stream is not None
    assert state.row_time is not None
    time = max(market_now, state.row_time + 1)
    strategy = _strategy_of(run, state.stream)
    row = empty_row(time, time, symbols=len(symbols))
    terms = contract_terms_for(strategy, state.stream, row, first=day_in_india(state.row_time))
    positions = {position.symbol: position for position in run.positions.open()}
    before = _rebuilt(state, positions, terms, time=time)
    is_over = run.close_requested_at is not None or (
        run.ended_at is not None and run.algorithm.status in _OVER
    )
    slots = [
        symbols.index(symbol)
        for symbol, position in positions.items()
        if is_over or position.close_requested_at is not None
    ]
    closed = LiveStrategy.of(strategy).close_at_last(before, terms, slots)
    return BarStep(
        run=run,
        strategy=strategy,
        contracts=terms.contracts,
        time=time,
        closes=time,
        signals=np.zeros(len(symbols), np.uint8),
        before=before,
        state=closed.state,
        fills=closed.fills,
        refusals=closed.refusals,
        trades=closed.trades,
    )


def _strategy_of(run: Run, stream: BarStream) -> Strategy:
    """Return the run's strategy, with stand-ins for steps that are no longer valid."""
    basics = {
        "strategyType": "momentum",
        "timeframe": stream.timeframe,
        "symbols": list(stream.symbols),
    }
    return Strategy.repaired(run.configuration, basicInfo=basics)


def _rebuilt(
    state: RunState, positions: Mapping[str, Position], terms: ContractTerms, *, time: int
) -> State:
    """Return a state with the run's positions from the tables: enough to close them."""
    run, symbols = state.run, _symbols_of(state)
    rebuilt = State.first(symbols, cash=float(run.capital))
    day = int(ist_day(np.array([time]))[0])
    for symbol, held in positions.items():
        slot = symbols.index(symbol)
        _fill_position(rebuilt.positions[slot], held, state, terms.units[slot])
        rebuilt.positions[slot]["time"], rebuilt.positions[slot]["day"] = time, day
        rebuilt.account["cash"] -= rebuilt.positions[slot]["locked"]
    session = SessionStart.objects.filter(run=run, day=day_in_india(time)).first()
    rebuilt.account["day_start"] = session.equity if session else state.equity
    rebuilt.account["equity"], rebuilt.account["day"] = state.equity, day
    return rebuilt


def _fill_position(record: Any, held: Position, state: RunState, terms: Any) -> None:
    record["contract"] = terms
    entries = Fill.objects.filter(
        order__run=held.run_id,
        order__symbol=held.symbol,
        order__intent__in=(Intent.ENTRY, Intent.ADD),
        at__gte=held.opened_at,
    )
    of_position = Q(entry__fill__order__run=held.run_id, entry__fill__order__symbol=held.symbol)
    locked = Posting.objects.filter(of_position | Q(entry__position=held), book=Book.LOCKED)
    opened = int(held.opened_at.timestamp())
    record["side"], record["quantity"] = (1 if held.quantity > 0 else -1), abs(held.quantity)
    record["average"] = held.entry_price
    record["close"] = held.entry_price if held.mark is None else held.mark
    record["stop"] = np.nan if held.stop is None else held.stop
    record["target"] = np.nan if held.target is None else held.target
    record["locked"] = locked.aggregate(total=Sum("amount"))["total"] or 0
    parts = Fill.objects.filter(
        order__run=held.run_id,
        order__symbol=held.symbol,
        order__reason=STEP,
        at__gte=held.opened_at,
    )
    for fill in parts:
        ratio = _shares_of_one(held.symbol, fill.at, state)
        quantity, fill_price = fill.quantity * ratio, float(fill.price) / ratio
        gross = record["side"] * quantity * terms["multiplier"]
        record["sold"] += quantity
        record["sold_value"] += quantity * fill_price
        record["sold_gross"] += gross * (fill_price - record["average"])
    record["charges"] = sum(fill.charges for fill in (*entries, *parts))
    record["entries"] = entries.count()
    record["entry_time"], record["entry_day"] = opened, ist_day(np.array([opened]))[0]
    record["bars"] = BarRow.objects.filter(stream=state.stream, time__gt=opened).count()


def _shares_of_one(symbol: str, since: datetime, state: RunState) -> float:
    """Return the shares that splits and bonuses have made of one by the last row (rule 21)."""
    assert state.row_time is not None
    after, until = day_in_india(int(since.timestamp())), day_in_india(state.row_time)
    changes = ratio_changes([symbol], after=after, until=until)
    return float(prod((change.ratio for change in changes.get(symbol, ())), start=Fraction(1)))
