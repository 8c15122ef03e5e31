"""Calls of clients on an ordinary day, and their permitted statuses."""

import random
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final

from tests.faults.clients import DAYS, PASSWORD
from tests.faults.service import Answer, Caller

KEPT: Final = 20  # algorithms and backtests of one client; then an old one is deleted
UNKNOWN: Final = "0" * 24
MINUTES: Final = DAYS | {
    "basicInfo": {"strategyType": "scalping", "timeframe": "1m", "symbols": ["NSE:INFY"]}
}
SYMBOLS: Final = ("NSE:RELIANCE", "NSE:INFY", "NSE:NIFTY")


@dataclass(slots=True)
class Client:
    """A user and their resources."""

    caller: Caller
    name: str
    algorithms: list[str] = field(default_factory=list)
    backtests: list[str] = field(default_factory=list)
    busy: threading.Lock = field(default_factory=threading.Lock)

    @property
    def email(self) -> str:
        return f"{self.name}@example.com"

    def sign_up(self) -> None:
        """Sign up, and create a first algorithm."""
        body = {"email": self.email, "password": PASSWORD, "name": "A Client"}
        assert self.caller.call("POST", "/api/auth/signup", body).status == 201
        assert create(self, random.Random(0)).status == 201


Call = Callable[[Client, random.Random], Answer]


@dataclass(frozen=True, slots=True)
class Operation:
    """A call with `weight`, its share of the calls, and `expected`, its permitted statuses."""

    name: str
    weight: float
    call: Call
    expected: tuple[int, ...] = (200,)


def log_in(client: Client, rng: random.Random) -> Answer:
    body = {"email": client.email, "password": PASSWORD}
    return client.caller.call("POST", "/api/auth/login", body)


def refresh(client: Client, rng: random.Random) -> Answer:
    answer = client.caller.call("POST", "/api/auth/refresh-token")
    if answer.is_good:
        client.caller.token = str(answer["accessToken"])
    return answer


def profile(client: Client, rng: random.Random) -> Answer:
    return client.caller.call("GET", "/api/auth/profile")


def list_algorithms(client: Client, rng: random.Random) -> Answer:
    sort = rng.choice(["name", "createdAt", "updatedAt"])
    return client.caller.call("GET", f"/api/trading/algorithms?limit=10&sort={sort}")


def read(client: Client, rng: random.Random) -> Answer:
    return client.caller.call("GET", _random_algorithm(client, rng))


def create(client: Client, rng: random.Random) -> Answer:
    answer = client.caller.call("POST", "/api/trading/algorithms", rng.choice([DAYS, MINUTES]))
    if answer.is_good:
        client.algorithms.append(str(answer["id"]))
    return answer


def create_or_delete(client: Client, rng: random.Random) -> Answer:
    if len(client.algorithms) < KEPT:
        return create(client, rng)
    return client.caller.call("DELETE", f"/api/trading/algorithms/{client.algorithms.pop(0)}")


def update(client: Client, rng: random.Random) -> Answer:
    stop = {"stopLoss": {"type": "percentage", "percentage": rng.randint(1, 9)}}
    return client.caller.call("PATCH", _random_algorithm(client, rng), {"exitConditions": stop})


def validate(client: Client, rng: random.Random) -> Answer:
    return client.caller.call("POST", _random_algorithm(client, rng) + "/validate")


def search(client: Client, rng: random.Random) -> Answer:
    text = rng.choice(["RELI", "nifty", "bank", "TATA", "infosys"])
    return client.caller.call("GET", f"/api/symbols/search?query={text}")


def validate_symbol(client: Client, rng: random.Random) -> Answer:
    symbol = rng.choice([*SYMBOLS, "NSE:NOSUCHNAME"])
    return client.caller.call("POST", "/api/symbols/validate", {"symbol": symbol})


def candles(client: Client, rng: random.Random) -> Answer:
    timeframe = rng.choice(["1m", "5m", "15m", "1h", "1d"])
    query = f"symbol={rng.choice(SYMBOLS)}&timeframe={timeframe}&limit={rng.choice([100, 500])}"
    return client.caller.call("GET", f"/api/market/candles?{query}")


def submit(client: Client, rng: random.Random) -> Answer:
    """Submit a backtest on the sample's sixty days of minutes."""
    algorithm = rng.choice(client.algorithms)
    body = {"algorithmId": algorithm, "startDate": "2026-04-08", "endDate": "2026-06-30"}
    answer = client.caller.call("POST", "/api/backtests", body)
    if answer.is_good:
        client.backtests.append(str(answer["id"]))
    return answer


def list_backtests(client: Client, rng: random.Random) -> Answer:
    return client.caller.call("GET", "/api/backtests?limit=10")


def read_backtest(client: Client, rng: random.Random) -> Answer:
    return client.caller.call("GET", _backtest(client, rng))


def trades(client: Client, rng: random.Random) -> Answer:
    return client.caller.call("GET", _backtest(client, rng) + "/trades?limit=50")


def equity(client: Client, rng: random.Random) -> Answer:
    return client.caller.call("GET", _backtest(client, rng) + "/equity?points=200")


def delete_backtest(client: Client, rng: random.Random) -> Answer:
    """Delete the oldest backtest; it may still be queued, and then it is kept."""
    oldest = client.backtests.pop(0) if len(client.backtests) > KEPT else UNKNOWN
    return client.caller.call("DELETE", f"/api/backtests/{oldest}")


def mistyped(client: Client, rng: random.Random) -> Answer:
    return client.caller.call(
        "PATCH", _random_algorithm(client, rng), {"exitConditions": {"stopLos": 1}}
    )


def unknown(client: Client, rng: random.Random) -> Answer:
    return client.caller.call("GET", f"/api/trading/algorithms/{UNKNOWN}")


def forged(client: Client, rng: random.Random) -> Answer:
    return Caller(client.caller.port, "not.a.token").call("GET", "/api/auth/profile")


def wrong_password(client: Client, rng: random.Random) -> Answer:
    body = {"email": client.email, "password": "another long password"}
    return Caller(client.caller.port).call("POST", "/api/auth/login", body)


def _random_algorithm(client: Client, rng: random.Random) -> str:
    return f"/api/trading/algorithms/{rng.choice(client.algorithms)}"


def _backtest(client: Client, rng: random.Random) -> str:
    return f"/api/backtests/{rng.choice(client.backtests or [UNKNOWN])}"


# 404 of a backtest: a client that has submitted none yet asks for one that is not.
OPERATIONS: Final = (
    Operation("log in", 2, log_in, (200, 429)),
    Operation("refresh", 5, refresh, (200, 429)),
    Operation("profile", 8, profile),
    Operation("list algorithms", 12, list_algorithms),
    Operation("read algorithm", 12, read),
    Operation("create or delete", 5, create_or_delete, (201, 204)),
    Operation("update algorithm", 8, update),
    Operation("validate algorithm", 4, validate),
    Operation("search symbols", 8, search),
    Operation("validate symbol", 4, validate_symbol),
    Operation("candles", 6, candles),
    Operation("submit backtest", 4, submit, (201, 429)),
    Operation("list backtests", 5, list_backtests),
    Operation("read backtest", 5, read_backtest, (200, 404)),
    Operation("trades", 3, trades, (200, 404)),
    Operation("equity", 3, equity, (200, 404)),
    Operation("delete backtest", 2, delete_backtest, (204, 404, 422)),
    Operation("wrong: field", 1, mistyped, (400,)),
    Operation("wrong: id", 1, unknown, (404,)),
    Operation("wrong: token", 1, forged, (401,)),
    Operation("wrong: password", 1, wrong_password, (401, 429)),
)
