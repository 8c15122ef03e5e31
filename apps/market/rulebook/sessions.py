"""Trading hours by exchange, market and date: the phases of one day, and the calendar of a market
for the engine (engine rules 9 and 17).

A market is a group of instruments with the same hours. On NSE and BSE: shares with derivatives
(whose continuous trading ends in a closing auction since 2026-08-03), other shares, and
derivatives; an index keeps the hours of the shares with derivatives. On MCX and NCDEX: the group of
the commodity. The holidays of a year without a listed date are unknown: the year has hours, but
where a session must be certain it is an error (engine.MissingCalendar).
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from functools import lru_cache
from itertools import groupby
from typing import Final, Literal, NamedTuple
from zoneinfo import ZoneInfo

from apps.core.times import INDIA, day_number
from apps.engine.candles import Override, Regime, Sessions, Symbol
from apps.market.rulebook.files.rows import DayRow, Exchange, HoursRow, Market, Phase
from apps.market.rulebook.files.rule_set import RuleSet, bundled_rule_set
from apps.market.rulebook.instruments import commodity_group_of

MARKETS: Final[dict[Exchange, tuple[Market, ...]]] = {
    "NSE": ("shares_with_derivatives", "other_shares", "derivatives"),
    "BSE": ("shares_with_derivatives", "other_shares", "derivatives"),
    "MCX": ("non_agri", "agri_global", "agri"),
    "NCDEX": ("agri_global", "agri"),
}
# Commodity exchanges divide a day in two here, and may close either part.
EVENING: Final = time(17)

_NEW_YORK: Final = ZoneInfo("America/New_York")
# The last date of a row without one.
_LAST_DATE: Final = date(2050, 12, 31)

SessionKind = Literal["regular", "special", "partial", "holiday", "weekend", "unknown"]


class SessionPhase(NamedTuple):
    """A phase of a day, in the exchange's time."""

    phase: Phase
    opens: time
    closes: time


class SessionDay(NamedTuple):
    """The session of a market on one date.

    `phases` are in order; they are empty if the market is closed, if the kind is `unknown`, and for
    a `special` session at unknown hours. `rows` are the rules behind it.
    """

    kind: SessionKind
    name: str
    phases: tuple[SessionPhase, ...]
    rows: tuple[DayRow | HoursRow, ...]


def sessions_of(
    symbol: str, *, rule_set: RuleSet | None = None, has_derivatives: bool = True
) -> Sessions:
    """Return the trading calendar of a symbol.

    Raises InvalidSymbol. A share with derivatives stops trading earlier, so that is assumed if
    unknown: a position is never left to minutes in which its share may not trade.
    """
    rule_set = rule_set or bundled_rule_set()
    return market_sessions(rule_set, *market_of(rule_set, symbol, has_derivatives=has_derivatives))


def bundled_sessions(symbols: Collection[str]) -> Mapping[str, Sessions]:
    """Return calendars by the bundled rule set, for use without a database."""
    return {symbol: sessions_of(symbol) for symbol in symbols}


def market_of(rule_set: RuleSet, symbol: str, *, has_derivatives: bool) -> tuple[Exchange, Market]:
    """Return the exchange and market of a symbol."""
    known = Symbol.parse(symbol)
    exchange: Exchange = known.exchange  # type: ignore[assignment]  # the grammar knows these four
    if exchange in ("MCX", "NCDEX"):
        return exchange, commodity_group_of(rule_set, known)
    if known.type != "equity":
        return exchange, "derivatives"
    return exchange, "shares_with_derivatives" if has_derivatives else "other_shares"


def day_of(rule_set: RuleSet, exchange: Exchange, market: Market, day: date) -> SessionDay:
    """Return the session of one date."""
    hours = tuple(
        row
        for row in _hours(rule_set, exchange, market)
        if row.first_date <= day <= (row.last_date or _LAST_DATE)
    )
    rows = _listed(rule_set, exchange, market).get(day, ())
    if rows:
        return _listed_day(rows, hours, day)
    if day.weekday() >= 5:
        return SessionDay("weekend", "", (), ())
    if day.year not in known_years(rule_set, exchange, market) or not hours:
        return SessionDay("unknown", f"No calendar of {exchange} for {day.year} is loaded.", (), ())
    return SessionDay("regular", "", _phases(hours, day), hours)


def is_open(rule_set: RuleSet, exchange: Exchange, market: Market, at: datetime) -> bool:
    """Return whether the market trades continuously at a moment."""
    local = at.astimezone(INDIA)
    return any(
        phase.phase == "continuous" and phase.opens <= local.time() < phase.closes
        for phase in day_of(rule_set, exchange, market, local.date()).phases
    )


