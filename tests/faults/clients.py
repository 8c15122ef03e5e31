"""Clients that keep writing through faults, and remember every answer."""

import random
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from tests.faults.service import Answer, Caller

PASSWORD: Final = "correct horse battery"
# A strategy on days, over in milliseconds.
DAYS: Final = {
    "basicInfo": {"strategyType": "momentum", "timeframe": "1d", "symbols": ["NSE:RELIANCE"]},
    "positionSizing": {"method": "risk_based", "riskPercentage": 1},
    "entryConditions": {
        "positionType": "both",
        "conditions": [
            {
                "type": "indicator_indicator",
                "operator": "crosses_above",
                "indicator1": {"type": "EMA", "period": 5},
                "indicator2": {"type": "EMA", "period": 13},
            }
        ],
    },
    "exitConditions": {"stopLoss": {"type": "percentage", "percentage": 1}},
    "riskParameters": {"maxPositionSize": 500_000, "maxDailyLoss": 20_000, "maxOpenPositions": 1},
    "executionSettings": {"mode": "paper", "exchange": "NSE", "orderType": "market"},
}


def allowed(answer: Answer) -> bool:
    """Allowed answers while processes are killed: done, slow down, try later (and when), or no
    answer.
    """
    if answer.status in (429, 503):
        return "Retry-After" in answer.headers
    return answer.is_good or answer.status == 0


@dataclass(slots=True)
class Journal:
    """The answers to one client: acknowledged writes must be stored for ever.

    `names` has the possible present names, keyed by algorithm: the last acknowledged one, and later
    ones without an answer.
    """

    names: dict[str, set[str]] = field(default_factory=dict)
    backtests: list[str] = field(default_factory=list)
    statuses: Counter[int] = field(default_factory=Counter)
    unexpected: list[str] = field(default_factory=list)
    # When each 2xx came, by time.monotonic.
    good: list[float] = field(default_factory=list)


@dataclass(slots=True)
class Writer:
    """Signs up, then creates, renames and submits until it is stopped."""

    name: str
    caller: Caller
    rng: random.Random
    journal: Journal = field(default_factory=Journal)
    written: int = 0

    def run(self, stop: threading.Event) -> None:
        while not self.caller.token and not stop.is_set():
            self._sign_in()
        while not stop.is_set():
            self._write()
            stop.wait(self.rng.uniform(0.0, 0.1))

    def _sign_in(self) -> None:
        """An answer may be lost after the account was made, so the second try may log in."""
        body = {"email": f"{self.name}@example.com", "password": PASSWORD, "name": "A Writer"}
        made = self.caller.call("POST", "/api/auth/signup", body)
        if made.status == 409:
            del body["name"]
            made = self.caller.call("POST", "/api/auth/login", body)
        self._note("sign in", made)

    def _write(self) -> None:
        known = list(self.journal.names)
        draw = self.rng.random()
        if not known or draw < 0.2:
            self._create()
        elif draw < 0.85:
            self._rename(self.rng.choice(known))
        else:
            self._submit(self.rng.choice(known))

    def _create(self) -> None:
        name = self._new_name()
        made = self._send("POST", "/api/trading/algorithms", {"name": name, **DAYS})
        if made.is_good:
            self.journal.names[str(made["id"])] = {name}

    def _rename(self, algorithm: str) -> None:
        name = self._new_name()
        changed = self._send("PATCH", f"/api/trading/algorithms/{algorithm}", {"name": name})
        if changed.is_good:
            self.journal.names[algorithm] = {name}
        elif changed.status in (0, 503):
            self.journal.names[algorithm].add(name)

    def _submit(self, algorithm: str) -> None:
        body = {"algorithmId": algorithm, "startDate": "2023-01-01", "endDate": "2023-12-31"}
        submitted = self._send("POST", "/api/backtests", body)
        if submitted.is_good:
            self.journal.backtests.append(str(submitted["id"]))

    def _send(self, method: str, path: str, body: object) -> Answer:
        answer = self.caller.call(method, path, body)
        self._note(f"{method} {path}", answer)
        return answer

    def _note(self, call: str, answer: Answer) -> None:
        self.journal.statuses[answer.status] += 1
        if answer.is_good:
            self.journal.good.append(time.monotonic())
        if not allowed(answer):
            self.journal.unexpected.append(f"{call}: {answer.status} {answer.body}")

    def _new_name(self) -> str:
        self.written += 1
        return f"{self.name} {self.written}"


@contextmanager
def writing(port: int, *, count: int, seed: int) -> Iterator[list[Writer]]:
    """Run clients that write until the end of the block; afterwards all have their last answer."""
    writers = [
        Writer(f"writer{number}", Caller(port), random.Random(f"{seed}.{number}"))
        for number in range(count)
    ]
    stop = threading.Event()
    threads = [threading.Thread(target=writer.run, args=(stop,)) for writer in writers]
    for thread in threads:
        thread.start()
    try:
        yield writers
    finally:
        stop.set()
        for thread in threads:
            thread.join()
