"""Backtests: submit, wait, and read results with their evidence."""

from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

from .errors import BacktestNotCompleted, EvidenceNotReady
from .frames import ARROW, DataFrame, to_frame
from .records import (
    Backtest,
    BacktestComparison,
    BacktestItem,
    Evidence,
    Explanation,
    Json,
    ReportLink,
    Trade,
    WhatIf,
)
from .resource import Id, Moment, Resource, id_of, to_text, to_wire

_PATH = "/api/backtests"
_OPEN = ("queued", "running")


class Backtests(Resource):
    def list(
        self, *, algorithm: Id | None = None, status: str | None = None
    ) -> Iterator[BacktestItem]:
        """Yield all backtests, newest first."""
        query = {"algorithmId": algorithm and id_of(algorithm), "status": status}
        return self._listed(BacktestItem, _PATH, query, is_growing=True)

    def get(self, backtest: Id) -> Backtest:
        return self._with_page(self._get(Backtest, f"{_PATH}/{id_of(backtest)}"))

    def submit(
        self,
        algorithm: Id,
        start: Moment,
        end: Moment,
        *,
        idempotency_key: str | None = None,
        **options: Any,
    ) -> Backtest:
        """Submit a backtest and return it without waiting.

        Options are those of the call in snake case: `kind`, `name`, `initial_capital`,
        `walk_forward_config` and more.
        """
        dates = {"startDate": to_text(start), "endDate": to_text(end)}
        body = {"algorithmId": id_of(algorithm), **dates, **to_wire(options)}
        return self._post(Backtest, _PATH, body, idempotency_key=idempotency_key)

    def wait(
        self,
        backtest: Id,
        *,
        progress: Callable[[Backtest], None] | None = None,
        seconds: float | None = None,
    ) -> Backtest:
        """Wait until a backtest is completed, and return it.

        `progress` is called with it every two seconds. Raises BacktestNotCompleted if it failed,
        was cancelled, or goes on after `seconds`.
        """
        answer = self._until(
            f"{_PATH}/{id_of(backtest)}",
            lambda answer: answer["status"] not in _OPEN,
            progress=progress and (lambda answer: progress(Backtest.read(answer))),
            seconds=seconds,
        )
        ended = self._with_page(Backtest.read(answer))
        if ended.status != "completed":
            reason = f": {ended.error.message}" if ended.error else "."
            raise BacktestNotCompleted(f"The backtest {ended.id} is {ended.status}{reason}")
        return ended

    def run(
        self,
        algorithm: Id,
        start: Moment,
        end: Moment,
        *,
        progress: Callable[[Backtest], None] | None = None,
        seconds: float | None = None,
        **options: Any,
    ) -> Backtest:
        """Submit a backtest and wait for it."""
        submitted = self.submit(algorithm, start, end, **options)
        return self.wait(submitted, progress=progress, seconds=seconds)

    def cancel(self, backtest: Id) -> Backtest:
        return self._post(Backtest, f"{_PATH}/{id_of(backtest)}/cancel")

    def delete(self, backtest: Id) -> None:
        self._transport.call("DELETE", f"{_PATH}/{id_of(backtest)}")

    def trades(self, backtest: Id) -> DataFrame:
        """Return all trades as a data frame."""
        return self._frame(backtest, "trades")

    def equity(self, backtest: Id) -> DataFrame:
        """Return the equity curve as a data frame."""
        return self._frame(backtest, "equity")

    def list_trades(self, backtest: Id) -> Iterator[Trade]:
        return self._listed(Trade, f"{_PATH}/{id_of(backtest)}/trades")

    def evidence(
        self, backtest: Id, *, as_of: Moment | None = None, seconds: float | None = None
    ) -> Evidence:
        """Return how far a result can be trusted, when it is ready. Raises EvidenceNotReady."""
        answer = self._until(
            f"{_PATH}/{id_of(backtest)}/evidence",
            lambda answer: answer["status"] not in _OPEN,
            query={"asOf": to_text(as_of)},
            seconds=seconds,
        )
        evidence = Evidence.read(answer)
        if evidence.status != "ready":
            reason = f": {evidence.error['message']}" if evidence.error else "."
            raise EvidenceNotReady(f"The evidence is {evidence.status}{reason}")
        return evidence

    def explain(self, backtest: Id, symbol: str, at: Moment) -> Explanation:
        """Explain the entries and exits at a candle, or why there was none."""
        path = f"{_PATH}/{id_of(backtest)}/explain"
        return self._get(Explanation, path, symbol=symbol, at=to_text(at))

    def compare(self, first: Id, second: Id) -> BacktestComparison:
        return self._get(
            BacktestComparison, f"{_PATH}/compare", ids=f"{id_of(first)},{id_of(second)}"
        )

    def what_if(self, backtest: Id, **changes: Any) -> WhatIf:
        """Simulate a backtest with changed settings, by their wire names."""
        return self._post(WhatIf, f"{_PATH}/{id_of(backtest)}/what-if", changes)

    def receipt(self, backtest: Id) -> Json:
        """Return the hashes of all inputs, with the steps."""
        answer: Json = self._transport.call("GET", f"{_PATH}/{id_of(backtest)}/receipt")
        return answer

    def share(self, backtest: Id) -> ReportLink:
        """Return a link to the result page that works for 24 hours without a key."""
        return self._post(ReportLink, f"{_PATH}/{id_of(backtest)}/report-link")

    def report(self, backtest: Id) -> str:
        """Return the result page as HTML that needs no network."""
        path = f"{_PATH}/{id_of(backtest)}/report"
        return self._transport.read(path, accept="text/html").decode()

    def _frame(self, backtest: Id, name: str) -> DataFrame:
        path = f"{_PATH}/{id_of(backtest)}/{name}"
        return to_frame(self._transport.read(path, accept=ARROW, query={"whole": True}))

    def _with_page(self, backtest: Backtest) -> Backtest:
        """Let a notebook read the result page of a completed backtest."""
        if backtest.status != "completed":
            return backtest
        return replace(backtest, page=lambda: self.report(backtest))
