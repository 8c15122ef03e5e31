"""What comes before trading: symbols, an algorithm, history, a backtest."""

import time
from collections.abc import Mapping
from datetime import date
from typing import Any, Final

from apps.ops.demo.client import Client, JourneyFailed

ALGORITHM: Final[Mapping[str, object]] = {
    "name": "Crossing averages",
    "basicInfo": {"strategyType": "momentum", "timeframe": "5m", "symbols": ["NSE:RELIANCE"]},
    "positionSizing": {"method": "risk_based", "riskPercentage": 1},
    "entryConditions": {
        "positionType": "both",
        "conditions": [
            {
                "type": "indicator_indicator",
                "indicator1": {"type": "EMA", "period": 9},
                "operator": "crosses_above",
                "indicator2": {"type": "EMA", "period": 21},
            }
        ],
    },
    "exitConditions": {
        "stopLoss": {"type": "percentage", "percentage": 0.5},
        "takeProfit": {"type": "risk_reward", "ratio": 2},
    },
    "riskParameters": {"maxPositionSize": 500_000, "maxDailyLoss": 20_000, "maxOpenPositions": 1},
    "executionSettings": {
        "mode": "paper",
        "exchange": "NSE",
        "orderType": "market",
        "slippage": 0.01,
    },
}
SECONDS_FOR_A_BACKTEST: Final = 180.0  # the first of all waits for the compiler
_BARS: Final = " ▁▂▃▄▅▆▇█"


def look_up_symbols(client: Client) -> None:
    client.say("Look up symbols")
    found = client.call("GET", "/api/symbols/search?query=RELI&exchange=NSE")["results"]
    client.say(f"    {', '.join(row['symbol'] for row in found)}")
    for symbol in ("NSE:RELIANCE", "NSE:reliance"):
        answer = client.call("POST", "/api/symbols/validate", {"symbol": symbol})
        client.say(f"    {symbol}: valid {answer['valid']}, tradable {answer['tradable']}")


def describe(client: Client) -> str:
    client.say("Describe an algorithm, step by step")
    draft = client.call("POST", "/api/trading/algorithms", {}, expect=201)
    path = f"/api/trading/algorithms/{draft['id']}"
    client.say(f"    {draft['name']}: {draft['status']}")
    mistyped = {"exitConditions": {"stopLos": {"type": "percentage", "percentage": 0.5}}}
    refusal = client.call("PATCH", path, mistyped, expect=400)["error"]
    client.say(f"    refused, as it should be: {refusal['message']}")
    complete = client.call("PUT", path, ALGORITHM)
    client.say(f"    {complete['name']}: {complete['status']}, version {complete['version']}")
    verdict = client.call("POST", path + "/validate")
    client.say(f"    valid {verdict['valid']}, missing {verdict['missingFields'] or 'nothing'}")
    return str(draft["id"])


def history(client: Client) -> tuple[date, date]:
    """The first and the last day of the minutes that are held."""
    client.say("See what history is held")
    held = client.call("GET", "/api/market/coverage?symbol=NSE:RELIANCE")
    minutes = next(row for row in held["timeframes"] if row["timeframe"] == "1m")
    client.say(f"    {minutes['bars']} bars of 1m, {minutes['first']} to {minutes['last']}")
    return date.fromisoformat(minutes["first"][:10]), date.fromisoformat(minutes["last"][:10])


def backtest(client: Client, algorithm: str, first: date, last: date) -> None:
    """Submit, wait, read. Raises JourneyFailed."""
    client.say("Backtest it")
    body = {"algorithmId": algorithm, "startDate": str(first), "endDate": str(last)}
    found = client.call("POST", "/api/backtests", body, expect=201)
    begun = time.monotonic()
    while found["status"] in ("queued", "running"):
        if time.monotonic() - begun > SECONDS_FOR_A_BACKTEST:
            raise JourneyFailed(f"the backtest is still {found['status']} after 3 minutes")
        time.sleep(0.2)
        _, found = client.send("GET", f"/api/backtests/{found['id']}", None)
    if found["status"] != "completed":
        raise JourneyFailed(f"the backtest {found['status']}: {found['error']}")
    client.say(f"    completed after {time.monotonic() - begun:.1f} s")
    _read(client, found)


def _read(client: Client, backtest: Any) -> None:
    """Any: JSON."""
    client.say("Read what came of it")
    shown = ("totalTrades", "winRate", "netProfit", "roi", "charges", "profitFactor", "maxDrawdown")
    for name in shown:
        client.say(f"    {name:13} {backtest['performance'][name]}")
    path = f"/api/backtests/{backtest['id']}"
    trades = client.call("GET", path + "/trades?limit=3")
    for trade in trades["data"]:
        client.say(f"    {traded(trade)}")
    points = client.call("GET", path + "/equity?points=60")["points"]
    client.say(f"    equity {_sparkline([point['equity'] for point in points])}")


def _sparkline(values: list[float]) -> str:
    low, high = min(values), max(values)
    steps = len(_BARS) - 1
    return "".join(_BARS[round((value - low) / ((high - low) or 1.0) * steps)] for value in values)


def traded(trade: Any) -> str:
    """One trade in a line. Any: JSON."""
    return (
        f"{trade['side']:5} {trade['quantity']:g} at {trade['entryPrice']:.2f}, out at"
        f" {trade['exitPrice']:.2f} by {trade['exitReason']}: {trade['profit']:+.2f}"
    )
