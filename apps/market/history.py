"""The history of one symbol in one timeframe, put together block by block from what is stored."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles import (
    TIMEFRAMES,
    Candles,
    block_id,
    block_start,
    day_start,
    ist_day,
    resample,
)
from apps.engine.sessions import Sessions
from apps.market import blocks
from apps.market.blocks import EMPTY, joined, picked
from apps.market.decoded import DecodedBlocks
from apps.market.models import CandleBlock
from apps.market.moments import midnight
from apps.market.rulebook.sessions import sessions_of

Days = NDArray[np.int32]

_WEEK: Final = TIMEFRAMES["1w"]
_decoded: Final = DecodedBlocks(capacity=256 * 1024 * 1024)


class History(Protocol):
    """Blocks of rule 11, each named by its first moment (epoch seconds), oldest first."""

    @property
    def blocks(self) -> Sequence[int]:
        """The blocks that may have bars."""

    def fetch(self, wanted: Collection[int]) -> None:
        """Bring what these blocks need into memory in one query."""

    def bars_of(self, block: int) -> Candles:
        """The bars that start in a block."""

    def count_of(self, block: int) -> int:
        """How many they are, without reading them where the catalogue knows."""


def history_of(symbol: str, timeframe: str) -> History:
    """The history as stored now."""
    sessions = sessions_of(symbol)
    if timeframe != "1w":
        return _SessionBars(timeframe, sessions, _planned(symbol, timeframe))
    days = _SessionBars("1d", sessions, _planned(symbol, "1d"))
    return _Weeks(_SessionBars("1w", sessions, _grouped("1w", _stored(symbol, ["1w"]))), days)


@dataclass(frozen=True, slots=True)
class _Stored:
    """One stored block. `days` are the days it serves, `whole` says that these are all it has.

    `known_until` is the end of the last bar its timeframe holds: a longer bar that would end later
    is not finished.
    """

    pk: int
    sha256: str
    timeframe: str
    bars: int
    days: Days
    whole: bool
    known_until: int

    def serving(self, days: Days) -> "_Stored":
        whole = len(days) == len(self.days)
        return _Stored(
            self.pk, self.sha256, self.timeframe, self.bars, days, whole, self.known_until
        )


class _SessionBars:
    """Bars of a day or less, each day from the one stored timeframe that serves it."""

    def __init__(self, timeframe: str, sessions: Sessions, parts: dict[int, list[_Stored]]) -> None:
        self.timeframe = timeframe
        self.sessions = sessions
        self._parts = parts
        self._fetched: dict[int, Candles] = {}

    @property
    def blocks(self) -> Sequence[int]:
        return sorted(self._parts)

    def fetch(self, wanted: Collection[int]) -> None:
        self._fetch([part for block in wanted for part in self._parts[block]])

    def bars_of(self, block: int) -> Candles:
        parts = self._parts.get(block, [])
        self._fetch(parts)
        return joined(self._piece(part) for part in parts)

    def count_of(self, block: int) -> int:
        parts = self._parts.get(block, [])
        if all(part.whole and part.timeframe == self.timeframe for part in parts):
            return sum(part.bars for part in parts)
        return len(self.bars_of(block))

    def days(self) -> Days:
        """Every day that has bars, in order."""
        served = [part.days for parts in self._parts.values() for part in parts]
        return np.sort(np.concatenate(served)) if served else np.empty(0, dtype=np.int32)

    def _piece(self, part: _Stored) -> Candles:
        bars = self._fetched[part.pk]
        if not part.whole:
            bars = picked(bars, np.isin(ist_day(bars.time), part.days))
        return resample(bars, part.timeframe, self.timeframe, self.sessions, until=part.known_until)

    def _fetch(self, parts: Iterable[_Stored]) -> None:
        missing = {}
        for part in parts:
            if part.pk not in self._fetched:
                held = _decoded.get(part.sha256)
                if held is None:
                    missing[part.pk] = EMPTY
                else:
                    self._fetched[part.pk] = held
        if missing:
            self._fetched |= missing | _decode(missing)


class _Weeks:
    """Weeks stored as such, and the other weeks made from their days."""

    def __init__(self, stored: _SessionBars, days: _SessionBars) -> None:
        self._stored = stored
        self._days = days

    @property
    def blocks(self) -> Sequence[int]:
        mondays = np.unique(_mondays(self._days.days()))
        from_days = np.unique(block_id(mondays, "1w")).tolist()
        return sorted({block_start(block, "1w") for block in from_days} | set(self._stored.blocks))

    def fetch(self, wanted: Collection[int]) -> None:
        self._stored.fetch([block for block in wanted if block in self._stored.blocks])

    def bars_of(self, block: int) -> Candles:
        stored, made = self._stored.bars_of(block), self._made(block)
        return joined([stored, picked(made, ~np.isin(made.time, stored.time))])

    def count_of(self, block: int) -> int:
        return len(self.bars_of(block))

    def _made(self, block: int) -> Candles:
        """Weeks whose Monday lies in the block; its last days may lie in the next."""
        after = block_start(int(block_id(np.array([block]), "1w")[0]) + 1, "1w")
        days = joined(
            self._days.bars_of(start)
            for start in self._days.blocks
            if block <= start < after + _WEEK
        )
        in_block = (_mondays(ist_day(days.time)) >= block) & (_mondays(ist_day(days.time)) < after)
        return resample(
            picked(days, in_block), "1d", "1w", self._days.sessions, until=self._known_until()
        )

    def _known_until(self) -> int:
        """The next session after the last day: a week that has no further one is finished."""
        days = self._days.days()
        if not len(days):
            return 0
        coming = days[-1] + np.arange(1, 8, dtype=np.int32)
        open_days = coming[self._days.sessions.is_session(coming)]
        return int(day_start(open_days[:1] if len(open_days) else coming[:1])[0])


def _mondays(days: Days) -> NDArray[np.int64]:
    """00:00 in Asia/Kolkata of the Monday on or before each day."""
    return day_start(days - (days + 3) % 7)  # 1970-01-01 was a Thursday


def _planned(symbol: str, timeframe: str) -> dict[int, list[_Stored]]:
    """Which stored block serves which days: those of the coarsest timeframe first."""
    sources = [name for name, seconds in TIMEFRAMES.items() if seconds <= TIMEFRAMES[timeframe]]
    stored = _stored(symbol, sources)
    served = np.empty(0, dtype=np.int32)
    chosen: list[_Stored] = []
    for source in reversed(sources):
        fresh = [
            part.serving(part.days[~np.isin(part.days, served)])
            for part in stored
            if part.timeframe == source
        ]
        chosen += [part for part in fresh if len(part.days)]
        served = np.concatenate([served, *(part.days for part in fresh)])
    return _grouped(timeframe, chosen)


def _grouped(timeframe: str, parts: Iterable[_Stored]) -> dict[int, list[_Stored]]:
    """By the block of the wanted timeframe; a finer timeframe's blocks lie each within one."""
    groups: dict[int, list[_Stored]] = defaultdict(list)
    for part in parts:
        block = int(block_id(day_start(part.days[:1]), timeframe)[0])
        groups[block_start(block, timeframe)].append(part)
    return groups


def _stored(symbol: str, timeframes: Sequence[str]) -> list[_Stored]:
    rows = list(
        CandleBlock.objects.filter(symbol=symbol, timeframe__in=timeframes).values_list(
            "pk", "sha256", "timeframe", "bars", "block_start", "days", "last_time"
        )
    )
    ends: dict[str, int] = {}
    for _, _, timeframe, _, _, _, last in rows:
        end = int(last.timestamp()) + TIMEFRAMES[timeframe]
        ends[timeframe] = max(end, ends.get(timeframe, 0))
    return [
        _Stored(
            pk,
            sha256,
            timeframe,
            bars,
            blocks.days_of(bytes(bits), midnight(first)),
            True,
            ends[timeframe],
        )
        for pk, sha256, timeframe, bars, first, bits, _ in rows
    ]


def _decode(wanted: Collection[int]) -> dict[int, Candles]:
    """The blocks that are still there: one dropped meanwhile has no bars any more."""
    found = {}
    rows = CandleBlock.objects.filter(pk__in=list(wanted)).values_list("pk", "sha256", "data")
    for pk, sha256, data in rows.iterator(chunk_size=200):
        candles = blocks.decode(bytes(data))
        _decoded.put(sha256, candles)
        found[pk] = candles
    return found
