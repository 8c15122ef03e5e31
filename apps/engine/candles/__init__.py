"""Candles: bars of a symbol, their sessions, and the names of symbols.

Other apps import only these names.
"""

from apps.engine.candles.candles import (
    DAY,
    IST,
    TIMEFRAME_SECONDS,
    TIMEFRAMES,
    WARMUP_BARS,
    Candles,
    CandleTable,
    block_id,
    block_start,
    day_start,
    ist_day,
    start_of_block,
)
from apps.engine.candles.resampling import bar_ends, buckets, resample
from apps.engine.candles.sessions import Override, Regime, Sessions, in_session
from apps.engine.candles.symbols import InvalidSymbol, Symbol

__all__ = [
    "DAY",
    "IST",
    "TIMEFRAMES",
    "TIMEFRAME_SECONDS",
    "WARMUP_BARS",
    "CandleTable",
    "Candles",
    "InvalidSymbol",
    "Override",
    "Regime",
    "Sessions",
    "Symbol",
    "bar_ends",
    "block_id",
    "block_start",
    "buckets",
    "day_start",
    "in_session",
    "ist_day",
    "resample",
    "start_of_block",
]
