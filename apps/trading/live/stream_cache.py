"""The memory of a runner about a bar stream, kept from row to row. All of it can be rebuilt."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from functools import partial
from math import prod
from sys import intern
from typing import Final, NamedTuple

import numpy as np

from apps.alerts.services import TimesByName, alert_times, close_reading
from apps.core.times import day_in_india
from apps.engine import Contract, EngineError, History
from apps.engine.candles import DAY, TIMEFRAMES, Candles, Sessions, Symbol
from apps.engine.language import parse
from apps.engine.live import (
    BarSnapshot,
    ContractTerms,
    LiveStrategy,
    SignalEvaluator,
    SignalInput,
)
from apps.market.candles import ratio_changes, read_bars
from apps.market.rulebook import RuleSet, contract_closes, underlying_of
from apps.trading.live.contract_terms import (
    ExecutionTerms,
    contract_terms_for,
    execution_terms_of,
)
from apps.trading.live.indicator_window import IndicatorWindow, build_indicator_window
from apps.trading.live.step import BarChanges, RunContext
from apps.trading.models import BarStream, Run

# With this many bars missing, no entry is made.
STALE_AFTER: Final = 3
# A window that is more bars behind its stream is rebuilt instead of following.
MAX_BARS_BEHIND: Final = 300


class StreamEvaluation(NamedTuple):
    """A row as the runs of its stream see it.

    `contexts` are the runs that can continue with it, `errors` are the reasons of the others.
    `signals` are keyed by signal key, `terms` by run.
    """

    contexts: Sequence[RunContext]
    signals: Mapping[str, SignalInput]
    terms: Mapping[str, ContractTerms]
    changes: BarChanges
    errors: dict[str, EngineError]


@dataclass(slots=True)
class BarStreamCache:
    """A stream: its market rules, its runs, and the window of its indicators.

    The window covers the segment that begins at `segment_start` and ends with `last_row`. `terms`
    are of the day; `closes` are of contracts' last sessions, as known at the poll. `calendars` are
    those of the traded symbols, `read_calendars` those of the read ones.
    """

    stream: BarStream
    rules: RuleSet
    calendars: Sequence[Sessions]
    window: IndicatorWindow | None = None
    segment_start: int | None = None
    last_row: int = 0
    contexts: dict[str, RunContext] = field(default_factory=dict)
    terms: dict[tuple[date, ExecutionTerms], ContractTerms] = field(default_factory=dict)
    closes: Mapping[str, int] | None = None
    read_calendars: Sequence[Sessions] = ()

    @classmethod
    def create(
        cls, stream: BarStream, rules: RuleSet, calendars: Mapping[str, Sessions]
    ) -> "BarStreamCache":
        """Create an empty cache with the rules; `calendars` are by symbol."""
        cache = cls(stream, rules, [])
        cache.use_rules(rules, calendars)
        return cache

    def use_rules(self, rules: RuleSet, calendars: Mapping[str, Sessions]) -> None:
        """Use these rules from now on. Contract terms include hours, so they are read again."""
        of_symbols = [calendars[symbol] for symbol in self.stream.symbols]
        self.read_calendars = [calendars[symbol] for symbol, _ in self.stream.read_series]
        if rules is not self.rules or of_symbols != self.calendars:
            self.rules, self.calendars = rules, of_symbols
            self.terms.clear()

    @property
    def is_behind(self) -> bool:
        """Return whether other runners have processed a few more rows, so that the window can catch
        up.
        """
        stream = self.stream
        if self.window is None or stream.row_time is None:
            return False
        if self.segment_start != stream.segment_start:
            return False
        if day_in_india(stream.row_time) != day_in_india(self.last_row):
            return False
        behind = stream.row_time - self.last_row
        return 0 < behind <= MAX_BARS_BEHIND * TIMEFRAMES[stream.timeframe]

    def add_row(self, row: BarSnapshot) -> None:
        """Add the row, the next after the window's last, to the window."""
        assert self.window is not None
        self.window.add(row)
        self.last_row = row.time

    def open_window(self, row: BarSnapshot) -> None:
        """Make the window of the row's day, ending with the row.

        At the first row of a day the window is rebuilt, so that bars loaded since the day before
        count for every runner.
        """
        start = self._segment_start_at(row)
        is_current = (self.segment_start, self.last_row) == (start, self.stream.row_time)
        is_of_day = day_in_india(row.time) == day_in_india(self.last_row)
        if self.window is None or not is_current or not is_of_day:
            self.window = build_indicator_window(
                self.stream,
                [*self.calendars, *self.read_calendars],
                segment_start=start,
                before=row.time,
            )
        self.segment_start = start
        self.add_row(row)

    def drop_unused(self) -> None:
        """Drop a window whose last row was not committed, because another row may be used
        instead.
        """
        if self.last_row != self.stream.row_time:
            self.window = None

    def _segment_start_at(self, row: BarSnapshot) -> int:
        start = self.stream.segment_start
        return row.time if start is None else start

    def evaluate(self, run_ids: Iterable[str], row: BarSnapshot) -> StreamEvaluation:
        """Evaluate the row, the last of the window, for these runs."""
        errors = self._load_contexts(list(run_ids))
        self._close_alerts(row)
        evaluator = self.evaluator(row)
        contexts, signals, terms, changes = [], {}, {}, self.changes_at(row)
        for run_id, context in self.contexts.items():
            try:
                terms[run_id] = self.terms_on(context, row, settles=bool(changes.expiring))
                if context.signal_key not in signals:
                    signals[context.signal_key] = evaluator.evaluate(
                        context.strategy,
                        context.live.plan,
                        terms[run_id],
                        self._alerts_of(context, row),
                    )
                contexts.append(context)
            except EngineError as error:
                errors[run_id] = error
        return StreamEvaluation(contexts, signals, terms, changes, errors)

    def _close_alerts(self, row: BarSnapshot) -> None:
        """Let no alert come any more that conditions count at the row."""
        contexts = self.contexts.values()
        owners = {context.owner_id for context in contexts if context.strategy.alert_names}
        if owners:
            close_reading(owner_ids=owners, until=row.closes)

    def _alerts_of(self, context: RunContext, row: BarSnapshot) -> Sequence[TimesByName]:
        """Return the alerts that a run's conditions may read at the row, by slot: those since the
        start of the bar before the first that counts.
        """
        assert self.window is not None
        strategy, symbols = context.strategy, self.stream.symbols
        if not strategy.alert_names:
            return [{}] * len(symbols)
        read, with_bar = context.live.lookback + 2, filter(row.has, range(len(symbols)))
        starts = [int(self.window.bars(slot).time[-read:][0]) for slot in with_bar]
        times = alert_times(
            owner_id=context.owner_id,
            names=strategy.alert_names,
            symbols=symbols,
            since=min(starts, default=row.time),
            until=row.closes,
        )
        return [times[symbol] for symbol in symbols]

    def evaluator(self, row: BarSnapshot) -> SignalEvaluator:
        """Return the evaluator of the row, the last of the window."""
        assert self.window is not None
        symbols = self.stream.symbols
        return SignalEvaluator(self.window, symbols, row, partial(underlying_before, symbols, row))

    def _load_contexts(self, run_ids: Sequence[str]) -> dict[str, EngineError]:
        """Keep only the contexts of these runs; return the errors of unreadable steps."""
        errors: dict[str, EngineError] = {}
        unknown = [run_id for run_id in run_ids if run_id not in self.contexts]
        for run in Run.objects.filter(pk__in=unknown):
            try:
                self.contexts[run.pk] = run_context_of(run)
            except EngineError as error:
                errors[run.pk] = error
        self.contexts = {key: self.contexts[key] for key in run_ids if key in self.contexts}
        return errors

    def terms_on(self, context: RunContext, row: BarSnapshot, *, settles: bool) -> ContractTerms:
        """Return the terms of the row's day.

        They are cached for the day once each symbol has a bar, because its price decides on its
        tick. If a contract `settles` with the row, its price is read again.
        """
        key = day_in_india(row.time), context.execution_terms
        if key in self.terms and not settles:
            return self.terms[key]
        first = day_in_india(self._segment_start_at(row))
        terms = contract_terms_for(context.strategy, self.stream, row, first=first)
        if all(map(row.has, range(len(self.stream.symbols)))):
            self.terms = {other: kept for other, kept in self.terms.items() if other[0] == key[0]}
            self.terms[key] = terms
        return terms

    def changes_at(self, row: BarSnapshot) -> BarChanges:
        """Return the changes between this row and the one before: splits, expiries, staleness."""
        before = self.stream.row_time
        return BarChanges(
            ratios={} if before is None else self._share_ratios(before, row),
            expiring=self._expiring(row),
            stale=is_stale(self.stream.timeframe, self.calendars, before=before, row=row),
        )

    def _share_ratios(self, before: int, row: BarSnapshot) -> dict[int, Fraction]:
        """Return the ratios of splits and bonuses on the days after the previous row."""
        day_before, day = day_in_india(before), day_in_india(row.time)
        if day_before == day:
            return {}
        changes = ratio_changes(self.stream.symbols, after=day_before, until=day)
        return {
            self.stream.symbols.index(symbol): prod(
                (change.ratio for change in ratios), start=Fraction(1)
            )
            for symbol, ratios in changes.items()
        }

    def _expiring(self, row: BarSnapshot) -> list[int]:
        """Return the contracts with their last session ending at this row, or before it."""
        return [index for index, ends in enumerate(self.ends_of_contracts()) if row.closes >= ends]

    def ends_of_contracts(self) -> list[int]:
        """Return when each symbol's last session closes (epoch seconds), or Contract.NEVER."""
        if self.closes is None:
            self.closes = contract_closes(
                dict(zip(self.stream.symbols, self.calendars, strict=True))
            )
        return [self.closes.get(symbol, Contract.NEVER) for symbol in self.stream.symbols]


