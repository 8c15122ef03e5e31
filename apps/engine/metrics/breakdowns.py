"""A result broken down: its trades by what they have in common, its equity by periods.

`trades` are TRADE records, `curve` CURVE records; amounts are rupees, profits net of charges. Dates
are those of Asia/Kolkata.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from math import floor, log10
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles import DAY, IST, ist_day
from apps.engine.kernel.reasons import EXIT_REASONS
from apps.engine.kernel.records import Array
from apps.engine.metrics.equity import day_ends
from apps.engine.metrics.trades import SECONDS_AN_HOUR, net_profits, ratio, trade_returns
from apps.engine.units import Unit, rounded

WEEKDAYS: Final = (
    "monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday",
)  # fmt: skip
HOURS: Final = tuple(f"{hour:02}:00" for hour in range(24))
SIDES: Final = ("short", "long")
DAYS, WEEKS, MONTHS, YEARS = "M8[D]", "M8[W]", "M8[M]", "M8[Y]"
MOST_PERIODS: Final = {DAYS: 260, WEEKS: 260, MONTHS: 600, YEARS: 600}
"""The newest that are told: a year of days, five of weeks, fifty of months."""


class Group(NamedTuple):
    """Trades that have something in common, `name`."""

    name: str
    trades: int
    won: int
    lost: int
    gross: float
    charges: float
    profit: float

    @property
    def win_rate(self) -> float | None:
        """Percent of those that won or lost."""
        share = ratio(self.won, self.won + self.lost)
        return None if share is None else share * 100

    @property
    def average(self) -> float | None:
        """Rupees a trade."""
        return ratio(self.profit, self.trades)


class Period(NamedTuple):
    """A day (`2024-01-31`), a week (by its Monday), a month (`2024-01`) or a year: the trades that
    ended in it, and the return of equity in percent, from the last close before it, or the
    capital, to its own last one.
    """

    group: Group
    percent: float


def by_symbol(trades: Array, symbols: Sequence[str]) -> list[Group]:
    return _some(_groups(trades, trades["symbol"], symbols))


def by_side(trades: Array) -> list[Group]:
    return _some(_groups(trades, (trades["side"] > 0).astype(np.int64), SIDES))


def by_exit_reason(trades: Array) -> list[Group]:
    return _some(_groups(trades, trades["reason"], EXIT_REASONS))


def by_weekday(trades: Array) -> list[Group]:
    """The weekday of the entry; 1970-01-01 was a Thursday."""
    return _some(_groups(trades, (ist_day(trades["entry_time"]) + 3) % 7, WEEKDAYS))


def by_hour(trades: Array) -> list[Group]:
    """By the hour of the entry, by the clock of India: `09:00` has entries before 10:00."""
    hour = (trades["entry_time"] + IST) % DAY // SECONDS_AN_HOUR
    return _some(_groups(trades, hour, HOURS))


class Bin(NamedTuple):
    """The trades whose return is at least `low` and less than `high`, both percent."""

    low: float
    high: float
    trades: int


def return_histogram(trades: Array, most: int = 40) -> list[Bin]:
    """Count trades by their return, in at most `most` bins of one width, which is 1, 2 or 5 times a
    power of ten. Edges are multiples of it, so no bin has winners beside losers.
    """
    if not len(trades):
        return []
    returns = trade_returns(trades) * 100
    span = float(np.ptp(returns)) or abs(float(returns[0])) or 1.0
    width = _round_width(span / (most - 2))
    index = np.floor(returns / width).astype(np.int64)
    first = int(index.min())
    counts = np.bincount(index - first).tolist()
    edges = np.round(np.arange(first, first + len(counts) + 1) * width, 10).tolist()
    return [Bin(*edge, count) for edge, count in zip(pairwise(edges), counts, strict=True)]


def _round_width(least: float) -> float:
    """Return the first of 1, 2 and 5 times a power of ten that is not less."""
    power = 10.0 ** floor(log10(least))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= least)


def by_period(trades: Array, curve: Array, capital: float, length: str) -> list[Period]:
    """Periods of this length in which the curve has a row, oldest first, MOST_PERIODS at most."""
    if not len(curve):
        return []
    ends = day_ends(curve["time"])
    each = _period_of(curve["time"][ends], length)
    periods, first = np.unique(each, return_index=True)
    last = ends[np.append(first[1:], len(ends)) - 1]
    closes = np.concatenate([[capital], curve["equity"][last]])
    before, after = closes[:-1], closes[1:]
    growth = np.divide(after, before, out=np.ones(len(last)), where=before > 0) - 1
    place = np.searchsorted(periods, _period_of(trades["exit_time"], length))
    groups = _groups(trades, place, np.datetime_as_string(periods).tolist())
    found = [Period(*one) for one in zip(groups, (growth * 100).tolist(), strict=True)]
    return found[-MOST_PERIODS[length] :]


def _period_of(time: NDArray[np.int64], length: str) -> NDArray[np.datetime64]:
    """Its first date. NumPy's own weeks begin on Thursdays, as 1970 did."""
    if length == WEEKS:
        days = ist_day(time).astype(np.int64)
        return (days - (days + 3) % 7).astype(DAYS)
    return (time + IST).astype("M8[s]").astype(length)


def _some(groups: Sequence[Group]) -> list[Group]:
    return [group for group in groups if group.trades]


def _groups(trades: Array, place: NDArray[np.integer], names: Sequence[str]) -> list[Group]:
    """One for each name, in the order of the names; `place`: that of each trade's name."""
    profit = net_profits(trades)
    counts, won, lost, gross, charges, sums = (
        np.bincount(place, weights=weights, minlength=len(names)).tolist()
        for weights in (
            None, profit > 0, profit < 0, trades["gross"], trades["charges"], profit
        )
    )  # fmt: skip
    return [
        Group(name, counts[i], int(won[i]), int(lost[i]), gross[i], charges[i], sums[i])
        for i, name in enumerate(names)
    ]


def breakdowns(
    trades: Array, curve: Array, *, symbols: Sequence[str], capital: float
) -> dict[str, list[dict[str, object]]]:
    """Every breakdown, under its names on the wire."""
    return {
        "bySymbol": [_told(group) for group in by_symbol(trades, symbols)],
        "bySide": [_told(group) for group in by_side(trades)],
        "byExitReason": [_told(group) for group in by_exit_reason(trades)],
        "byWeekday": [_told(group) for group in by_weekday(trades)],
        "byDay": _periods_told(by_period(trades, curve, capital, DAYS)),
        "byWeek": _periods_told(by_period(trades, curve, capital, WEEKS)),
        "byMonth": _periods_told(by_period(trades, curve, capital, MONTHS)),
        "byYear": _periods_told(by_period(trades, curve, capital, YEARS)),
    }


def _periods_told(periods: Sequence[Period]) -> list[dict[str, object]]:
    return [_told(group) | {"returnPercentage": percent} for group, percent in periods]


def _told(group: Group) -> dict[str, object]:
    return {
        "name": group.name,
        "trades": group.trades,
        "winningTrades": group.won,
        "losingTrades": group.lost,
        "winRate": group.win_rate,
        "grossProfit": rounded(group.gross, Unit.RUPEES),
        "charges": rounded(group.charges, Unit.RUPEES),
        "netProfit": rounded(group.profit, Unit.RUPEES),
        "averageProfit": None if group.average is None else rounded(group.average, Unit.RUPEES),
    }
