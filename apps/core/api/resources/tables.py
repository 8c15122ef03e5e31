"""Lists as tables, CSV for spreadsheets and Arrow for data frames: a page, or all in parts."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator, Mapping, Sequence
from io import BytesIO, StringIO
from typing import Any, ClassVar, Final, TypeAlias

import pyarrow as pa
from django.http import HttpRequest, StreamingHttpResponse
from rest_framework import serializers
from rest_framework.renderers import BaseRenderer
from rest_framework.request import Request

from apps.core.api.resources.records import schemas_of
from apps.core.api.resources.serializers import ChoiceField, MomentField, StrictSerializer
from apps.core.errors import Fault, InvalidInput

ARROW: Final = "application/vnd.apache.arrow.stream"
# Rows of a part of a whole list.
ROWS_PER_PART: Final = 5_000

Rows: TypeAlias = Sequence[Mapping[str, Any]]

_TIME: Final = pa.timestamp("ms", tz="UTC")
# Of the fields of a serializer, and of those of a typed record by format or type; all others are
# text.
_TYPES: Final[Mapping[type[serializers.Field[Any, Any, Any, Any]], pa.DataType]] = {
    MomentField: _TIME,
    serializers.BooleanField: pa.bool_(),
    serializers.IntegerField: pa.int64(),
    serializers.FloatField: pa.float64(),
    serializers.DateField: pa.date32(),
}
_TYPES_OF_RECORDS: Final[Mapping[str, pa.DataType]] = {
    "date-time": _TIME,
    "date": pa.date32(),
    "boolean": pa.bool_(),
    "integer": pa.int64(),
    "double": pa.float64(),
}


class WholeQuery(StrictSerializer):
    """The choice between a page of a table and all of it."""

    whole = ChoiceField(
        choices=("true",),
        required=False,
        help_text="All rows instead of a page, sent in parts; only with `Accept: text/csv` or"
        " Arrow.",
    )


class TableRenderer(BaseRenderer):
    """Write the list of an answer as CSV.

    Pagination goes into headers; other fields are in the JSON only. A subclass names the serializer
    or typed record of the rows of each list, keyed by the list's name in the JSON, and the fields
    that it omits.
    """

    media_type = "text/csv"
    format = "csv"
    charset: str | None = "utf-8"
    rows: ClassVar[Mapping[str, type[Any]]]
    omitted: ClassVar[Sequence[str]] = ()

    def render(
        self,
        data: Mapping[str, Any],
        accepted_media_type: str | None = None,
        renderer_context: Mapping[str, Any] | None = None,
    ) -> bytes:
        if renderer_context and "pagination" in data:
            headers = headers_of(data["pagination"], renderer_context["request"])
            for name, value in headers.items():
                renderer_context["response"][name] = value
        name = next(name for name in self.rows if name in data)
        return b"".join(self.parts(self.rows[name], [self.rows_of(data, name)]))

    def rows_of(self, data: Mapping[str, Any], name: str) -> Rows:
        """Return the rows of the list of that name in an answer."""
        rows: Rows = data[name]
        return rows

    def columns_of(self, row: type[Any]) -> dict[str, pa.DataType]:
        """Return the columns of a table of rows, with their types; nested fields have none."""
        if not issubclass(row, serializers.Serializer):
            columns = schemas_of([row])[row.__name__]["properties"]
            return {name: _type_of_column(column) for name, column in columns.items()}
        fields = {str(name): field for name, field in row().fields.items()}
        return {
            name: _type_of(field)
            for name, field in fields.items()
            if name not in self.omitted and not isinstance(field, serializers.BaseSerializer)
        }

    def parts(self, row: type[Any], blocks: Iterable[Rows]) -> Iterator[bytes]:
        """Yield the table of these rows: CSV by RFC 4180, a line of names, then one for each."""
        names = list(self.columns_of(row))
        yield _lines([names])
        for block in blocks:
            if block:
                yield _lines([line[name] for name in names] for line in block)


class ArrowRenderer(TableRenderer):
    """Write the list of an answer as an Arrow stream, with the types of its fields.

    A subclass is also a `TableRenderer` of the list.
    """

    media_type = ARROW
    format = "arrow"
    charset = None

    def parts(self, row: type[Any], blocks: Iterable[Rows]) -> Iterator[bytes]:
        schema = pa.schema(list(self.columns_of(row).items()))
        buffer = BytesIO()
        with pa.ipc.new_stream(buffer, schema) as stream:
            for block in blocks:
                stream.write_batch(_batch(schema, block))
                yield _taken(buffer)
        yield _taken(buffer)


def whole_list(request: Request, *, instead_of: Sequence[str]) -> bool:
    """Return whether the request asks for a whole table, by `whole`, which is not given with the
    parameters of a page. Raises InvalidInput.
    """
    if "whole" not in WholeQuery.read_query(request.query_params):
        return False
    for name in instead_of:
        if name in request.query_params:
            raise InvalidInput(Fault(name, "is not given together with whole"))
    if not isinstance(request.accepted_renderer, TableRenderer):
        raise InvalidInput(
            Fault("whole", f"is allowed only with `Accept: text/csv` or `Accept: {ARROW}`")
        )
    return True


def send_whole(request: Request, name: str, blocks: Iterable[Rows]) -> StreamingHttpResponse:
    """Answer with the whole list of that name, in the format that the request accepts."""
    renderer = request.accepted_renderer
    assert isinstance(renderer, TableRenderer)
    charset = f"; charset={renderer.charset}" if renderer.charset else ""
    return StreamingHttpResponse(
        renderer.parts(renderer.rows[name], blocks), content_type=renderer.media_type + charset
    )


def _type_of(field: serializers.Field[Any, Any, Any, Any]) -> pa.DataType:
    types = (kind for base, kind in _TYPES.items() if isinstance(field, base))
    return next(types, pa.string())


def _type_of_column(column: Mapping[str, Any]) -> pa.DataType:
    value = column.get("anyOf", [column])[0]  # of a column with nulls
    kind = value.get("format") or value["type"]
    return _TYPES_OF_RECORDS.get(kind, pa.string())


def _lines(rows: Iterable[Iterable[object]]) -> bytes:
    text = StringIO(newline="")
    csv.writer(text).writerows(rows)
    return text.getvalue().encode()


def _batch(schema: pa.Schema, rows: Rows) -> pa.RecordBatch:
    return pa.record_batch(
        [_array(field.type, [row[field.name] for row in rows]) for field in schema], schema=schema
    )


def _array(kind: pa.DataType, values: list[Any]) -> pa.Array[Any]:
    if kind in (_TIME, pa.date32()):
        return pa.array(values, pa.string()).cast(kind)
    return pa.array(values, kind)


def _taken(buffer: BytesIO) -> bytes:
    """Return what was written to the buffer, and empty it."""
    taken = buffer.getvalue()
    buffer.seek(0)
    buffer.truncate()
    return taken


def headers_of(pagination: Mapping[str, int], request: HttpRequest) -> dict[str, str]:
    """Return pagination as headers: the total, and links to the previous and next page (RFC 8288)
    with the same query.
    """
    headers = {"X-Total-Count": str(pagination["total"])}
    if "after" in request.GET:  # its reader knows the last id, and pages have no numbers
        return headers
    number = pagination["page"]
    neighbours = {"prev": number - 1, "next": number + 1}
    links = [
        f'<{_at(request, page)}>; rel="{name}"'
        for name, page in neighbours.items()
        if 1 <= page <= pagination["totalPages"]
    ]
    return {**headers, "Link": ", ".join(links)} if links else headers


def _at(request: HttpRequest, page: int) -> str:
    query = request.GET.copy()
    query["page"] = str(page)
    return f"{request.path}?{query.urlencode()}"
