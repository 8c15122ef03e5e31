"""Stored candles: reading, writing, completeness, and adjustment for corporate actions.

Other apps import only these names.
"""

from apps.market.candles.adjustment import (
    UNADJUSTED,
    Adjustment,
)
from apps.market.candles.bar_counts import (
    estimate_bars,
    lower_bounds,
)
from apps.market.candles.buffer import (
    CANDLES_CHANNEL,
    SeriesKey,
    received_since,
    time_since_receipt,
)
from apps.market.candles.chunks import (
    EARLIEST,
    concat,
)
from apps.market.candles.corporate_actions import (
    find_split_candidates,
    payouts_of,
    ratio_changes,
)
from apps.market.candles.coverage import (
    CoverageRow,
    SessionCoverage,
    coverage_of,
    coverage_until,
    first_stored_days,
    history_of_bars,
    quality_of,
    series_of_keys,
    stored_history_of,
    stored_series,
    timeframes_of,
)
from apps.market.candles.reading import (
    GRACE_PERIOD,
    AdjustedCandles,
    are_candles_stored,
    count_days,
    has_adjusted_sources,
    insufficient_history,
    read_adjusted,
    read_all_closed,
    read_bars,
    read_closed,
    read_page,
    sample_notice_of,
    stored_timeframes,
    stored_timeframes_of,
)
from apps.market.candles.samples import (
    SAMPLE_NOTICE,
    GeneratedBars,
    sample_notice,
)

__all__ = [
    "CANDLES_CHANNEL",
    "EARLIEST",
    "GRACE_PERIOD",
    "SAMPLE_NOTICE",
    "UNADJUSTED",
    "AdjustedCandles",
    "Adjustment",
    "CoverageRow",
    "GeneratedBars",
    "SeriesKey",
    "SessionCoverage",
    "are_candles_stored",
    "concat",
    "count_days",
    "coverage_of",
    "coverage_until",
    "estimate_bars",
    "find_split_candidates",
    "first_stored_days",
    "has_adjusted_sources",
    "history_of_bars",
    "insufficient_history",
    "lower_bounds",
    "payouts_of",
    "quality_of",
    "ratio_changes",
    "read_adjusted",
    "read_all_closed",
    "read_bars",
    "read_closed",
    "read_page",
    "received_since",
    "sample_notice",
    "sample_notice_of",
    "series_of_keys",
    "stored_history_of",
    "stored_series",
    "stored_timeframes",
    "stored_timeframes_of",
    "time_since_receipt",
    "timeframes_of",
]
