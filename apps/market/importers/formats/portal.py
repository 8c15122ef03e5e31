"""Tables copied from a data portal: 47,022 for a price, 23.54K for a volume, Apr 16, 2021."""

from typing import Final

from apps.market.importers.file_format import FileFormat
from apps.market.importers.formats.plain import by_column_or_name
from apps.market.importers.tables.layout import COMMON

_CLOSE: Final = ("close", "price")
_COLUMNS: Final = {**COMMON, "close": _CLOSE}
_PRICES: Final = frozenset({"date", "open", "high", "low"})

SHORT: Final = FileFormat(
    name="data portal",
    marks=_PRICES | {"chg"},
    columns=_COLUMNS,
    instruments=by_column_or_name,
    grouped=True,
)
LONG: Final = FileFormat(
    name="data portal",
    marks=_PRICES | {"change"},
    columns=_COLUMNS,
    instruments=by_column_or_name,
    grouped=True,
)
