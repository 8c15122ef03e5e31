"""A past week traded on paper, and what is told of it."""

import time
from collections import Counter
from collections.abc import Callable
from datetime import date, timedelta
from typing import Final

from apps.ops.demo.client import Client, JourneyFailed
from apps.ops.demo.listener import Listener
from apps.ops.demo.research import traded

EVENTS: Final = ("algorithm.started", "trade.executed", "algorithm.stopped")
DAYS: Final = 5
SECONDS_TO_CATCH_UP: Final = 120.0  # the first runner of all waits for the compiler
SECONDS_OF_REST: Final = 3.0

# Plays a symbol's stored candles of a timeframe from a date on, as if they came in now.
Feed = Callable[[str, str, date], None]


def trade(client: Client, algorithm: str, last: date, *, feed: Feed, listener: Listener) -> None:
    """Start the algorithm, play its last days, stop it. Raises JourneyFailed."""
    client.say("Trade it on paper")
    webhook = {"url": listener.url, "events": list(EVENTS)}
    listener.secret = client.call("POST", "/api/webhooks", webhook, expect=201)["secret"]
    path = f"/api/trading/algorithms/{algorithm}"
    client.call("POST", path + "/start")
    begun = last - timedelta(days=DAYS - 1)
    feed("NSE:RELIANCE", "5m", begun)
    client.say(f"    played {begun} to {last} as if it came in now")
    _wait_until_at_rest(client, path)
    _read(client, path)
    client.call("POST", path + "/stop")
    _hear(client, listener)


def _wait_until_at_rest(client: Client, path: str) -> None:
    """Until something was traded, and for a while nothing more."""
    before, since, begun = 0, time.monotonic(), time.monotonic()
    while before == 0 or time.monotonic() - since < SECONDS_OF_REST:
        if time.monotonic() - begun > SECONDS_TO_CATCH_UP:
            raise JourneyFailed(f"nothing was traded in {SECONDS_TO_CATCH_UP:.0f} s")
        time.sleep(0.2)
        count = client.send("GET", path + "/signals?limit=1", None)[1]["pagination"]["total"]
        if count != before:
            before, since = count, time.monotonic()


def _read(client: Client, path: str) -> None:
    trades = client.call("GET", path + "/trades?sort=exitTime&order=asc&limit=100")["data"]
    if not trades:
        raise JourneyFailed("a week on paper ended without a trade")
    for one in trades:
        client.say(f"    {one['exitTime'][:10]} {traded(one)}")
    performance = client.call("GET", path + "/performance")["performance"]
    client.say(f"    net profit of {performance['totalTrades']} trades: {performance['netProfit']}")
    account = client.call("GET", "/api/trading/account")
    client.say(f"    balance {account['balance']}, reserved {account['reserved']}")


def _hear(client: Client, listener: Listener) -> None:
    """What the service told by itself, each message signed."""
    begun = time.monotonic()
    while len(heard := Counter(one["type"] for one in listener.heard.values())) < len(EVENTS):
        if time.monotonic() - begun > SECONDS_TO_CATCH_UP:
            raise JourneyFailed(f"of {EVENTS} only {dict(heard)} was delivered")
        time.sleep(0.2)
    for name in EVENTS:
        client.say(f"    told by webhook, and signed: {heard[name]} x {name}")
