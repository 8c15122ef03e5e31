"""JSON is read exactly, or refused with the path of the fault."""

from contextlib import suppress

import pytest

from apps.core.errors import InvalidInput
from apps.core.requests import strict_json


@pytest.mark.parametrize(
    ("body", "document"),
    [
        (b'{"a": 1, "b": [true, null, "x"]}', {"a": 1, "b": [True, None, "x"]}),
        (b'{"a": 1.0}', {"a": 1.0}),
        (b'{"a": 1000000000000}', {"a": 10**12}),
        (b'{"a": "[{ \\" ]"}', {"a": '[{ " ]'}),
        ('{"n": "😀"}'.encode(), {"n": "😀"}),
        (b'{"n": "\\ud83d\\ude00"}', {"n": "😀"}),
        (b"[" * 20 + b"]" * 20, [[[[[[[[[[[[[[[[[[[[]]]]]]]]]]]]]]]]]]]]),
    ],
)
def test_good_documents_are_read(body: bytes, document: object) -> None:
    assert strict_json.read_json(body) == document


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"   ",
        b"{",
        b'{"name":"a",}',
        b"{'name':'a'}",
        b'{"name":"a"} x',
        b"{}{}",
        b"/*x*/{}",
        b"\xef\xbb\xbf{}",
        '{"name":"a"}'.encode("utf-16"),
        b'{"name":"\xff\xfe"}',
        b'{"name":"\xc0\xaf"}',
        b'{"name":"\xed\xa0\x80"}',
        b'{"name":"a\nb"}',
        b"[" * 100_000,
        b"[" * 100_000 + b"]" * 100_000,
        b'"' + b"\\" * 99_999,
    ],
)
def test_invalid_json_is_refused(body: bytes) -> None:
    with pytest.raises(InvalidInput):
        strict_json.read_json(body)


def nested(levels: int, kind: str) -> bytes:
    opening = {"lists": b"[", "objects": b'{"a":', "mixed": b'[{"a":'}[kind]
    closing = {"lists": b"]", "objects": b"}", "mixed": b"}]"}[kind]
    count = levels // 2 if kind == "mixed" else levels
    inner = b"[]" if kind == "mixed" and levels % 2 else b"1"
    return opening * count + inner + closing * count


@pytest.mark.parametrize("kind", ["lists", "objects", "mixed"])
def test_twenty_levels_are_read_and_more_are_refused(kind: str) -> None:
    assert strict_json.read_json(nested(20, kind))
    for levels in (21, 900, 5_000, 1_000_000):
        with pytest.raises(InvalidInput, match="nests deeper than 20 levels"):
            strict_json.read_json(nested(levels, kind))


@pytest.mark.parametrize(
    "body",
    [
        b'{"a":"' + b'\\"' * 500_000,
        b'{"a":"' + b"\\\\" * 500_000,
        b"[" + b'"",' * 300_000,
        b'{"' + b"k" * 500_000 + b'":[' + b"1," * 250_000 + b"1]}",
        b'{"' + b"k" * 500_000 + b'":{"a":[' + b'"\\u0000",' * 60_000 + b"1]}}",
        b'{"a":' + b"9" * 1_000_000 + b"}",
        b'{"a":0.' + b"1" * 1_000_000 + b"}",
        b"{" + b'"a":1,' * 170_000 + b'"a":1}',
        b" " * 1_000_000 + b"}",
    ],
    ids=lambda body: repr(body[:12]),
)
@pytest.mark.timeout(5)
def test_a_megabyte_of_the_worst_is_read_or_refused_in_linear_time(body: bytes) -> None:
    with suppress(InvalidInput):
        strict_json.read_json(body)


@pytest.mark.parametrize(
    ("body", "field"),
    [
        (b'{"name":"a","name":"b"}', "name"),
        (b'{"a":{"b":[1,{"c":1,"c":1}]}}', "a.b[1].c"),
        (b'{"a":[0,NaN]}', "a[1]"),
        (b'{"a":-Infinity}', "a"),
        (b'{"a":1e400}', "a"),
        (b'{"a":1e13}', "a"),
        (b'{"a":-1000000000001}', "a"),
        (b'{"a":' + b"9" * 5000 + b"}", "a"),
        (b'{"a":"x\\u0000"}', "a"),
        (b'{"a":{"\\u0000":1}}', "a"),
        (b'{"a":["\\ud83d"]}', "a[0]"),
        (b'{"\\ud83d":1}', ""),
    ],
)
def test_a_refused_value_is_named_by_its_path(body: bytes, field: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        strict_json.read_json(body)
    assert refused.value.faults[0].field == field


@pytest.mark.parametrize(
    ("body", "value"),
    [
        (b'{"a":"x\\u0000y"}', "x\ufffdy"),
        (b'{"a":["\\ud83d"]}', "\ufffd"),
        (b'{"a":{"\\u0000k":1}}', "\ufffdk"),
        (b'{"\\ud83d":1}', "\ufffd"),
        (b'{"a":1e400}', "1e400"),
        (b'{"a":NaN}', "NaN"),
        (b'{"a":1,"a":2}', "a"),
    ],
)
def test_an_error_shows_the_refused_value_as_far_as_json_can(body: bytes, value: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        strict_json.read_json(body)
    assert refused.value.faults[0].value == value


@pytest.mark.parametrize(
    "body",
    [
        b'{"newPassword":"x\\u0000y"}',
        b'{"a":{"password":123456789012345678}}',
        b'{"code":"123456","code":"123456"}',
    ],
)
def test_an_error_hides_a_refused_secret(body: bytes) -> None:
    with pytest.raises(InvalidInput) as refused:
        strict_json.read_json(body)
    assert "value" not in refused.value.details
