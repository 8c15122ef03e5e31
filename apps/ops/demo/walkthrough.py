"""The main journey of a client over HTTP: from signing up to signing out."""

import time
from collections.abc import Callable, Mapping
from datetime import date, timedelta
from typing import Any, Final

from apps.ops.demo.client import Client, DemoFailed
from apps.ops.demo.webhook_receiver import WebhookReceiver

DEMO_ALGORITHM: Final[Mapping[str, object]] = {
    "name": "Crossing averages",
    "basicInfo": {"strategyType": "momentum", "timeframe": "5m", "symbols": ["NSE:RELIANCE"]},
    "positionSizing": {"method": "risk_based", "riskPercentage": 0.2},
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
SECONDS_FOR_A_BACKTEST: Final = 180.0
SPARKS: Final = " ▁▂▃▄▅▆▇█"
EVENTS: Final = ("algorithm.started", "trade.executed", "algorithm.stopped")
DAYS_ON_PAPER: Final = 5
SECONDS_TO_CATCH_UP: Final = 120.0
SECONDS_WITHOUT_SIGNALS: Final = 3.0

# Replays a symbol's stored candles of a timeframe from a date on, as if they came in now.
PlayCandles = Callable[[str, str, date], None]


def run_demo(
    client: Client, *, password: str, feed: PlayCandles, receiver: WebhookReceiver
) -> None:
    """Go through every step. Raises DemoFailed at the first unexpected response."""
    _sign_up(client, password)
    _look_up_symbols(client)
    algorithm = _describe_algorithm(client)
    first, last = _show_history(client)
    _backtest(client, algorithm, first, last)
    _trade_on_paper(client, algorithm, last, feed=feed, receiver=receiver)
    _sign_out(client)


def _sign_up(client: Client, password: str) -> None:
    client.say("Sign up")
    body = {"email": "trader@example.com", "password": password, "name": "A Trader"}
    client.token = client.call("POST", "/api/auth/signup", body, expect=201)["accessToken"]
    profile = client.call("GET", "/api/auth/profile")
    client.say(f"    {profile['name']} <{profile['email']}>, role {profile['role']}")


def _look_up_symbols(client: Client) -> None:
    client.say("Look up symbols")
    results = client.call("GET", "/api/symbols/search?query=RELI&exchange=NSE")["results"]
    client.say(f"    {', '.join(row['symbol'] for row in results)}")
    for symbol in ("NSE:RELIANCE", "NSE:reliance"):
        answer = client.call("POST", "/api/symbols/validate", {"symbol": symbol})
        client.say(f"    {symbol}: valid {answer['valid']}, tradable {answer['tradable']}")


def _describe_algorithm(client: Client) -> str:
    client.say("Describe an algorithm, step by step")
    draft = client.call("POST", "/api/trading/algorithms", {}, expect=201)
    path = f"/api/trading/algorithms/{draft['id']}"
    client.say(f"    {draft['name']}: {draft['status']}")
    mistyped = {"exitConditions": {"stopLos": {"type": "percentage", "percentage": 0.5}}}
    refusal = client.call("PATCH", path, mistyped, expect=400)["error"]
    client.say(f"    refused, as it should be: {refusal['message']}")
    complete = client.call("PUT", path, DEMO_ALGORITHM)
    client.say(f"    {complete['name']}: {complete['status']}, version {complete['version']}")
    validation = client.call("POST", path + "/validate")
    client.say(
        f"    valid {validation['valid']}, missing {validation['missingFields'] or 'nothing'}"
    )
    return str(draft["id"])


def _show_history(client: Client) -> tuple[date, date]:
    """Return the first and the last day with stored minutes."""
    client.say("See what history is held")
    coverage = client.call("GET", "/api/market/coverage?symbol=NSE:RELIANCE")
    minutes = next(row for row in coverage["timeframes"] if row["timeframe"] == "1m")
    client.say(f"    {minutes['bars']} bars of 1m, {minutes['first']} to {minutes['last']}")
    return date.fromisoformat(minutes["first"][:10]), date.fromisoformat(minutes["last"][:10])


def _backtest(client: Client, algorithm: str, first: date, last: date) -> None:
    client.say("Backtest it")
    body = {"algorithmId": algorithm, "startDate": str(first), "endDate": str(last)}
    backtest = client.call("POST", "/api/backtests", body, expect=201)
    begun = time.monotonic()
    while backtest["status"] in ("queued", "running"):
        if time.monotonic() - begun > SECONDS_FOR_A_BACKTEST:
            raise DemoFailed(f"the backtest is still {backtest['status']} after 3 minutes")
        time.sleep(0.2)
        _, backtest = client.send("GET", f"/api/backtests/{backtest['id']}", None)
    if backtest["status"] != "completed":
        raise DemoFailed(f"the backtest {backtest['status']}: {backtest['error']}")
    client.say(f"    completed after {time.monotonic() - begun:.1f} s")
    _show_result(client, backtest)


def _show_result(client: Client, backtest: Any) -> None:
    client.say("Read what came of it")
    shown = ("totalTrades", "winRate", "netProfit", "roi", "charges", "profitFactor", "maxDrawdown")
    for name in shown:
        client.say(f"    {name:13} {backtest['performance'][name]}")
    for note in backtest["receipt"]["notes"]:
        client.say(f"    {note['message']}")
    path = f"/api/backtests/{backtest['id']}"
    trades = client.call("GET", path + "/trades?limit=3")
    for trade in trades["data"]:
        client.say(f"    {_trade_line(trade)}")
    points = client.call("GET", path + "/equity?points=60")["points"]
    client.say(f"    equity {_sparkline([point['equity'] for point in points])}")


def _trade_on_paper(
    client: Client, algorithm: str, last: date, *, feed: PlayCandles, receiver: WebhookReceiver
) -> None:
    """Start the algorithm, replay its last days, stop it."""
    client.say("Trade it on paper")
    webhook = {"url": receiver.url, "events": list(EVENTS)}
    receiver.secret = client.call("POST", "/api/webhooks", webhook, expect=201)["secret"]
    path = f"/api/trading/algorithms/{algorithm}"
    client.call("POST", path + "/start")
    begun = last - timedelta(days=DAYS_ON_PAPER - 1)
    feed("NSE:RELIANCE", "5m", begun)
    client.say(f"    played {begun} to {last} as if it came in now")
    _wait_for_signals(client, path)
    _show_trades(client, path)
    client.call("POST", path + "/stop")
    _wait_for_webhooks(client, receiver)


def _wait_for_signals(client: Client, path: str) -> None:
    """Wait until there is a signal, and then until no more come for a while."""
    before, since, begun = 0, time.monotonic(), time.monotonic()
    while before == 0 or time.monotonic() - since < SECONDS_WITHOUT_SIGNALS:
        if time.monotonic() - begun > SECONDS_TO_CATCH_UP:
            raise DemoFailed(f"nothing was traded in {SECONDS_TO_CATCH_UP:.0f} s")
        time.sleep(0.2)
        count = client.send("GET", path + "/signals?limit=1", None)[1]["pagination"]["total"]
        if count != before:
            before, since = count, time.monotonic()


def _show_trades(client: Client, path: str) -> None:
    trades = client.call("GET", path + "/trades?sort=exitTime&order=asc&limit=100")["data"]
    if not trades:
        raise DemoFailed("a week on paper ended without a trade")
    for trade in trades:
        client.say(f"    {trade['exitTime'][:10]} {_trade_line(trade)}")
    performance = client.call("GET", path + "/performance")["performance"]
    client.say(f"    net profit of {performance['totalTrades']} trades: {performance['netProfit']}")
    account = client.call("GET", "/api/trading/account")
    client.say(f"    balance {account['balance']}, reserved {account['reserved']}")


def _wait_for_webhooks(client: Client, receiver: WebhookReceiver) -> None:
    """Wait until each event was delivered, signed."""
    begun = time.monotonic()
    while len(counts := receiver.count_by_type()) < len(EVENTS):
        if time.monotonic() - begun > SECONDS_TO_CATCH_UP:
            raise DemoFailed(f"of {EVENTS} only {dict(counts)} was delivered")
        time.sleep(0.2)
    for name in EVENTS:
        client.say(f"    told by webhook, and signed: {counts[name]} x {name}")


def _sign_out(client: Client) -> None:
    client.say("Sign out")
    client.call("POST", "/api/auth/logout")
    client.call("GET", "/api/auth/profile", expect=401)


def _sparkline(values: list[float]) -> str:
    low, high = min(values), max(values)
    steps = len(SPARKS) - 1
    return "".join(SPARKS[round((value - low) / ((high - low) or 1.0) * steps)] for value in values)


def _trade_line(trade: Any) -> str:
    return (
        f"{trade['side']:5} {trade['quantity']:g} at {trade['entryPrice']:.2f}, out at"
        f" {trade['exitPrice']:.2f} by {trade['exitReason']}: {trade['profit']:+.2f}"
    )
