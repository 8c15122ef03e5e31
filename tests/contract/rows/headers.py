"""Wrong headers of requests to the algorithms."""

import gzip
from typing import Final

from tests.contract.rows.row import (
    INVALID,
    JSON,
    MEDIA_TYPE,
    NOT_ACCEPTABLE,
    Row,
    complete,
    rows_of,
)

KEY: Final = "Idempotency-Key"


def _kind(name: str, kind: str) -> Row:
    return Row(f"{name} as Content-Type", MEDIA_TYPE, body=complete(), kind=kind)


def _charset(name: str, charset: str) -> Row:
    return _kind(f"{name} as a charset", f"{JSON}; charset={charset}")


def _coded(name: str, body: bytes) -> Row:
    return Row(name, MEDIA_TYPE, body=body, headers={"Content-Encoding": "gzip"})


def _accept(name: str, text: str) -> Row:
    return Row(f"{name} as Accept", NOT_ACCEPTABLE, "GET", headers={"Accept": text})


def _host(name: str, text: str) -> Row:
    return Row(f"{name} as Host", INVALID, "GET", headers={"Host": text})


def _key(name: str, text: str) -> Row:
    body = complete()
    return Row(f"{name} as a key", INVALID, body=body, headers={KEY: text}, details={"field": KEY})


ALL: Final = [
    *rows_of(
        "G",
        1,
        _kind,
        "",
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data; boundary=x",
        "multipart/form-data",
        "application/xml",
        "application/vnd.api+json",
        ";;;=",
    ),
    *rows_of("G", 9, _charset, "utf-16", "foo", "unicode_escape", "idna", "base64"),
    _coded("G14 a body in gzip", gzip.compress(b"{}")),
    _coded("G15 10 KB that become 10 MB", gzip.compress(b" " * 10_000_000)),
    *rows_of("G", 16, _accept, "text/html", "application/xml", "x", "*/*;q=0"),
    *rows_of("G", 21, _host, "evil.example", "a b", "a_b"),
    _accept("G38 5,000 separators", 'text/html;x="' + ";" * 5_000 + '"'),
    *rows_of("G", 39, _key, "", "k" * 256, "a b", "a\x7f", "k\xe9"),
]
