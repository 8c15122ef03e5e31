"""Candles: bars of a symbol, their sessions, and the names of symbols.

Other apps import only these names.
"""

from apps.engine.candles.candles import (
    DAY,
    IST,
    NUMBERS,
    TIMEFRAMES,
    WARMUP_BARS,
    Candles,
    CandleTable,
    block_id,
    block_start,
    day_start,
    frozen,
    ist_day,
    ist_days,
    start_of_block,
)
from apps.engine.candles.resampling import bar_ends, buckets, resample
from apps.engine.candles.sessions import Override, Regime, Sessions, in_session, session_bars
from apps.engine.candles.symbols import (
    EXCHANGES,
    MAX_LENGTH,
    MONTHS,
    InvalidSymbol,
    Symbol,
    parse_symbol,
    readings,
)

__all__ = [
    "DAY",
    "EXCHANGES",
    "IST",
    "MAX_LENGTH",
    "MONTHS",
    "NUMBERS",
    "TIMEFRAMES",
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
    "frozen",
    "in_session",
    "ist_day",
    "ist_days",
    "parse_symbol",
    "readings",
    "resample",
    "session_bars",
    "start_of_block",
]