def _listed_day(rows: Sequence[DayRow], hours: Sequence[HoursRow], day: date) -> SessionDay:
    kind, name, usual = rows[0].kind, rows[0].name, _phases(hours, day)
    own = tuple(rows)
    if kind == "holiday":
        return SessionDay("holiday", name, (), own)
    if kind == "special":
        parts = [(row.opens, row.closes) for row in rows]
        phases = tuple(SessionPhase("continuous", o, c) for o, c in parts if o is not None and c)
        return SessionDay("special", name, phases, own)
    if kind == "regular":
        return SessionDay("special", name, usual, (*own, *hours))
    first, last = (EVENING, time.max) if kind == "morning_closed" else (time.min, EVENING)
    left = tuple(_cut(usual, first, last))
    return SessionDay("partial" if left else "holiday", name, left, (*own, *hours))


def _cut(phases: Iterable[SessionPhase], first: time, last: time) -> Iterator[SessionPhase]:
    for phase, opens, closes in phases:
        if max(opens, first) < min(closes, last):
            yield SessionPhase(phase, max(opens, first), min(closes, last))


def _phases(hours: Iterable[HoursRow], day: date) -> tuple[SessionPhase, ...]:
    phases = (SessionPhase(row.phase, row.opens, _close(row, day)) for row in hours)
    return tuple(sorted(phases, key=lambda phase: (phase.opens, phase.closes)))


def _close(row: HoursRow, day: date) -> time:
    winter = row.closes_us_winter
    return row.closes if winter is None or _us_daylight_saving(day) else winter


def _us_daylight_saving(day: date) -> bool:
    """Return whether New York is on daylight saving time: its clocks change on Sundays, and India's
    evening of a date is its noon.
    """
    noon = datetime.combine(day, time(17), tzinfo=UTC).astimezone(_NEW_YORK)
    return bool(noon.dst())


@lru_cache(maxsize=64)
def _hours(rule_set: RuleSet, exchange: Exchange, market: Market) -> tuple[HoursRow, ...]:
    return tuple(
        row for row in rule_set.hours if exchange in row.exchanges and market in row.markets
    )


@lru_cache(maxsize=64)
def _listed(
    rule_set: RuleSet, exchange: Exchange, market: Market
) -> dict[date, tuple[DayRow, ...]]:
    listed: dict[date, tuple[DayRow, ...]] = {}
    for row in rule_set.days:
        if exchange in row.exchanges and (not row.markets or market in row.markets):
            listed[row.day] = (*listed.get(row.day, ()), row)
    return listed


@lru_cache(maxsize=64)
def known_years(rule_set: RuleSet, exchange: Exchange, market: Market) -> frozenset[int]:
    """Return the years with at least one listed date."""
    return frozenset(day.year for day in _listed(rule_set, exchange, market))


@lru_cache(maxsize=64)
def market_sessions(rule_set: RuleSet, exchange: Exchange, market: Market) -> Sessions:
    """Return the calendar of one market: its continuous phase, and every date that differs."""
    continuous = [row for row in _hours(rule_set, exchange, market) if row.phase == "continuous"]
    return Sessions.build(
        (regime for row in continuous for regime in _regimes(row)),
        (
            _override(day_of(rule_set, exchange, market, day), day)
            for day in _listed(rule_set, exchange, market)
        ),
        years=known_years(rule_set, exchange, market),
    )


def _override(session: SessionDay, day: date) -> Override:
    """Return the single session of a date for the engine: from first opening to last close."""
    number = day_number(day)
    parts = [phase for phase in session.phases if phase.phase == "continuous"]
    if not parts:
        return Override(number, known=session.kind == "holiday")
    return Override(number, _seconds(parts[0].opens), _seconds(parts[-1].closes))


def _regimes(row: HoursRow) -> Iterator[Regime]:
    """Return one regime for each run of dates with the same close."""
    first, last, opens = row.first_date, row.last_date or _LAST_DATE, _seconds(row.opens)
    if row.closes_us_winter is None:
        yield Regime(day_number(first), day_number(last), opens, _seconds(row.closes))
        return
    dates = (first + timedelta(days=n) for n in range((last - first).days + 1))
    for closes, run in groupby(dates, key=lambda day: _close(row, day)):
        span = list(run)
        yield Regime(day_number(span[0]), day_number(span[-1]), opens, _seconds(closes))


def _seconds(clock: time) -> int:
    return clock.hour * 3600 + clock.minute * 60
