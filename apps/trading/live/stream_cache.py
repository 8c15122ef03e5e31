"""What a runner keeps in memory of a stream from row to row. All of it can be made anew."""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from fractions import Fraction
from math import prod
from sys import intern
from typing import Final, NamedTuple

import numpy as np

from apps.engine.candles import DAY, TIMEFRAMES
from apps.engine.errors import EngineError
from apps.engine.language import strategy as engine
from apps.engine.sessions import Sessions
from apps.engine.simulation.plan import plan_of, ranges_asked, squares_off
from apps.market.contracts import expiry_dates
from apps.market.dates import day_in_india, day_number
from apps.market.history import ratio_change_of
from apps.market.models import CorporateAction
from apps.market.rulebook.rule_set import RuleSet
from apps.trading.bar_rows import BarSnapshot
from apps.trading.live.contract_terms import (
    ContractTerms,
    ExecutionTerms,
    contract_terms_for,
    execution_terms_of,
)
from apps.trading.live.indicator_window import IndicatorWindow, build_indicator_window
from apps.trading.live.signals import SignalEvaluator
from apps.trading.live.step import BarChanges, RunContext, SignalInput
from apps.trading.models import BarStream, Run

STALE_AFTER: Final = 3
"""So many bars may be missing before nothing is entered any more."""
FOLLOWED: Final = 300
"""So many bars' time after its last row a window is made anew, where it could follow the others."""


class StreamEvaluation(NamedTuple):
    """A row as runs see it: those that can go on with it, by ears what is heard, by runs the terms;
    what the row brings; and of the other runs why they cannot.
    """

    contexts: Sequence[RunContext]
    cues: Mapping[str, SignalInput]
    terms: Mapping[str, ContractTerms]
    changes: BarChanges
    faults: dict[str, EngineError]


