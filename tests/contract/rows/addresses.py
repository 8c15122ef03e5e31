"""Unknown addresses, wrong methods and wrong queries."""

from typing import Final

from tests.contract.rows.row import (
    ALGORITHM,
    ALGORITHMS,
    BACKTESTS,
    INVALID,
    LOG_IN,
    NO_ALGORITHM,
    NO_BACKTEST,
    NOT_FOUND,
    SEARCH,
    WRONG_METHOD,
    Row,
    rows_of,
    shown,
)

GONE: Final = (
    "x",
    "1",
    "0123456789abcdef0123456",
    "0123456789abcdef012345678",
    "0123456789abcdef0123456g",
    "0123456789ABCDEF01234567",
    "0123456789abcdef01234567",
    "0" * 24,
    "9" * 200,
)
"""Ids that are malformed, or of nothing."""


def _absent(name: str, path: str) -> Row:
    return Row(name, NOT_FOUND, "GET", path)


def _log_in_at(name: str, path: str) -> Row:
    return Row(name, NOT_FOUND, "POST", path, body={})


def _no_algorithm(name: str, text: str) -> Row:
    return Row(name, NO_ALGORITHM, "GET", f"{ALGORITHMS}/{text}")


def _no_backtest(name: str, text: str) -> Row:
    return Row(name, NO_BACKTEST, "GET", f"{BACKTESTS}/{text}")


def _no_report(name: str, text: str) -> Row:
    return Row(name, NO_BACKTEST, "GET", f"{BACKTESTS}/{text}/report")


def _no_link(name: str, text: str) -> Row:
    return Row(name, NO_BACKTEST, "POST", f"{BACKTESTS}/{text}/report-link")


def _no_explanation(name: str, text: str) -> Row:
    question = "explain?symbol=NSE:TCS&at=2024-02-05"
    return Row(name, NO_BACKTEST, "GET", f"{BACKTESTS}/{text}/{question}")


PATHS: Final = [
    *rows_of("E", 1, _absent, "/api/nope", "/nowhere", "/api", "/admin"),
    *rows_of("E", 5, _log_in_at, LOG_IN + "/", "/api//auth/login", "/api/auth/./login"),
    _log_in_at("E08 /API/auth/login", "/API/auth/login"),
    Row("E09 %00 as an id", NO_ALGORITHM, "GET", ALGORITHMS + "/%00"),
    Row("E10 %ff as an id", NO_ALGORITHM, "GET", ALGORITHMS + "/%ff"),
    Row("E11 a way up", NOT_FOUND, "GET", ALGORITHMS + "/..%2f..%2fetc%2fpasswd"),
    *rows_of("E", 12, _no_algorithm, *GONE),
    *rows_of("E", 32, _no_backtest, *GONE),
    *rows_of("E", 41, _no_report, "x", "0" * 24),
    *rows_of("E", 43, _no_link, "x", "0" * 24),
    *rows_of("E", 45, _no_explanation, "x", "0" * 24),
    Row("E22 DELETE of the list", WRONG_METHOD, "DELETE"),
    Row("E23 PUT of a login", WRONG_METHOD, "PUT", LOG_IN),
    Row("E24 TRACE", WRONG_METHOD, "TRACE"),
    Row("E25 CONNECT", WRONG_METHOD, "CONNECT"),
    Row("E26 FOO", WRONG_METHOD, "FOO"),
    Row("E27 PROPFIND", WRONG_METHOD, "PROPFIND"),
]


def _queries(first: str, name: str, *texts: str, path: str = ALGORITHMS) -> list[Row]:
    letter, number = first[0], int(first[1:])
    return [
        Row(
            f"{letter}{number + n:02d} {name}={shown(text)}",
            INVALID,
            "GET",
            f"{path}?{name}={text}",
            details={"field": name},
        )
        for n, text in enumerate(texts)
    ]


QUERIES: Final = [
    *_queries(
        "F01",
        "page",
        "0",
        "-1",
        "abc",
        "1.5",
        "1e3",
        "null",
        "",
        "last",
        "%201",
        "+1",
        "1_0",
        "%D9%A1",
        "0x1",
        "%00",
        "99999999999999999999",
        "9" * 5_000,
    ),
    *_queries("F16", "page", "1000001"),
    Row("F18 page twice", INVALID, "GET", ALGORITHMS + "?page=1&page=2", details={"field": "page"}),
    *_queries("F19", "limit", "0", "-1", "abc", "1_0", "99999999999999999999", "101"),
    *_queries("F25", "status", "archived", "ACTIVE", "", "draft,active"),
    *_queries("F29", "strategyType", "hodl"),
    *_queries(
        "F30",
        "sort",
        "password",
        "user__password",
        "-createdAt",
        "?",
        "createdAt;drop",
        "performance.winRate.x",
    ),
    *_queries("F36", "order", "ASC", "random"),
    *_queries("F39", "query", "%00", path=SEARCH),
    *_queries("F39", "algorithmId", "%00", path=BACKTESTS),
    Row(
        "F41 2,000 parameters",
        INVALID,
        "GET",
        ALGORITHMS + "?" + "&".join(f"a{n}=1" for n in range(2_000)),
    ),
    *_queries("F43", "query", "x" * 10_000, path=SEARCH),
    *_queries("F44", "exchange", "nse&query=TCS", path=SEARCH),
    *_queries("F45", "exchange", "NYSE", "nse", "", path="/api/market/sessions"),
    *_queries("F46", "symbol", "SBIN", "", "%00", path="/api/market/charges"),
    *_queries("F49", "status", "held", "OPEN", "", path=ALGORITHM + "/positions"),
    *_queries("F52", "status", "OPEN", "closed", path=ALGORITHM + "/orders"),
    *_queries("F54", "symbol", "SBIN", "", "%00", path=ALGORITHM + "/orders"),
    *_queries("F57", "sort", "createdAt", "exit_time", path=ALGORITHM + "/trades"),
    *_queries("F59", "page", "0", "x", path=ALGORITHM + "/trades"),
    *_queries("F61", "followed", "1", "True", "", path=ALGORITHM + "/signals"),
]
CLOSED: Final = ("status", "strategyType", "sort", "order", "exchange", "followed")
"""A refusal of one of these names the allowed values."""
