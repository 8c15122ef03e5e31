"""The main job, walked over HTTP as a client would: sign up, describe, backtest, read, sign out."""

import json
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

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


class JourneyFailed(Exception):
    """The service answered something else than a client may expect."""


@dataclass(slots=True)
class Client:
    """JSON over HTTP with a bearer token. Any: JSON of many shapes."""

    address: str
    say: Callable[[str], None]
    token: str = field(default="", repr=False)

    def call(self, method: str, path: str, body: object = None, *, expect: int = 200) -> Any:
        status, answer = self.send(method, path, body)
        self.say(f"  {method:6} {path}  ->  {status}")
        if status != expect:
            raise JourneyFailed(f"{method} {path} answered {status}, not {expect}: {answer}")
        return answer

    def send(self, method: str, path: str, body: object) -> tuple[int, Any]:
        request = urllib.request.Request(self.address + path, method=method)
        if self.token:
            request.add_header("Authorization", f"Bearer {self.token}")
        if body is not None:
            request.data = json.dumps(body).encode()
            request.add_header("Content-Type", "application/json")
        try:
            with urllib.request.urlopen(request, timeout=30) as response:
                return response.status, json.loads(response.read() or b"null")
        except urllib.error.HTTPError as error:
            return error.code, json.loads(error.read())


def walk(client: Client, *, password: str) -> None:
    """The whole journey; raises JourneyFailed at the first answer that is not as it should be."""
    _sign_up(client, password)
    _look_up_symbols(client)
    algorithm = _describe(client)
    first, last = _history(client)
    backtest = _backtest(client, algorithm, first, last)
    _read(client, backtest)
    _sign_out(client)


def _sign_up(client: Client, password: str) -> None:
    client.say("Sign up")
    body = {"email": "trader@example.com", "password": password, "name": "A Trader"}
    client.token = client.call("POST", "/api/auth/signup", body, expect=201)["accessToken"]
    profile = client.call("GET", "/api/auth/profile")
    client.say(f"    {profile['name']} <{profile['email']}>, role {profile['role']}")


def _look_up_symbols(client: Client) -> None:
    client.say("Look up symbols")
    found = client.call("GET", "/api/symbols/search?query=RELI&exchange=NSE")["results"]
    client.say(f"    {', '.join(row['symbol'] for row in found)}")
    for symbol in ("NSE:RELIANCE", "NSE:reliance"):
        answer = client.call("POST", "/api/symbols/validate", {"symbol": symbol})
        client.say(f"    {symbol}: valid {answer['valid']}, tradable {answer['tradable']}")


def _describe(client: Client) -> str:
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


def _history(client: Client) -> tuple[str, str]:
    client.say("See what history is held")
    held = client.call("GET", "/api/market/coverage?symbol=NSE:RELIANCE")
    minutes = next(row for row in held["timeframes"] if row["timeframe"] == "1m")
    client.say(f"    {minutes['bars']} bars of 1m, {minutes['first']} to {minutes['last']}")
    return minutes["first"][:10], minutes["last"][:10]


def _backtest(client: Client, algorithm: str, first: str, last: str) -> Any:
    client.say("Backtest it")
    body = {"algorithmId": algorithm, "startDate": first, "endDate": last}
    backtest = client.call("POST", "/api/backtests", body, expect=201)
    begun = time.monotonic()
    while backtest["status"] in ("queued", "running"):
        if time.monotonic() - begun > SECONDS_FOR_A_BACKTEST:
            raise JourneyFailed(f"the backtest is still {backtest['status']} after 3 minutes")
        time.sleep(0.2)
        _, backtest = client.send("GET", f"/api/backtests/{backtest['id']}", None)
    if backtest["status"] != "completed":
        raise JourneyFailed(f"the backtest {backtest['status']}: {backtest['error']}")
    client.say(f"    completed after {time.monotonic() - begun:.1f} s")
    return backtest


def _read(client: Client, backtest: Any) -> None:
    client.say("Read what came of it")
    shown = ("totalTrades", "winRate", "netProfit", "roi", "charges", "profitFactor", "maxDrawdown")
    for name in shown:
        client.say(f"    {name:13} {backtest['performance'][name]}")
    path = f"/api/backtests/{backtest['id']}"
    trades = client.call("GET", path + "/trades?limit=3")
    for trade in trades["data"]:
        client.say(
            f"    {trade['side']:5} {trade['quantity']:g} at {trade['entryPrice']:.2f}, out at"
            f" {trade['exitPrice']:.2f} by {trade['exitReason']}: {trade['profit']:+.2f}"
        )
    points = client.call("GET", path + "/equity?points=60")["points"]
    client.say(f"    equity {_sparkline([point['equity'] for point in points])}")


def _sparkline(values: list[float]) -> str:
    low, high = min(values), max(values)
    steps = len(_BARS) - 1
    return "".join(_BARS[round((value - low) / ((high - low) or 1.0) * steps)] for value in values)


def _sign_out(client: Client) -> None:
    client.say("Sign out")
    client.call("POST", "/api/auth/logout")
    client.call("GET", "/api/auth/profile", expect=401)
