"""The market: instruments and candles."""

from base64 import b64encode
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from .frames import ARROW, DataFrame, to_frame
from .records import CandleUpload, Coverage, Instrument, Json, Match
from .resource import Moment, Resource, to_text, to_wire


class Market(Resource):
    def search(self, query: str, *, exchange: str | None = None) -> list[Match]:
        """Find instruments by symbol, name, ISIN or words such as `NIFTY 24350 CE`."""
        path = "/api/symbols/search"
        answer = self._transport.call("GET", path, query={"query": query, "exchange": exchange})
        return [Match.read(match) for match in answer["results"]]

    def instrument(self, symbol: str) -> Instrument:
        return self._get(Instrument, f"/api/symbols/{symbol}")

    def coverage(self, symbol: str, *, timeframe: str | None = None) -> Coverage:
        """Return the stored history of a symbol, with `timeframe` also its quality."""
        return self._get(Coverage, "/api/market/coverage", symbol=symbol, timeframe=timeframe)

    def series(self, *, query: str | None = None) -> Iterator[Json]:
        """Yield the stored history of each symbol and timeframe."""
        return self._rows("/api/market/series", {"query": query})

    def candles(self, symbol: str, timeframe: str, **options: Any) -> DataFrame:
        """Return candles as a data frame; options are those of `candles_csv`."""
        return to_frame(self._candles(ARROW, symbol, timeframe, **options))

    def candles_csv(self, symbol: str, timeframe: str, **options: Any) -> str:
        """Return candles as CSV: between `start` and `end`, as traded with `adjusted=False`."""
        return self._candles("text/csv", symbol, timeframe, **options).decode()

    def load(self, path: str | Path, *, is_check: bool = False, **options: Any) -> CandleUpload:
        """Check a file of candles and store it, for operators.

        Options are those of the call in snake case, such as `symbol`, `timeframe` and
        `replace_sample`. The check refuses the whole file, and names the line.
        """
        file = Path(path)
        content = b64encode(file.read_bytes()).decode()
        body = {"name": file.name, "content": content, **to_wire(options)}
        checked = self._post(CandleUpload, "/api/market/candle-files", body)
        if is_check:
            return checked
        body["checked"] = checked.fingerprint
        return self._post(CandleUpload, "/api/market/candle-files", body)

    def _candles(
        self,
        accept: str,
        symbol: str,
        timeframe: str,
        *,
        start: Moment | None = None,
        end: Moment | None = None,
        adjusted: bool | None = None,
    ) -> bytes:
        query = {
            "symbol": symbol,
            "timeframe": timeframe,
            "from": to_text(start),
            "to": to_text(end),
            "adjusted": adjusted,
            "whole": True,
        }
        return self._transport.read("/api/market/candles", accept=accept, query=query)