@dataclass(slots=True)
class BarStreamCache:
    """One stream: the edition of the rulebook it goes by and its calendars, its contexts, the terms
    of the day that they deal by, the last days of contracts as they were known when the stream was
    looked at, and its window with the first and the last row of the stretch that it is of.
    """

    stream: BarStream
    rule_set: RuleSet
    calendars: Sequence[Sessions]
    window: IndicatorWindow | None = None
    stretch: int | None = None
    last_row: int = 0
    contexts: dict[str, RunContext] = field(default_factory=dict)
    terms: dict[tuple[date, ExecutionTerms], ContractTerms] = field(default_factory=dict)
    expiries: Mapping[str, date] | None = None

    @classmethod
    def of(
        cls, stream: BarStream, rule_set: RuleSet, hours: Mapping[str, Sessions]
    ) -> "BarStreamCache":
        """By the hours of its symbols."""
        return cls(stream, rule_set, [hours[symbol] for symbol in stream.symbols])

    def go_by(self, rule_set: RuleSet, hours: Mapping[str, Sessions]) -> None:
        """Another edition, or master, may have been loaded since the row before. Terms have hours
        too: both are of one kind.
        """
        calendars = [hours[symbol] for symbol in self.stream.symbols]
        if rule_set is not self.rule_set or calendars != self.calendars:
            self.rule_set, self.calendars = rule_set, calendars
            self.terms.clear()

    @property
    def is_behind(self) -> bool:
        """Whether others have taken the stream some rows further since the window's last one."""
        stream = self.stream
        if self.window is None or self.stretch != stream.segment_start or stream.row_time is None:
            return False
        if not _on_one_day(stream.row_time, self.last_row):
            return False
        return 0 < stream.row_time - self.last_row <= FOLLOWED * TIMEFRAMES[stream.timeframe]

    def follow(self, row: BarSnapshot) -> None:
        """Let the window have the row after its last one."""
        assert self.window is not None
        self.window.add(row)
        self.last_row = row.time

    def open_window(self, row: BarSnapshot) -> None:
        """Have the bars before `row`, and then it: kept from the row before, or made anew. The
        first row of a day makes all anew: what was loaded since counts from then on, whoever has
        the stream.
        """
        began = self._began(row)
        kept = (self.stretch, self.last_row) == (began, self.stream.row_time)
        if self.window is None or not kept or not _on_one_day(row.time, self.last_row):
            self.window = build_indicator_window(
                self.stream, self.calendars, began=began, before=row.time
            )
        self.stretch = began
        self.follow(row)

    def drop_unused(self) -> None:
        """A window whose last row was not used: another may be used in its place, by others."""
        if self.last_row != self.stream.row_time:
            self.window = None

    def _began(self, row: BarSnapshot) -> int:
        return self.stream.segment_start if self.stream.segment_start is not None else row.time

    def view(self, run_ids: Iterable[str], row: BarSnapshot) -> StreamEvaluation:
        """What these runs make of the row, with which the window ends."""
        faults: dict[str, EngineError] = {}
        contexts, cues, terms = [], {}, {}
        assert self.window is not None
        evaluator = SignalEvaluator(self.window, self.stream.symbols, row)
        for run_id in self._known(list(run_ids), faults):
            context = self.contexts[run_id]
            try:
                terms[run_id] = self.terms_on(context, row)
                if context.ear not in cues:
                    cues[context.ear] = evaluator.cue(context, terms[run_id])
                contexts.append(context)
            except EngineError as error:
                faults[run_id] = error
        return StreamEvaluation(contexts, cues, terms, self.changes(row), faults)

    def _known(self, run_ids: Sequence[str], faults: dict[str, EngineError]) -> Iterator[str]:
        """Those whose steps can be read; the others, and why not, are put among the faults."""
        unknown = [run_id for run_id in run_ids if run_id not in self.contexts]
        for run in Run.objects.filter(pk__in=unknown):
            try:
                self.contexts[run.pk] = run_context_of(run)
            except EngineError as error:
                faults[run.pk] = error
        self.contexts = {key: self.contexts[key] for key in run_ids if key in self.contexts}
        return iter(self.contexts)

    def terms_on(self, context: RunContext, row: BarSnapshot) -> ContractTerms:
        """Kept for the day, once each symbol has a bar by whose price its tick is known."""
        key = day_in_india(row.time), context.dealing
        if key in self.terms:
            return self.terms[key]
        first = day_in_india(self._began(row))
        terms = contract_terms_for(context.strategy, self.stream, row, first=first)
        if all(map(row.has, range(len(self.stream.symbols)))):
            self.terms = {one: kept for one, kept in self.terms.items() if one[0] == key[0]}
            self.terms[key] = terms
        return terms

    def changes(self, row: BarSnapshot) -> BarChanges:
        """What the row brings, as the stream's row before it tells."""
        before = self.stream.row_time
        return BarChanges(
            ratios=self._ratios(row) if before is not None else {},
            expiring=self._expiring(row),
            stale=is_stale(self.stream.timeframe, self.calendars, before=before, row=row),
        )

    def _ratios(self, row: BarSnapshot) -> dict[int, Fraction]:
        """Of splits and bonuses that count from this row's day on, and did not the row before."""
        assert self.stream.row_time is not None
        before, day = day_in_india(self.stream.row_time), day_in_india(row.time)
        if before == day:
            return {}
        found = CorporateAction.objects.filter(
            symbol__in=self.stream.symbols, ex_date__gt=before, ex_date__lte=day
        )
        by_symbol: dict[int, list[Fraction]] = {}
        for action in found:
            at = self.stream.symbols.index(action.symbol)
            by_symbol.setdefault(at, []).append(ratio_change_of(action).ratio)
        return {at: prod(ratios, start=Fraction(1)) for at, ratios in by_symbol.items()}

    def _expiring(self, row: BarSnapshot) -> list[int]:
        """Contracts whose last session ends with this row, or has ended before it."""
        if self.expiries is None:
            self.expiries = expiry_dates(
                dict(zip(self.stream.symbols, self.calendars, strict=True))
            )
        found, day = [], day_in_india(row.closes)
        for at, symbol in enumerate(self.stream.symbols):
            expiry = self.expiries.get(symbol)
            if expiry is not None and expiry <= day:
                last = np.array([day_number(expiry)], np.int32)
                if row.closes >= int(self.calendars[at].hours(last)[1][0]):
                    found.append(at)
        return found


def _on_one_day(time: int, other: int) -> bool:
    return day_in_india(time) == day_in_india(other)


def run_context_of(run: Run) -> RunContext:
    """Raises InvalidStrategy where the steps are valid no longer."""
    strategy = engine.parse(run.configuration)
    plan, dealing = plan_of(strategy), execution_terms_of(strategy)
    heard = [
        run.configuration["entryConditions"],
        run.configuration["exitConditions"],
        strategy.atr_periods,
        ranges_asked(plan).tolist(),
        squares_off(strategy),
        dealing,
    ]
    return RunContext(run, strategy, plan, dealing, ear=intern(json.dumps(heard)))


def is_stale(
    timeframe: str, calendars: Sequence[Sessions], *, before: int | None, row: BarSnapshot
) -> bool:
    """Whether no bar came for so long that what waits was decided too long ago.

    Counted within the row's session: from the end of the row before, or from the opening. Before
    the first row of a stretch nothing waits.
    """
    length = TIMEFRAMES[timeframe]
    if before is None or length >= DAY:
        return False
    opens = [int(calendar.hours(np.array([row.day], np.int32))[0][0]) for calendar in calendars]
    since = max(min(opens), before + length)
    return row.time - since >= STALE_AFTER * length
