"""Bodies and queries are read strictly."""

from typing import Any

import pytest
from django.http import QueryDict

from apps.core.api.resources.pagination import PageQuery, ordering
from apps.core.api.resources.serializers import (
    ChoiceField,
    FlagField,
    IdTextField,
    NumberField,
    SecretField,
    StrictSerializer,
    TextField,
)
from apps.core.errors import InvalidInput


class Order(StrictSerializer):
    id = IdTextField(read_only=True)
    name = TextField(max_length=5)
    note = TextField(lines=True, required=False)
    code = TextField(exact=True, required=False)
    kind = ChoiceField(choices=("buy", "sell"))
    capital = NumberField(min_value=1, max_value=100, required=False)
    urgent = FlagField(required=False)
    pin = SecretField(min_length=3, required=False)


def read(**fields: object) -> dict[str, Any]:
    return Order.read({"name": "a", "kind": "buy", **fields})


def fault(**fields: object) -> dict[str, object]:
    with pytest.raises(InvalidInput) as refused:
        read(**fields)
    return refused.value.faults[0].as_details()


def test_good_values_come_through() -> None:
    assert read(name=" e\u0301 ", capital=2, urgent=True, pin=" x ", id="mine", note="a\nb") == {
        "name": "é",
        "kind": "buy",
        "capital": 2.0,
        "urgent": True,
        "pin": " x ",
        "note": "a\nb",
    }


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", 1),
        ("name", True),
        ("name", None),
        ("name", []),
        ("name", {}),
        ("name", ""),
        ("name", "  "),
        ("name", "abcdef"),
        ("name", "a\r\nb"),
        ("name", "\u202eevil"),
        ("note", "a\x07"),
        ("note", "\u202e"),
        ("kind", "BUY"),
        ("kind", ["buy"]),
        ("kind", None),
        ("capital", "2"),
        ("capital", True),
        ("capital", 0),
        ("capital", 101),
        ("urgent", 1),
        ("urgent", "true"),
    ],
)
def test_a_wrong_value_is_named_and_shown(field: str, value: object) -> None:
    details = fault(**{field: value})
    assert (details["field"], details["value"]) == (field, value)


@pytest.mark.parametrize("text", [" 15m", "15m ", "e\u0301", "  x  "])
def test_an_exact_text_is_neither_trimmed_nor_normalised(text: str) -> None:
    assert read(code=text)["code"] == text


def test_a_closed_set_is_listed() -> None:
    assert fault(kind="hold")["allowedValues"] == ["buy", "sell"]


def test_a_missing_field_has_no_value() -> None:
    with pytest.raises(InvalidInput) as refused:
        Order.read({"kind": "buy"})
    assert refused.value.details == {"field": "name"}


def test_a_secret_is_never_echoed() -> None:
    assert "value" not in fault(pin="ab")


def test_a_mistyped_key_is_refused_with_a_suggestion() -> None:
    refused = fault(captial=5)
    assert (refused["field"], refused["value"]) == ("captial", 5)
    assert "did you mean capital?" in str(refused["message"])


@pytest.mark.parametrize(
    "text", ["0", "-1", "abc", "1.5", "1e3", "", " 1", "+1", "1_0", "١", "0x1", "1000001", "9" * 20]
)
def test_a_page_is_a_plain_number(text: str) -> None:
    query = QueryDict(mutable=True)
    query["page"] = text
    with pytest.raises(InvalidInput) as refused:
        PageQuery.read_query(query)
    assert refused.value.details["field"] == "page"


class OrderQuery(PageQuery):
    status = ChoiceField(choices=("active",), required=False)
    sort = ChoiceField(choices=("name", "createdAt"), default="createdAt")
    order = ChoiceField(choices=("asc", "desc"), default="desc")


@pytest.mark.parametrize(
    "text", ["page=1&page=2", "limit=101", "limit=0", "sort=password", "order=ASC", "status=ACTIVE"]
)
def test_a_query_outside_its_set_is_refused(text: str) -> None:
    with pytest.raises(InvalidInput):
        OrderQuery.read_query(QueryDict(text))


def test_a_query_is_read() -> None:
    query = OrderQuery.read_query(QueryDict("page=2&limit=50&sort=name&order=asc"))
    assert (query["page"], query["limit"]) == (2, 50)
    columns = {"name": "name", "createdAt": "created_at"}
    assert ordering(query, columns) == ("name", "id")
    assert ordering(OrderQuery.read_query(QueryDict("")), columns) == ("-created_at", "-id")
