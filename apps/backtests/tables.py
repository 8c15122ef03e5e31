"""The trades and the curve as CSV, for spreadsheets and data frames."""

import csv
from collections.abc import Iterable, Mapping
from io import StringIO
from typing import Any, Final

from rest_framework.renderers import BaseRenderer

Rows = Iterable[Mapping[str, object]]

TRADE_COLUMNS: Final = (
    "symbol", "side", "quantity", "entryTime", "entryPrice", "exitTime", "exitPrice",
    "exitReason", "grossProfit", "charges", "profit", "returnPercentage", "bars",
    "maxAdverseExcursion", "maxFavorableExcursion",
)  # fmt: skip
POINT_COLUMNS: Final = ("time", "equity", "low", "high", "drawdown")
COLUMNS: Final = {"data": TRADE_COLUMNS, "points": POINT_COLUMNS}
"""Of each list, by its name in the JSON of the same answer."""


def table_of(columns: tuple[str, ...], rows: Rows) -> str:
    """RFC 4180: a line of names, then a line for each row."""
    text = StringIO(newline="")
    lines = csv.writer(text)
    lines.writerow(columns)
    lines.writerows([row[name] for name in columns] for row in rows)
    return text.getvalue()


class TableRenderer(BaseRenderer):
    """Writes the list of an answer; what stands beside it, such as the pagination, is JSON's."""

    media_type = "text/csv"
    format = "csv"
    charset = "utf-8"

    def render(
        self,
        data: Mapping[str, Rows],
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> str:
        """Any: REST framework's own context."""
        return next(table_of(COLUMNS[name], data[name]) for name in COLUMNS if name in data)
