"""A result broken down: its trades by common features, its equity by periods.

`trades` are TRADE records, `curve` CURVE records; amounts are rupees, profits net of charges. Dates
are those of Asia/Kolkata.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import chain, pairwise
from math import floor, log10
from typing import Annotated, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import TypedDict

from apps.engine.candles.candles import DAY, IST, ist_day
from apps.engine.kernel.reasons import EXIT_REASONS
from apps.engine.kernel.records import Array
from apps.engine.results.equity import Curve, day_ends
from apps.engine.results.trade_figures import SECONDS_AN_HOUR, net_profits, trade_returns
from apps.engine.units import Unit, each_rounded

WEEKDAYS: Final = (
    "monday",
    "tuesday",
    "wednesday",
    "thursday",
    "friday",
    "saturday",
    "sunday",
)
HOURS: Final = tuple(f"{hour:02}:00" for hour in range(24))
SIDE_NAMES: Final = ("short", "long")
DAYS, WEEKS, MONTHS, YEARS = "M8[D]", "M8[W]", "M8[M]", "M8[Y]"
# The newest that are reported: a year of days, five of weeks, fifty of months.
MOST_PERIODS: Final = {DAYS: 260, WEEKS: 260, MONTHS: 600, YEARS: 600}


class BreakdownRow(TypedDict):
    """Trades that have something in common, `name`."""

    name: Annotated[str, Field(description="The common feature of its trades.")]
    trades: Annotated[int, Field(ge=0, description="All of them.")]
    winningTrades: Annotated[int, Field(ge=0, description="With a profit after charges.")]
    losingTrades: Annotated[int, Field(ge=0, description="With a loss after charges.")]
    winRate: Annotated[float | None, Field(description="Percent of the trades that won or lost.")]
    grossProfit: Annotated[float, Field(description="Rupees, before charges.")]
    charges: Annotated[float, Field(description="Rupees.")]
    netProfit: Annotated[float, Field(description="Rupees, after charges.")]
    averageProfit: Annotated[float | None, Field(description="Rupees of a trade, after charges.")]


class PeriodRow(BreakdownRow):
    """The trades that ended in a day (`2024-01-31`), a week (by its Monday), a month (`2024-01`) or
    a year.
    """

    returnPercentage: Annotated[
        float,
        Field(description="Of equity, from the last close before the period to its own last."),
    ]


class _Grouping(NamedTuple):
    """A partition of trades: the names of the groups, and the index of each trade's group."""

    names: Sequence[str]
    group: NDArray[Any]  # whole numbers of any kind, or truth


class Breakdowns(TypedDict):
    """Every breakdown of a result, under its name on the wire."""

    bySymbol: Sequence[BreakdownRow]
    bySide: Sequence[BreakdownRow]
    byExitReason: Sequence[BreakdownRow]
    byWeekday: Annotated[Sequence[BreakdownRow], Field(description="Of the entry.")]
    byDay: Annotated[
        Sequence[PeriodRow],
        Field(max_length=MOST_PERIODS[DAYS], description="The newest days that have bars."),
    ]
    byWeek: Annotated[
        Sequence[PeriodRow],
        Field(max_length=MOST_PERIODS[WEEKS], description="The newest weeks, by their Mondays."),
    ]
    byMonth: Annotated[
        Sequence[PeriodRow],
        Field(max_length=MOST_PERIODS[MONTHS], description="The newest months."),
    ]
    byYear: Annotated[
        Sequence[PeriodRow],
        Field(max_length=MOST_PERIODS[YEARS], description="The newest years."),
    ]


def trade_breakdowns(
    trades: Array, curve: Curve, *, symbols: Sequence[str], capital: float
) -> Breakdowns:
    """Return the trades by symbol, side, reason of exit, weekday of entry, and period.

    Periods are those with a row of the curve, oldest first, at most MOST_PERIODS.
    """
    days = _days(trades, curve)
    lengths = (DAYS, WEEKS, MONTHS, YEARS)
    periods = [_periods(days, capital, length) for length in lengths]
    by_symbol, by_side, by_reason, by_weekday, *by_period = _groups(
        trades,
        _symbols(trades, symbols),
        _sides(trades),
        _exit_reasons(trades),
        _weekdays(trades),
        *(grouping for grouping, _ in periods),
    )
    newest = [
        _newest(groups, returns, length)
        for groups, (_, returns), length in zip(by_period, periods, lengths, strict=True)
    ]
    return Breakdowns(
        bySymbol=_traded(by_symbol),
        bySide=_traded(by_side),
        byExitReason=_traded(by_reason),
        byWeekday=_traded(by_weekday),
        byDay=newest[0],
        byWeek=newest[1],
        byMonth=newest[2],
        byYear=newest[3],
    )


def by_hour(trades: Array) -> list[BreakdownRow]:
    """Return the trades by the hour of the entry, in India: `09:00` has entries before 10:00."""
    hour = (trades["entry_time"] + IST) % DAY // SECONDS_AN_HOUR
    return _traded(*_groups(trades, _Grouping(HOURS, hour)))


def _newest(
    groups: Sequence[BreakdownRow], returns: Sequence[float], length: str
) -> list[PeriodRow]:
    newest = slice(-MOST_PERIODS[length], None)
    pairs = zip(groups[newest], returns[newest], strict=True)
    return [{**group, "returnPercentage": percent} for group, percent in pairs]


