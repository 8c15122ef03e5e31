"""From the POST of a backtest to its answer, over HTTP, against a service as users run it."""

import csv
import json
import statistics
import time
from collections.abc import Iterator
from contextlib import closing
from datetime import UTC, datetime
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from apps.engine.candles import Candles
from apps.market.rulebook.sessions import sessions_of
from apps.ops.demo.walkthrough import DEMO_ALGORITHM
from tests.benchmarks.json_client import JsonClient
from tests.benchmarks.random_candles import session_bars
from tests.benchmarks.side_by_side import MEASURED, Row
from tests.faults.service import Service, service

pytestmark = [pytest.mark.bench, pytest.mark.timeout(600)]

SYMBOL = "NSE:RELIANCE"
SESSIONS = 248  # of 375 minutes: 93,000
UNTIMED, TIMED = 5, 30

EVERY_RULE = {
    **DEMO_ALGORITHM,
    "basicInfo": {"strategyType": "momentum", "timeframe": "1m", "symbols": [SYMBOL]},
    "exitConditions": {
        "stopLoss": {"type": "percentage", "percentage": 0.5},
        "takeProfit": {"type": "risk_reward", "ratio": 2},
        "trailingStop": {
            "enabled": True,
            "type": "percentage",
            "percentage": 0.4,
            "activationThreshold": 0.5,
        },
        "squareOffTime": "15:15",
        "maxHoldingCandles": 120,
        "exitOnOppositeSignal": True,
    },
}


def minutes_of_2024() -> Candles:
    """Return the walk, stamped with the calendar's sessions."""
    days = np.arange(19_723, 20_200, dtype=np.int32)
    calendar = sessions_of(SYMBOL)
    opens, closes = calendar.hours(days[calendar.is_session(days)])
    whole = opens[closes - opens == 375 * 60][:SESSIONS]
    walk = session_bars(SESSIONS)
    return Candles.build(
        (whole[:, None] + 60 * np.arange(375)).ravel(),
        open=walk.open,
        high=walk.high,
        low=walk.low,
        close=walk.close,
        volume=walk.volume,
    )


def write_minutes(path: Path) -> None:
    candles = minutes_of_2024()
    with path.open("w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(("time", "open", "high", "low", "close", "volume"))
        columns = (candles.open, candles.high, candles.low, candles.close, candles.volume)
        rows = zip(*(column.tolist() for column in columns), strict=True)
        for stamp, row in zip(candles.time.tolist(), rows, strict=True):
            writer.writerow([datetime.fromtimestamp(stamp, tz=UTC).isoformat(), *row])


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Service]:
    """Yield a service with the minutes stored."""
    path = tmp_path / "minutes.csv"
    write_minutes(path)
    with service() as started:
        started.manage("load_candles", str(path), "--symbol", SYMBOL, "--timeframe", "1m")
        yield started


def signed_up(port: int, email: str = "trader@example.com") -> JsonClient:
    client = JsonClient(f"http://127.0.0.1:{port}")
    body = {"email": email, "password": "a long password", "name": "A Trader"}
    client.token = client.call("POST", "/api/auth/signup", body, expect=201)["accessToken"]
    return client


def backtest(connection: HTTPConnection, token: str, algorithm: str, first: str, last: str) -> Any:
    """Submit it and wait for its end, in one exchange."""
    body = {"algorithmId": algorithm, "startDate": first, "endDate": last}
    headers = {
        "Authorization": f"Bearer {token}",
        "Content-Type": "application/json",
        "Prefer": "wait=30",
    }
    connection.request("POST", "/api/backtests", json.dumps(body), headers)
    answer = json.loads(connection.getresponse().read())
    assert answer["status"] == "completed", answer
    return answer


def test_from_submission_to_result(running: Service) -> None:
    client = signed_up(running.port)
    algorithm = client.call("POST", "/api/trading/algorithms", EVERY_RULE, expect=201)["id"]
    taken, worked = [], []
    with closing(HTTPConnection("127.0.0.1", running.port, timeout=60)) as connection:
        for _ in range(UNTIMED + TIMED):
            begun = time.perf_counter()
            done = backtest(connection, client.token, algorithm, "2024-01-01", "2025-04-20")
            taken.append(time.perf_counter() - begun)
            worked.append(seconds_between(done["startedAt"], done["completedAt"]))
    taken, worked = taken[UNTIMED:], worked[UNTIMED:]
    middle, late = (1000 * float(np.percentile(taken, q)) for q in (50, 95))
    figures = f"half under {middle:,.0f} ms, 95 % under {late:,.0f} ms"
    name = f"{SESSIONS * 375:,} minutes, every rule: POST to the completed backtest, over HTTP"
    share = 1000 * statistics.median(worked)
    print(f"\n{name}: {figures}, of which the worker takes {share:,.0f} ms")
    print(f"{done['performance']['totalTrades']:,} trades that won or lost")
    MEASURED.append(Row(name, figures))


def seconds_between(start: str, end: str) -> float:
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()
