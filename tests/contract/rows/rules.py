"""Requests forbidden by the present state, or by the rules of a backtest or an alert."""

from typing import Any, Final

from tests.contract.rows.row import ALGORITHM, BACKTESTS, FORBIDDEN, INVALID, NO_DATA, Row, shown

RANGE: Final = {"startDate": "2024-02-01", "endDate": "2024-02-29"}
ALERTS: Final = "/api/algorithms/{algorithm}/performance/alerts"
ALERT: Final = {"threshold": 10, "action": "pause_algorithm"}


def _backtest(name: str, field: str, **changed: object) -> Row:
    body = {"algorithmId": "{algorithm}", **RANGE, **changed}
    return Row(name, INVALID, path=BACKTESTS, body=body, details={"field": field})


def _date(number: int, name: str, field: str, text: str) -> Row:
    return _backtest(f"J{number} {name}", field, **{field: text})


def _capital(value: Any) -> Row:
    return _backtest(f"J32 a capital of {shown(value)}", "initialCapital", initialCapital=value)


def _alert(name: str, path: str, alerts: object) -> Row:
    return Row(name, INVALID, "PUT", ALERTS, {"alerts": alerts}, details={"field": path})


ALL: Final = [
    Row(
        "candles from one who is no operator",
        FORBIDDEN,
        path="/api/market/candles",
        body={"symbol": "NSE:NIFTY", "timeframe": "1d", "candles": [["2024-06-03", 1, 1, 1, 1, 0]]},
    ),
    _date(31, "from after to", "endDate", "2024-01-31"),
    _date(31, "in the future", "startDate", "2999-01-01"),
    _date(31, "from 1970", "startDate", "1970-01-01"),
    _date(31, "to year 10000", "endDate", "10000-01-01"),
    _date(31, "to year 10000 in India", "endDate", "9999-12-31T23:59:59Z"),
    _date(31, "30 February", "endDate", "2024-02-30"),
    _date(31, "without a zone", "startDate", "2024-02-01T00:00:00"),
    Row(
        "J31 before there is history",
        NO_DATA,
        path=BACKTESTS,
        body={"algorithmId": "{algorithm}", "startDate": "2001-01-01", "endDate": "2001-12-31"},
        details={"symbol": "NSE:NIFTY", "barsInRange": 0},
    ),
    *[_capital(value) for value in (0, -1, 1e300, "1000")],
    _backtest(
        "J33 a search without parameters",
        "optimizationConfig.parameters",
        kind="optimization",
        optimizationConfig={"objective": "netProfit"},
    ),
    _backtest(
        "J33 a path that leads nowhere",
        "optimizationConfig.parameters[0].path",
        kind="optimization",
        optimizationConfig={
            "parameters": [{"path": "exitConditions.stopLoss.x.y", "from": 1, "to": 2, "step": 1}]
        },
    ),
    _backtest("J33 a configuration of another kind", "monteCarloConfig", monteCarloConfig={}),
    _alert("J37 an unknown metric", "alerts.foo", {"foo": ALERT}),
    _alert(
        "J37 an unknown action",
        "alerts.winRate.action",
        {"winRate": ALERT | {"action": "sell_all"}},
    ),
    _alert(
        "J37 a threshold that is no number",
        "alerts.winRate.threshold",
        {"winRate": ALERT | {"threshold": "x"}},
    ),
    Row(
        "J35 public, yet no template",
        INVALID,
        body={"isPublic": True, "isTemplate": False},
        details={"field": "isPublic"},
    ),
    Row(
        "J35 public, of what is no template",
        INVALID,
        "PATCH",
        ALGORITHM,
        {"isPublic": True},
        details={"field": "isPublic"},
    ),
]
