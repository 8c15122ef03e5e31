"""Import of several candle files at once: their bars are collected and stored together."""

from collections import defaultdict
from dataclasses import asdict
from datetime import datetime
from typing import Final

from apps.engine.candles import Candles
from apps.market.candles import writing
from apps.market.candles.chunks import overlay
from apps.market.candles.price_kinds import PriceKind
from apps.market.candles.writing import CandleKind, SampleInTheWay, WriteCounts
from apps.market.importers import CandleImport
from apps.market.models import CandleFile

# Bars in memory; with fewer the bhavcopies of a year would rewrite the same chunks each day.
_BATCH: Final = 4_000_000


class CandleLoader:
    """Stores files one after another; the later file wins at a common time.

    `counts` are the written bars, `twice` counts bars that a later file repeated. With `replace`
    the stored bars of a symbol and timeframe are dropped first, with `replace_sample` those of a
    generated sample.
    """

    def __init__(self, *, replace: bool, replace_sample: bool, now: datetime) -> None:
        self.counts = WriteCounts()
        self.twice = 0
        self._replace = replace
        self._replace_sample = replace_sample
        self._samples: list[str] = []
        self._now = now
        self._pieces: dict[tuple[str, CandleKind], dict[str, list[Candles]]] = {}
        self._collected = 0
        self._replaced: set[tuple[str, str]] = set()

    def add(self, loaded: CandleImport) -> None:
        """Store the file's report, and collect its bars."""
        _record_file(loaded=loaded, now=self._now)
        for instrument in loaded.instruments:
            prices = instrument.prices
            kind = CandleKind(
                adjusted=prices is PriceKind.ADJUSTED, prices_known=prices is not None
            )
            pieces = self._pieces.setdefault((loaded.timeframe, kind), defaultdict(list))
            pieces[instrument.symbol].append(instrument.candles)
        self._collected += loaded.report.bars
        if self._collected >= _BATCH:
            self._store()

    def finish(self) -> None:
        """Store the remaining bars. Raises the errors of `writing.append_all`; SampleInTheWay names
        the samples that any file would replace.
        """
        self._store()
        if self._samples:
            raise SampleInTheWay(samples=self._samples)

    def _store(self) -> None:
        for (timeframe, kind), pieces in self._pieces.items():
            series = {symbol: overlay(candles) for symbol, candles in pieces.items()}
            self.twice += sum(len(bars) for candles in pieces.values() for bars in candles)
            self.twice -= sum(map(len, series.values()))
            try:
                self.counts += writing.append_all(
                    series=series,
                    timeframe=timeframe,
                    kind=kind,
                    replace=self._to_replace(timeframe, series),
                    replace_sample=self._replace_sample,
                    now=self._now,
                )
            except SampleInTheWay as error:
                self._samples += error.samples
        self._pieces.clear()
        self._collected = 0

    def _to_replace(self, timeframe: str, series: dict[str, Candles]) -> list[str]:
        """Return the symbols without bars stored by this import so far."""
        if not self._replace:
            return []
        fresh = [symbol for symbol in series if (timeframe, symbol) not in self._replaced]
        self._replaced |= {(timeframe, symbol) for symbol in fresh}
        return fresh


def _record_file(*, loaded: CandleImport, now: datetime) -> CandleFile:
    """Store the report of an imported file."""
    report = asdict(loaded.report)
    columns = {name: report.pop(name) for name in ("format", "rows", "bars")}
    return CandleFile.objects.create(
        file=loaded.file[-300:],
        sha256=loaded.sha256,
        timeframe=loaded.timeframe,
        instruments=len(loaded.instruments),
        report=report,
        loaded_at=now,
        **columns,
    )
