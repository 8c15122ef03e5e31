"""Lists as CSV, for spreadsheets and data frames."""

import csv
from collections.abc import Iterable, Mapping, Sequence
from io import StringIO
from typing import Any, ClassVar

from rest_framework.renderers import BaseRenderer

from apps.core.pages import headers_of

Rows = Iterable[Mapping[str, object]]


def table_of(columns: Sequence[str], rows: Rows) -> str:
    """RFC 4180: a line of names, then a line for each row."""
    text = StringIO(newline="")
    lines = csv.writer(text)
    lines.writerow(columns)
    lines.writerows([row[name] for name in columns] for row in rows)
    return text.getvalue()


class TableRenderer(BaseRenderer):
    """Writes the list of an answer; its pagination goes into headers, what else stands beside it
    is JSON's.

    A subclass names the columns of each list, by the list's name in the JSON of the same answer.
    """

    media_type = "text/csv"
    format = "csv"
    charset = "utf-8"
    columns: ClassVar[Mapping[str, Sequence[str]]]

    def render(
        self,
        data: Mapping[str, Any],
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> str:
        """Any: an answer, and REST framework's own context."""
        if renderer_context and "pagination" in data:
            told = headers_of(data["pagination"], renderer_context["request"])
            for name, value in told.items():
                renderer_context["response"][name] = value
        return next(
            table_of(columns, data[name]) for name, columns in self.columns.items() if name in data
        )
