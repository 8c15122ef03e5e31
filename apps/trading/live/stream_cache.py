"""What a runner keeps in memory of a lane from row to row. All of it can be made anew."""

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
from apps.market.dates import day_in_india
from apps.market.expiries import expiry_dates
from apps.market.history import ratio_change_of
from apps.market.models import CorporateAction
from apps.market.rulebook.dates import day_number
from apps.market.rulebook.rule_set import RuleSet
from apps.trading.bar_rows import Row
from apps.trading.live.contract_terms import Dealing, Terms, dealing_of, terms_of
from apps.trading.live.indicator_window import Window, window_of
from apps.trading.live.signals import Hearing
from apps.trading.live.step import Changes, Cue, Member
from apps.trading.models import Lane, Run

STALE_AFTER: Final = 3
"""So many bars may be missing before nothing is entered any more."""
FOLLOWED: Final = 300
"""So many bars' time after its last row a window is made anew, where it could follow the others."""


class View(NamedTuple):
    """A row as runs see it: those that can go on with it, by ears what is heard, by runs the terms;
    what the row brings; and of the other runs why they cannot.
    """

    members: Sequence[Member]
    cues: Mapping[str, Cue]
    terms: Mapping[str, Terms]
    changes: Changes
    faults: dict[str, EngineError]


