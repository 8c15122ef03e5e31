"""What a runner finds when it looks at lanes: their runs, and the rows that these have before them.
However many lanes they are, it takes a few statements.
"""

from collections import defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple

from django.db.models import F, Q

from apps.engine.candles import TIMEFRAMES
from apps.engine.errors import EngineError
from apps.market import store
from apps.market.expiries import expiry_dates
from apps.market.intraday_buffer import SeriesKey
from apps.trading.bar_rows import (
    GIVEN_UP_AFTER,
    Outlook,
    Row,
    closed,
    nominal_end,
    silent_at,
    unpacked,
    visible_bars,
)
from apps.trading.live.stream_cache import Desk
from apps.trading.models import Lane, LaneRow, RunState

_EVER: Final = 2**62
_NOTHING: Final = Outlook([], None)


class Stand(NamedTuple):
    """Of a run: the last row that it has been through, and the market's time when it started."""

    run_id: str
    row_time: int | None
    since: int


@dataclass(slots=True)
class Visit:
    """A lane while a runner has it. `done` counts the rows that all its runs have been through,
    `faults` are runs that cannot go on with the row that is under way.
    """

    desk: Desk
    stands: Sequence[Stand]
    outlook: Outlook = _NOTHING
    done: int = 0
    faults: dict[str, EngineError] = field(default_factory=dict)

    @property
    def lane(self) -> Lane:
        return self.desk.lane

    def waits_at(self, place: int) -> bool:
        """Whether this is the place of the row that is next."""
        return place == self.done < len(self.outlook.rows)

    def runs_at(self, row: Row) -> list[str]:
        """Those that were there when the row closed."""
        return [stand.run_id for stand in self.stands if stand.since < row.closes]

    def silent_at(self, market_now: int) -> int | None:
        """When the lane's runs are given up unless a row comes."""
        lane, since = self.lane, max(stand.since for stand in self.stands)
        if lane.row_time is not None:
            since = max(since, nominal_end(lane.row_time, lane.timeframe, self.desk.calendars))
        return silent_at(lane.timeframe, self.desk.calendars, since=since, now=market_now)

    @property
    def silence(self) -> str:
        """Why they are given up then."""
        return f"no bars for {GIVEN_UP_AFTER} x {self.lane.timeframe}"


def look(desks: Sequence[Desk], *, market_now: int) -> list[Visit]:
    """The rows of each lane that are closed. One that some runs have been through already is as
    those had it.
    """
    stands = stands_on([desk.lane for desk in desks])
    visits = [Visit(desk, stands[desk.lane.pk]) for desk in desks]
    _tell_expiries(desks)
    for visit in visits:
        if all(stand.row_time is None for stand in visit.stands):
            visit.lane.began = visit.lane.row_time = None  # a stretch ends with its last run
    _catch_up(desks)
    begun = _half_done(desks)
    for visit in visits:
        if visit.lane.pk in begun:
            visit.outlook = Outlook([begun[visit.lane.pk]], market_now)
    rest = [visit for visit in visits if visit.stands and visit.lane.pk not in begun]
    _look_ahead(rest, market_now)
    return visits


def _tell_expiries(desks: Sequence[Desk]) -> None:
    """Anew at each look: a master may tell of a contract's last day when that is there."""
    known = expiry_dates(
        {
            symbol: calendar
            for desk in desks
            for symbol, calendar in zip(desk.lane.symbols, desk.calendars, strict=True)
        }
    )
    for desk in desks:
        desk.expiries = known


def stands_on(lanes: Collection[Lane]) -> Mapping[int, list[Stand]]:
    """By lane, its runs in order."""
    found: dict[int, list[Stand]] = defaultdict(list)
    states = RunState.objects.filter(lane__in=lanes).order_by("run")
    for lane_id, run_id, row_time, since in states.values_list(
        "lane_id", "run_id", "row_time", "since"
    ):
        assert lane_id is not None
        found[lane_id].append(Stand(run_id, row_time, since))
    return found


def _look_ahead(visits: Sequence[Visit], market_now: int) -> None:
    """Find the rows that are closed by the bars that have come."""
    starts = {visit.lane.pk: _first_of(visit) for visit in visits}
    bars = store.read_all_closed(_series(visits, starts), clock=market_now)
    for visit in visits:
        lane, start = visit.lane, starts[visit.lane.pk]
        series = [
            visible_bars(lane, bars[code, lane.timeframe], lane.timeframe, calendar).between(
                start, _EVER
            )
            for code, calendar in zip(lane.symbols, visit.desk.calendars, strict=True)
        ]
        outlook = closed(series, lane.timeframe, visit.desk.calendars, start=start, now=market_now)
        since = min(stand.since for stand in visit.stands)
        rows = [row for row in outlook.rows if row.closes > since]
        visit.outlook = Outlook(rows, outlook.next_look)


def _first_of(visit: Visit) -> int:
    """The first moment at which the lane's next row may begin."""
    lane = visit.lane
    if lane.row_time is not None:
        return lane.row_time + 1
    since = min(stand.since for stand in visit.stands)
    return since - TIMEFRAMES[lane.timeframe] + 1  # a bar that is not closed by then


def _series(visits: Iterable[Visit], starts: Mapping[int, int]) -> Mapping[SeriesKey, int]:
    found: dict[SeriesKey, int] = {}
    for lane in (visit.lane for visit in visits):
        for code in lane.symbols:
            known = found.get((code, lane.timeframe), _EVER)
            found[code, lane.timeframe] = min(known, starts[lane.pk])
    return found


def _half_done(desks: Iterable[Desk]) -> dict[int, Row]:
    """By lane, the row that some runs have been through, and not yet all."""
    under_way = {desk.lane.pk: desk for desk in desks if desk.lane.began is not None}
    later = Q(time__gt=F("lane__row_time")) | Q(lane__row_time=None, time__gte=F("lane__began"))
    rows = LaneRow.objects.filter(later, lane__in=list(under_way)).order_by("lane", "-time")
    return {row.lane_id: _as_used(row, under_way[row.lane_id]) for row in rows}


def _catch_up(desks: Iterable[Desk]) -> None:
    """Let windows have the rows that others have taken their lanes through."""
    behind = {desk.lane.pk: desk for desk in desks if desk.is_behind}
    if not behind:
        return
    first = min(desk.last_row for desk in behind.values())
    used = LaneRow.objects.filter(lane__in=list(behind), time__gt=first)
    for row in used.filter(time__lte=F("lane__row_time")).order_by("lane", "time"):
        desk = behind[row.lane_id]
        if row.time > desk.last_row:
            desk.follow(_as_used(row, desk))


def _as_used(row: LaneRow, desk: Desk) -> Row:
    bars = unpacked(bytes(row.bars), len(desk.lane.symbols))
    return Row(row.time, nominal_end(row.time, desk.lane.timeframe, desk.calendars), bars)