def run_context_of(run: Run) -> RunContext:
    """Read the run's steps. Raises InvalidStrategy if they are no longer valid."""
    strategy = parse(run.configuration)
    live, execution_terms = LiveStrategy.of(strategy), execution_terms_of(strategy)
    signal_key = [
        run.configuration["entryConditions"],
        run.configuration["exitConditions"],
        *live.signal_settings,
        execution_terms,
        *([run.account_id] if strategy.alert_names else []),
    ]
    key = intern(json.dumps(signal_key))
    return RunContext(run, live, execution_terms, signal_key=key)


def underlying_before(
    symbols: Sequence[str], row: BarSnapshot, slot: int, timeframe: str
) -> Candles:
    """Return the last candles of an option's underlying that were complete when the row began."""
    symbol = underlying_of(Symbol.parse(symbols[slot]))
    since = row.time - History.UNDERLYING_DAYS * DAY - TIMEFRAMES[timeframe]
    return read_bars(symbol, timeframe, start=since, end=row.time)


def is_stale(
    timeframe: str, calendars: Sequence[Sessions], *, before: int | None, row: BarSnapshot
) -> bool:
    """Return whether pending entries are too old because no bar came for long.

    The time is counted within the row's session: from the end of the previous row, or from the
    opening. Before the first row of a segment nothing is pending.
    """
    length = TIMEFRAMES[timeframe]
    if before is None or length >= DAY:
        return False
    opens = [int(calendar.hours(np.array([row.day], np.int32))[0][0]) for calendar in calendars]
    since = max(min(opens), before + length)
    return row.time - since >= STALE_AFTER * length
