"""History on the wire."""

from collections.abc import Mapping, Sequence

import numpy as np

from apps.engine.candles import Candles


def candles_out(
    symbol: str, timeframe: str, candles: Candles, *, synthetic: bool
) -> dict[str, object]:
    """Each candle as [time, open, high, low, close, volume]; `synthetic` stands only where true."""
    answer: dict[str, object] = {
        "symbol": symbol,
        "timeframe": timeframe,
        "candles": _rows(candles),
    }
    return answer | {"synthetic": True} if synthetic else answer


def coverage_out(symbol: str, held: Sequence[Mapping[str, object]]) -> dict[str, object]:
    return {"symbol": symbol, "timeframes": [dict(row) for row in held]}


def _rows(candles: Candles) -> list[tuple[object, ...]]:
    stamps = np.datetime_as_string(candles.time.astype("M8[s]"), unit="ms", timezone="UTC")
    volume = candles.volume
    whole = volume.astype(np.int64) if (volume == np.rint(volume)).all() else volume
    columns = (candles.open, candles.high, candles.low, candles.close, whole)
    return list(zip(stamps.tolist(), *(column.tolist() for column in columns), strict=True))
