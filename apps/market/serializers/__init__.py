"""Candles, rules and uploads on the wire.

Other apps import only these names.
"""

from apps.market.serializers.candles import (
    RANGE_END,
    CandlesSerializer,
    CoverageQuery,
    CoverageSerializer,
    RangeQuery,
    SeriesQuery,
    SeriesSerializer,
)
from apps.market.serializers.rulebook import (
    ChargeRatesQuery,
    ChargeRatesSerializer,
    SessionsSerializer,
)
from apps.market.serializers.uploads import (
    CandleFileSerializer,
    CandleUploadSerializer,
    MasterSerializer,
    MasterUploadSerializer,
)

__all__ = [
    "RANGE_END",
    "CandleFileSerializer",
    "CandleUploadSerializer",
    "CandlesSerializer",
    "ChargeRatesQuery",
    "ChargeRatesSerializer",
    "CoverageQuery",
    "CoverageSerializer",
    "MasterSerializer",
    "MasterUploadSerializer",
    "RangeQuery",
    "SeriesQuery",
    "SeriesSerializer",
    "SessionsSerializer",
]