def _symbols(trades: Array, symbols: Sequence[str]) -> _Grouping:
    return _Grouping(symbols, trades["symbol"])


def _sides(trades: Array) -> _Grouping:
    return _Grouping(SIDE_NAMES, trades["side"] > 0)


def _exit_reasons(trades: Array) -> _Grouping:
    return _Grouping(EXIT_REASONS, trades["reason"])


def _weekdays(trades: Array) -> _Grouping:
    """Return the weekdays; 1970-01-01 was a Thursday."""
    return _Grouping(WEEKDAYS, (ist_day(trades["entry_time"]) + 3) % 7)


class _Days(NamedTuple):
    """The dates with a row of the curve, as day numbers, with the equity at their end; and the
    index of the date of each trade's exit.
    """

    number: NDArray[np.int64]
    equity: NDArray[np.float64]
    of_exit: NDArray[np.intp]


def _days(trades: Array, curve: Curve) -> _Days:
    ends = day_ends(curve["time"])
    number = ist_day(curve["time"][ends]).astype(np.int64)
    of_exit = np.searchsorted(number, ist_day(trades["exit_time"]))
    return _Days(number, curve["equity"][ends], of_exit)


def _periods(days: _Days, capital: float, length: str) -> tuple[_Grouping, list[float]]:
    """Return the periods of this length, and the return of equity in each, in percent."""
    first_dates = _first_dates(days.number, length)
    is_last = np.append(first_dates[1:] != first_dates[:-1], True)
    period_of_day = np.cumsum(is_last) - is_last
    closes = np.concatenate([[capital], days.equity[is_last]])
    before, after = closes[:-1], closes[1:]
    growth = np.divide(after, before, out=np.ones(len(after)), where=before > 0) - 1
    names = np.datetime_as_string(first_dates[is_last]).tolist()
    return _Grouping(names, period_of_day[days.of_exit]), (growth * 100).tolist()


def _first_dates(days: NDArray[np.int64], length: str) -> NDArray[np.datetime64]:
    """Return the first date of the period of each day.

    NumPy's own weeks begin on Thursdays, as 1970 did.
    """
    if length == WEEKS:
        return (days - (days + 3) % 7).astype(DAYS)
    return days.astype(DAYS).astype(length)


def _groups(trades: Array, *groupings: _Grouping) -> list[list[BreakdownRow]]:
    """Return the groups of each grouping, in the order of their names, all summed at once.

    The groups of a trade are adjacent, because a processor adds faster to many sums in turn than to
    one repeatedly. Each sum still adds its trades in their order.
    """
    edges = np.cumsum([0, *(len(grouping.names) for grouping in groupings)])
    count = int(edges[-1])
    index = np.empty((len(trades), len(groupings)), np.intp)
    for column, grouping, begin in zip(index.T, groupings, edges, strict=False):
        np.add(grouping.group, begin, out=column)
    profit = net_profits(trades)
    outcome_index = 3 * index
    outcome_index += 1 + np.sign(profit).astype(np.intp)[:, np.newaxis]
    outcomes = np.bincount(outcome_index.ravel(), minlength=3 * count)
    lost, even, won = outcomes.reshape(count, 3).T
    total, decided = lost + even + won, lost + won
    sums: list[NDArray[np.float64]] = [
        np.asarray(np.bincount(index.ravel(), np.repeat(amounts, len(groupings)), count), float)
        for amounts in (trades["gross"], trades["charges"], profit)
    ]
    gross, charges, net = sums
    columns = (
        chain.from_iterable(grouping.names for grouping in groupings),
        total.tolist(),
        won.tolist(),
        lost.tolist(),
        _none_for_zero((won / np.maximum(decided, 1) * 100).tolist(), decided),
        each_rounded(gross, Unit.RUPEES),
        each_rounded(charges, Unit.RUPEES),
        each_rounded(net, Unit.RUPEES),
        _none_for_zero(each_rounded(net / np.maximum(total, 1), Unit.RUPEES), total),
    )
    groups: list[BreakdownRow] = [
        {
            "name": name,
            "trades": trades_of_group,
            "winningTrades": winners,
            "losingTrades": losers,
            "winRate": win_rate,
            "grossProfit": gross_profit,
            "charges": charges_of_group,
            "netProfit": net_profit,
            "averageProfit": average,
        }
        for (
            name,
            trades_of_group,
            winners,
            losers,
            win_rate,
            gross_profit,
            charges_of_group,
            net_profit,
            average,
        ) in zip(*columns, strict=True)
    ]
    return [groups[begin:end] for begin, end in pairwise(edges.tolist())]


def _none_for_zero(quotients: list[float], divisors: NDArray[np.int64]) -> list[float | None]:
    known = zip(quotients, divisors.tolist(), strict=True)
    return [quotient if divisor else None for quotient, divisor in known]


def _traded(groups: Sequence[BreakdownRow]) -> list[BreakdownRow]:
    return [group for group in groups if group["trades"]]


class Bin(NamedTuple):
    """The trades with a return of at least `low` and less than `high`, both percent."""

    low: float
    high: float
    trades: int


def return_histogram(trades: Array, most: int = 40) -> list[Bin]:
    """Count trades by their return, in at most `most` bins of equal width: 1, 2 or 5 times a power
    of ten.

    Edges are multiples of the width, so no bin mixes winners and losers.
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
