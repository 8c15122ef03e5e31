"""Runs: algorithms that trade on paper, and their orders, trades and drift."""

from collections.abc import Iterator
from typing import Any

from .frames import ARROW, DataFrame, to_frame
from .records import (
    Account,
    Algorithm,
    Drift,
    ExecutedTrade,
    Explanation,
    KillSwitch,
    Order,
    Position,
    Signal,
    Standing,
    StartedAlgorithm,
)
from .resource import Id, Moment, Resource, id_of, to_text, to_wire

_PATH = "/api/trading/algorithms"


class Runs(Resource):
    def start(self, algorithm: Id, *, idempotency_key: str | None = None) -> StartedAlgorithm:
        path = f"{_PATH}/{id_of(algorithm)}/start"
        return self._post(StartedAlgorithm, path, idempotency_key=idempotency_key)

    def pause(self, algorithm: Id) -> Algorithm:
        """Enter nothing more; positions stay, with their exits."""
        return self._post(Algorithm, f"{_PATH}/{id_of(algorithm)}/pause")

    def resume(self, algorithm: Id) -> StartedAlgorithm:
        return self._post(StartedAlgorithm, f"{_PATH}/{id_of(algorithm)}/resume")

    def stop(self, algorithm: Id, *, close_positions: bool | None = None) -> Algorithm:
        body = to_wire({"close_positions": close_positions})
        return self._post(Algorithm, f"{_PATH}/{id_of(algorithm)}/stop", body)

    def standings(self) -> Iterator[Standing]:
        """Yield each algorithm with its profit, positions and last signal."""
        return self._listed(Standing, "/api/trading/standings")

    def standing(self, algorithm: Id) -> Standing:
        return self._get(Standing, f"{_PATH}/{id_of(algorithm)}/standing")

    def trades(self, algorithm: Id) -> DataFrame:
        """Return all trades on paper as a data frame."""
        path = f"{_PATH}/{id_of(algorithm)}/trades"
        return to_frame(self._transport.read(path, accept=ARROW, query={"whole": True}))

    def list_trades(self, algorithm: Id) -> Iterator[ExecutedTrade]:
        path = f"{_PATH}/{id_of(algorithm)}/trades"
        return self._listed(ExecutedTrade, path, is_growing=True)

    def orders(self, algorithm: Id) -> Iterator[Order]:
        return self._listed(Order, f"{_PATH}/{id_of(algorithm)}/orders", is_growing=True)

    def positions(self, algorithm: Id, *, status: str | None = None) -> Iterator[Position]:
        path = f"{_PATH}/{id_of(algorithm)}/positions"
        return self._listed(Position, path, {"status": status})

    def signals(self, algorithm: Id) -> Iterator[Signal]:
        return self._listed(Signal, f"{_PATH}/{id_of(algorithm)}/signals")

    def drift(self, algorithm: Id, *, date: Moment | None = None) -> Drift:
        """Compare a session with its backtest."""
        return self._get(Drift, f"{_PATH}/{id_of(algorithm)}/drift", date=to_text(date))

    def explain(self, algorithm: Id, symbol: str, at: Moment) -> Explanation:
        path = f"{_PATH}/{id_of(algorithm)}/explain"
        return self._get(Explanation, path, symbol=symbol, at=to_text(at))

    def account(self) -> Account:
        return self._get(Account, "/api/trading/account")

    def kill_switch(self) -> KillSwitch:
        return self._get(KillSwitch, "/api/trading/kill-switch")

    def stop_everything(self, **options: Any) -> KillSwitch:
        """Engage the kill switch: `reason` and `close_positions`."""
        return self._post(KillSwitch, "/api/trading/kill-switch", to_wire(options))
