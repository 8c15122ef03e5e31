"""Bodies that are not JSON, or not JSON as this service reads it.

They go to every route that reads a body, and must be refused before the fields are read.
"""

from typing import Final

from tests.contract.rows.row import INVALID, TOO_LARGE, Row

GOOD: Final = b'{"name": "a"}'
FIELD: Final = {"field": "name"}
LARGE: Final = {"reason": "payload_too_large"}

NOT_JSON: Final = [
    Row("A02 blanks alone", INVALID, body=b"   "),
    Row("A03 an open brace", INVALID, body=b"{"),
    Row("A04 a comma too many", INVALID, body=b'{"name":"a",}'),
    Row("A05 single quotes", INVALID, body=b"{'name':'a'}"),
    Row("A06 something behind it", INVALID, body=GOOD + b" x"),
    Row("A07 two documents", INVALID, body=GOOD + GOOD),
    Row("A08 a comment", INVALID, body=b"/*x*/" + GOOD),
    Row("A09 a byte order mark", INVALID, body=b"\xef\xbb\xbf" + GOOD),
    Row("A10 UTF-16", INVALID, body=GOOD.decode().encode("utf-16")),
    Row("A11 bytes that are no UTF-8", INVALID, body=b'{"name":"\xff\xfe"}'),
    Row("A12 overlong UTF-8", INVALID, body=b'{"name":"\xc0\xaf"}'),
    Row("A13 UTF-8 of half a surrogate pair", INVALID, body=b'{"name":"\xed\xa0\x80"}'),
    Row("A14 an array as whole body", INVALID, body=b"[]"),
    Row("A15 a string as whole body", INVALID, body=b'"x"'),
    Row("A16 a number as whole body", INVALID, body=b"1"),
    Row("A17 true as whole body", INVALID, body=b"true"),
    Row("A18 null as whole body", INVALID, body=b"null"),
    Row("A19 a key twice", INVALID, body=b'{"name":"a","name":"b"}', details=FIELD),
    Row("A20 60,000 open brackets", INVALID, body=b"[" * 60_000),
    Row("A21 30,000 brackets, closed again", INVALID, body=b"[" * 30_000 + b"]" * 30_000),
    Row(
        "A22 990 arrays in a step",
        INVALID,
        body=b'{"name":"a","positionSizing":' + b"[" * 990 + b"]" * 990 + b"}",
    ),
    Row(
        "A23 500 arrays in an object of any keys",
        INVALID,
        body=b'{"walkForwardConfig":{"x":' + b"[" * 500 + b"]" * 500 + b"}}",
    ),
    Row(
        "A24 a byte too many: 1 MiB are allowed", TOO_LARGE, body=b" " * (2**20 + 1), details=LARGE
    ),
    Row("A25 20 MB", TOO_LARGE, body=b" " * 20_000_000, details=LARGE),
    Row("B01 NaN", INVALID, body=b'{"name":NaN}', details=FIELD),
    Row("B02 Infinity", INVALID, body=b'{"name":Infinity}', details=FIELD),
    Row("B03 -Infinity", INVALID, body=b'{"name":-Infinity}', details=FIELD),
    Row("B04 1e400", INVALID, body=b'{"name":1e400}', details=FIELD),
    Row("B08 an integer of 5,000 digits", INVALID, body=b'{"name":' + b"9" * 5_000 + b"}"),
    Row("C01 NUL in a string", INVALID, body=b'{"name":"a\\u0000b"}', details=FIELD),
    Row("C03 NUL in a key", INVALID, body=b'{"\\u0000":1}'),
    Row(
        "C04 half a surrogate pair in a string", INVALID, body=b'{"name":"\\ud83d"}', details=FIELD
    ),
    Row("C06 half a surrogate pair in a key", INVALID, body=b'{"\\ud83d":1}'),
]
