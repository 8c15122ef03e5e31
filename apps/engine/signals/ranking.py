"""The ranking of symbols: their places at the close of each row, and the signals that it leaves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pydantic import Field
from typing_extensions import TypedDict

from apps.engine.kernel.codes import ENTER
from apps.engine.kernel.records import Ranks
from apps.engine.signals.required_inputs import RankInputs
from apps.engine.signals.signals import SignalMask

UNRANKED: Final = 0
"""The place of a symbol without a known value in a ranking row."""
NO_RANKING: Final = -1
"""The place at a bar of a row that ranks nothing."""


class RankedSymbol(TypedDict):
    """A symbol in the ranking of a candle."""

    symbol: str
    rank: Annotated[int | None, Field(description="Its place, from 1; null without a known value.")]
    value: Annotated[float | None, Field(description="The value that it is ranked by.")]


class Ranking(NamedTuple):
    """The values and places of symbols at their bars, and the last place that enters."""

    symbols: Sequence[str]
    times: Sequence[NDArray[np.int64]]
    values: Sequence[NDArray[np.float64]]
    places: Sequence[Ranks]
    top: int

    def row(self, time: int) -> list[RankedSymbol]:
        """Return the symbols with a bar of this time by their places, without places at the end;
        empty if the row does not rank.
        """
        seen = [
            (symbol, int(places[bar]), float(values[bar]))
            for symbol, values, places, bar in zip(
                self.symbols, self.values, self.places, self._bars_at(time), strict=True
            )
            if bar >= 0 and places[bar] != NO_RANKING
        ]
        seen.sort(key=lambda ranked: ranked[1] or len(seen) + 1)
        return [
            RankedSymbol(symbol=symbol, rank=rank or None, value=value if rank else None)
            for symbol, rank, value in seen
        ]

    def picks(self, index: int, time: int) -> bool:
        """Return whether an entry signal of a symbol counts at its bar of this time."""
        return bool(0 < self.places[index][self._bars_at(time)[index]] <= self.top)

    def tried_before(self, index: int, time: int, next_time: int) -> set[int]:
        """Return the symbols with entries that are tried before that of a symbol with a signal at
        `time`, in the row at `next_time`.
        """
        last = [int(np.searchsorted(times, next_time)) - 1 for times in self.times]
        ranks = [
            int(places[bar]) if bar >= 0 else 0
            for places, bar in zip(self.places, last, strict=True)
        ]
        own = int(self.places[index][self._bars_at(time)[index]]), index
        return {other for other, rank in enumerate(ranks) if (rank, other) < own}

    def _bars_at(self, time: int) -> list[int]:
        """Return the bar of each symbol, -1 without one."""
        bars = [int(np.searchsorted(times, time)) for times in self.times]
        return [
            bar if bar < len(times) and times[bar] == time else -1
            for times, bar in zip(self.times, bars, strict=True)
        ]


def places_of(
    times: Sequence[NDArray[np.int64]],
    values: Sequence[NDArray[np.float64]],
    ranking: Sequence[NDArray[np.bool_]],
    *,
    highest: bool,
) -> list[Ranks]:
    """Return the place of each symbol at each of its bars, from 1, ties by the order of symbols.

    For each symbol: the starts of its bars, its value there, and whether their rows rank.
    """
    rows = np.unique(np.concatenate([time[at] for time, at in zip(times, ranking, strict=True)]))
    table = np.full((len(values), len(rows)), np.nan)
    columns = [np.searchsorted(rows, time[at]) for time, at in zip(times, ranking, strict=True)]
    for own, column, value, at in zip(table, columns, values, ranking, strict=True):
        own[column] = -value[at] if highest else value[at]
    order = np.argsort(table, axis=0, kind="stable")  # NaN last
    ranks = np.empty(table.shape, np.int16)
    first = np.arange(1, len(values) + 1, dtype=np.int16)[:, np.newaxis]
    np.put_along_axis(ranks, order, first, axis=0)
    ranks[np.isnan(table)] = UNRANKED
    places = [np.full(len(time), NO_RANKING, np.int16) for time in times]
    for own, of_symbol, column, at in zip(places, ranks, columns, ranking, strict=True):
        own[at] = of_symbol[column]
    return places


def apply_ranking(rank: RankInputs, places: Ranks, signals: SignalMask) -> None:
    """Clear the entries of a symbol in other rows and at places beyond the top, and set the exits
    beyond those kept.
    """
    signals[(places < 1) | (places > rank.top)] &= 0xFF ^ ENTER
    if rank.close:
        signals[(places == UNRANKED) | (places > rank.keep)] |= rank.close
