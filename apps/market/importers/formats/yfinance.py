"""Files that yfinance saved: with one line of names, or with three that also name the ticker.

Yahoo adjusts all prices for splits and bonuses up to the day of the download; `Adj Close`, which is
adjusted for dividends too, is not taken. It has days without a trade as flat bars of no volume.
"""

from typing import Final

import numpy as np

from apps.market.importers.bar_columns import Instruments
from apps.market.importers.file_format import Profile
from apps.market.importers.formats.plain import by_column_or_name
from apps.market.importers.instrument_names import named, share
from apps.market.importers.layout import Layout
from apps.market.importers.tables import Table

_SUFFIXES: Final = {"NS": "NSE", "BO": "BSE"}


def by_ticker(table: Table, layout: Layout) -> Instruments:
    if table.called is None:
        return by_column_or_name(table, layout)
    name, _, suffix = table.called.rpartition(".")
    exchange = _SUFFIXES.get(suffix)
    if exchange is None:
        table.refuse(f"its ticker {table.called} is none of NSE (.NS) or BSE (.BO)")
    one = named(table.called, share(exchange, name))
    return Instruments(np.zeros(len(table), np.int32), (one,), "line 2")


PROFILE: Final = Profile(
    name="yfinance",
    marks=frozenset({"adjclose", "open", "high", "low", "close"}),
    instruments=by_ticker,
    adjusted=True,
)
