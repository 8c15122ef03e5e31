"""Loading several candle files at once: their bars are gathered and stored together."""

from collections import defaultdict
from datetime import datetime
from typing import Final

from apps.engine.candles import Candles
from apps.market import services
from apps.market.candle_chunks import overlay
from apps.market.candle_writer import CandleKind, WriteCounts
from apps.market.importers import CandleImport

_GATHERED_AT_MOST: Final = 4_000_000
"""Bars in memory; fewer would have the bhavcopies of a year rewrite the same blocks each day."""


class CandleLoader:
    """Files, added one after another, then stored; of a moment that two give the later's bar stays.

    `done` is what became of the bars that were held, `twice` counts those that a later file gave
    again. With `replace` what was held of a symbol and timeframe before makes way.
    """

    def __init__(self, *, replace: bool, now: datetime) -> None:
        self.done = WriteCounts()
        self.twice = 0
        self._replace = replace
        self._now = now
        self._pieces: dict[tuple[str, CandleKind], dict[str, list[Candles]]] = {}
        self._gathered = 0
        self._replaced: set[tuple[str, str]] = set()

    def add(self, loaded: CandleImport) -> None:
        """Keep what became of the file's rows, and gather its bars."""
        services.record_file(loaded=loaded, now=self._now)
        key = loaded.timeframe, CandleKind(adjusted=loaded.report.adjusted)
        pieces = self._pieces.setdefault(key, defaultdict(list))
        for part in loaded.instruments:
            pieces[part.symbol].append(part.candles)
        self._gathered += loaded.report.bars
        if self._gathered >= _GATHERED_AT_MOST:
            self.store()

    def store(self) -> None:
        """Store what was gathered. Raises what `services.append_all` does."""
        for (timeframe, kind), pieces in self._pieces.items():
            series = {symbol: overlay(parts) for symbol, parts in pieces.items()}
            self.twice += sum(len(piece) for parts in pieces.values() for piece in parts)
            self.twice -= sum(map(len, series.values()))
            self.done += services.append_all(
                series=series,
                timeframe=timeframe,
                kind=kind,
                replace=self._to_replace(timeframe, series),
                now=self._now,
            )
        self._pieces.clear()
        self._gathered = 0

    def _to_replace(self, timeframe: str, series: dict[str, Candles]) -> list[str]:
        """Symbols of which nothing is from this load yet."""
        if not self._replace:
            return []
        fresh = [symbol for symbol in series if (timeframe, symbol) not in self._replaced]
        self._replaced |= {(timeframe, symbol) for symbol in fresh}
        return fresh