@dataclass(slots=True)
class Desk:
    """One lane: the edition of the rulebook it goes by and its calendars, its members, the terms
    of the day that they deal by, the last days of contracts as they were known when the lane was
    looked at, and its window with the first and the last row of the stretch that it is of.
    """

    lane: Lane
    book: RuleSet
    calendars: Sequence[Sessions]
    window: Window | None = None
    stretch: int | None = None
    last_row: int = 0
    members: dict[str, Member] = field(default_factory=dict)
    terms: dict[tuple[date, Dealing], Terms] = field(default_factory=dict)
    expiries: Mapping[str, date] | None = None

    @classmethod
    def of(cls, lane: Lane, book: RuleSet, hours: Mapping[str, Sessions]) -> "Desk":
        """By the hours of its symbols."""
        return cls(lane, book, [hours[symbol] for symbol in lane.symbols])

    def go_by(self, book: RuleSet, hours: Mapping[str, Sessions]) -> None:
        """Another edition, or master, may have been loaded since the row before. Terms have hours
        too: both are of one kind.
        """
        calendars = [hours[symbol] for symbol in self.lane.symbols]
        if book is not self.book or calendars != self.calendars:
            self.book, self.calendars = book, calendars
            self.terms.clear()

    @property
    def is_behind(self) -> bool:
        """Whether others have taken the lane some rows further since the window's last one."""
        lane = self.lane
        if self.window is None or self.stretch != lane.began or lane.row_time is None:
            return False
        if not _on_one_day(lane.row_time, self.last_row):
            return False
        return 0 < lane.row_time - self.last_row <= FOLLOWED * TIMEFRAMES[lane.timeframe]

    def follow(self, row: Row) -> None:
        """Let the window have the row after its last one."""
        assert self.window is not None
        self.window.add(row)
        self.last_row = row.time

    def open_window(self, row: Row) -> None:
        """Have the bars before `row`, and then it: kept from the row before, or made anew. The
        first row of a day makes all anew: what was loaded since counts from then on, whoever has
        the lane.
        """
        began = self._began(row)
        kept = (self.stretch, self.last_row) == (began, self.lane.row_time)
        if self.window is None or not kept or not _on_one_day(row.time, self.last_row):
            self.window = window_of(self.lane, self.calendars, began=began, before=row.time)
        self.stretch = began
        self.follow(row)

    def drop_unused(self) -> None:
        """A window whose last row was not used: another may be used in its place, by others."""
        if self.last_row != self.lane.row_time:
            self.window = None

    def _began(self, row: Row) -> int:
        return self.lane.began if self.lane.began is not None else row.time

    def view(self, run_ids: Iterable[str], row: Row) -> View:
        """What these runs make of the row, with which the window ends."""
        faults: dict[str, EngineError] = {}
        members, cues, terms = [], {}, {}
        assert self.window is not None
        hearing = Hearing(self.window, self.lane.symbols, row)
        for run_id in self._known(list(run_ids), faults):
            member = self.members[run_id]
            try:
                terms[run_id] = self.terms_on(member, row)
                if member.ear not in cues:
                    cues[member.ear] = hearing.cue(member, terms[run_id])
                members.append(member)
            except EngineError as error:
                faults[run_id] = error
        return View(members, cues, terms, self.changes(row), faults)

    def _known(self, run_ids: Sequence[str], faults: dict[str, EngineError]) -> Iterator[str]:
        """Those whose steps can be read; the others, and why not, are put among the faults."""
        unknown = [run_id for run_id in run_ids if run_id not in self.members]
        for run in Run.objects.filter(pk__in=unknown):
            try:
                self.members[run.pk] = member_of(run)
            except EngineError as error:
                faults[run.pk] = error
        self.members = {key: self.members[key] for key in run_ids if key in self.members}
        return iter(self.members)

    def terms_on(self, member: Member, row: Row) -> Terms:
        """Kept for the day, once each symbol has a bar by whose price its tick is known."""
        key = day_in_india(row.time), member.dealing
        if key in self.terms:
            return self.terms[key]
        first = day_in_india(self._began(row))
        terms = terms_of(member.strategy, self.lane, row, first=first)
        if all(map(row.has, range(len(self.lane.symbols)))):
            self.terms = {one: kept for one, kept in self.terms.items() if one[0] == key[0]}
            self.terms[key] = terms
        return terms

    def changes(self, row: Row) -> Changes:
        """What the row brings, as the lane's row before it tells."""
        before = self.lane.row_time
        return Changes(
            ratios=self._ratios(row) if before is not None else {},
            expiring=self._expiring(row),
            stale=is_stale(self.lane.timeframe, self.calendars, before=before, row=row),
        )

    def _ratios(self, row: Row) -> dict[int, Fraction]:
        """Of splits and bonuses that count from this row's day on, and did not the row before."""
        assert self.lane.row_time is not None
        before, day = day_in_india(self.lane.row_time), day_in_india(row.time)
        if before == day:
            return {}
        found = CorporateAction.objects.filter(
            symbol__in=self.lane.symbols, ex_date__gt=before, ex_date__lte=day
        )
        by_symbol: dict[int, list[Fraction]] = {}
        for action in found:
            at = self.lane.symbols.index(action.symbol)
            by_symbol.setdefault(at, []).append(ratio_change_of(action).ratio)
        return {at: prod(ratios, start=Fraction(1)) for at, ratios in by_symbol.items()}

    def _expiring(self, row: Row) -> list[int]:
        """Contracts whose last session ends with this row, or has ended before it."""
        if self.expiries is None:
            self.expiries = expiry_dates(dict(zip(self.lane.symbols, self.calendars, strict=True)))
        found, day = [], day_in_india(row.closes)
        for at, symbol in enumerate(self.lane.symbols):
            expiry = self.expiries.get(symbol)
            if expiry is not None and expiry <= day:
                last = np.array([day_number(expiry)], np.int32)
                if row.closes >= int(self.calendars[at].hours(last)[1][0]):
                    found.append(at)
        return found


def _on_one_day(time: int, other: int) -> bool:
    return day_in_india(time) == day_in_india(other)


def member_of(run: Run) -> Member:
    """Raises InvalidStrategy where the steps are valid no longer."""
    strategy = engine.parse(run.configuration)
    plan, dealing = plan_of(strategy), dealing_of(strategy)
    heard = [
        run.configuration["entryConditions"],
        run.configuration["exitConditions"],
        strategy.atr_periods,
        ranges_asked(plan).tolist(),
        squares_off(strategy),
        dealing,
    ]
    return Member(run, strategy, plan, dealing, ear=intern(json.dumps(heard)))


def is_stale(
    timeframe: str, calendars: Sequence[Sessions], *, before: int | None, row: Row
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
