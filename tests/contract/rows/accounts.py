"""Faults of a signup or a login."""

from typing import Any, Final

from tests.contract.rows.row import INVALID, LOG_IN, MEDIA_TYPE, SIGN_UP, TOO_LARGE, Row, rows_of

GOOD: Final = {"email": "new@example.com", "password": "correct horse battery", "name": "New"}


def _field(field: str, name: str, value: Any) -> Row:
    body = GOOD | {field: value}
    return Row(f"{name} as {field}", INVALID, path=SIGN_UP, body=body, details={"field": field})


def _without(field: str, path: str, name: str) -> Row:
    body = {key: value for key, value in GOOD.items() if key != field}
    return Row(f"{name} no {field}", INVALID, path=path, body=body, details={"field": field})


def _email(name: str, value: Any) -> Row:
    return _field("email", name, value)


def _password(name: str, value: Any) -> Row:
    return _field("password", name, value)


def _name(name: str, value: Any) -> Row:
    return _field("name", name, value)


SIGN_UPS: Final = [
    _without("email", SIGN_UP, "I01"),
    *rows_of(
        "I",
        2,
        _email,
        None,
        "",
        "a",
        "a@",
        "@b.c",
        "a@b",
        "a b@c.de",
        "a@b..c",
        "a@-b.com",
        "a@b.com\n",
        "a@b.com\0",
        "a" * 250 + "@b.com",
        ["a@b.com"],
        "a@[127.0.0.1]",
        '"a b"@c.com',
        "a@b.com,c@d.com",
    ),
    _email("I19 blanks around it", " a@b.com "),
    _email("I20 a full-width letter", "\uff41@b.com"),
    _email("I20 a dotless i", "m\u0131ke@example.org"),
    _without("password", SIGN_UP, "I22"),
    *rows_of("I", 23, _password, "seven 7", None, 12345678, "x" * 129),
    Row("I27 a password of 1 MB", TOO_LARGE, path=SIGN_UP, body=GOOD | {"password": "x" * 10**6}),
    _password("I28 half a surrogate pair", "abcdefgh\ud800"),
    _password("I29 NUL eight times", "\0" * 8),
    _without("name", SIGN_UP, "I32"),
    *rows_of("I", 32, _name, "", "x" * 101, "a\0b", {}),
]
NO_CREDENTIALS: Final[tuple[object, ...]] = ("", None, 1, True, [], {})
LOG_INS: Final = [
    _without("email", LOG_IN, "I35"),
    _without("password", LOG_IN, "I35"),
    *[
        Row(
            f"I35 {value!r} as {field}",
            INVALID,
            path=LOG_IN,
            body=GOOD | {field: value},
            details={"field": field},
        )
        for field in ("email", "password")
        for value in NO_CREDENTIALS
    ],
    Row(
        "I37 a form",
        MEDIA_TYPE,
        path=LOG_IN,
        body=b"email=a%40b.com&password=abcdefgh",
        kind="application/x-www-form-urlencoded",
    ),
    Row("I37 JSON as text/plain", MEDIA_TYPE, path=LOG_IN, body=GOOD, kind="text/plain"),
]
