"""JSON of answers, errors included."""

from datetime import datetime
from decimal import Decimal
from typing import Final

import orjson

from apps.core.times import wire_time

_OPTIONS: Final = orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_SERIALIZE_NUMPY


def dump_json(value: object) -> bytes:
    """Return JSON with dates as ISO 8601 with Z and Decimals as numbers; a NaN is a programming
    error upstream.
    """
    return orjson.dumps(value, default=_plain, option=_OPTIONS)


def _plain(value: object) -> object:
    if isinstance(value, datetime):
        return wire_time(value)
    if isinstance(value, Decimal):
        return float(value)
    raise TypeError(f"{type(value).__name__} has no JSON form")
