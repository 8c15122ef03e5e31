"""A run stepped by the engine itself over a test's own bars, and recorded."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Any

import numpy as np

from apps.accounts.models import User
from apps.engine.candles import ist_day
from apps.engine.candles.candles import frozen
from apps.engine.kernel import kernel, records, saved
from apps.engine.kernel.codes import BY_EXPIRY
from apps.engine.language import strategy as engine
from apps.engine.simulation.plan import Contract, contract_rows, plan_of
from apps.trading.booking.record import book_steps
from apps.trading.booking.step_result import BarStep
from apps.trading.models import BarStream, Run, RunState
from tests import make
from tests.engine.random_cases import check_arrays
from tests.trading.algorithm_states import start

OPENING = int(datetime(2026, 11, 2, 3, 45, tzinfo=UTC).timestamp())
BAR = 900
RATE = (0, 0, 0.001, 20.0, 0.0, 0.001, 0.0003, 0.0, 0.0, 0.0, 0.18, 0.0, 13.0)
"""Brokerage 0.1 % up to 20 rupees, 0.1 % tax of sales, 0.03 % to the exchange, GST; 13 rupees for a
sale of what was bought on an earlier day.
"""

Bar = tuple[float, float, float, float]
SILENT: Mapping[str, int] = {}


def steps_of(*symbols: str, **replaced: Any) -> dict[str, Any]:
    """Return steps: ten at a time, stop 2 %, target 4 %, both sides."""
    return (
        make.steps(
            basicInfo={"strategyType": "momentum", "timeframe": "15m", "symbols": list(symbols)},
            positionSizing={"method": "fixed_quantity", "quantity": 10},
            exitConditions={
                "stopLoss": {"type": "percentage", "percentage": 2},
                "takeProfit": {"type": "percentage", "percentage": 4},
            },
            executionSettings={
                "mode": "paper",
                "exchange": "NSE",
                "orderType": "market",
                "productType": "carryforward",
            },
        )
        | replaced
    )


@dataclass
class Stepper:
    """A run with its present state."""

    run: Run
    state: records.State
    contracts: tuple[Contract, ...]
    time: int = OPENING

    @property
    def now(self) -> datetime:
        """The time of recording the next row."""
        return datetime.fromtimestamp(self.time, UTC) + timedelta(seconds=BAR + 1)

    @property
    def before(self) -> datetime:
        """The time of recording the last row."""
        return self.now - timedelta(seconds=BAR)

    def step(self, bars: Mapping[str, Bar], signals: Mapping[str, int] = SILENT) -> BarStep:
        """Step through the next row, with bars of some symbols."""
        strategy = engine.parse(self.run.configuration)
        symbols = strategy.basicInfo.symbols
        present = [symbol for symbol in symbols if symbol in bars]
        cell = np.array([[present.index(s) if s in bars else -1 for s in symbols]], np.int32)
        bits = np.array([[signals.get(symbol, 0)] for symbol in symbols], np.uint8)
        prices = np.array([bars[symbol] for symbol in present], float).reshape(-1, 4)
        columns = records.Bars(*(frozen(prices[:, k].copy()) for k in range(4)))
        time = frozen(np.array([self.time]))
        flags, ranges = np.empty(0, np.uint8), np.empty((0, records.RANGES))
        market = records.MarketRows(time, ist_day(time), cell, columns, ranges, flags)
        out, rules = self._output(), self._rules(strategy)
        before, state = self.state, self._copy()
        check_arrays(state, market, bits, rules, out)
        ran = kernel.run(state, market, bits, rules, out, 0, 1)
        self.state = state
        written = out.fills[: ran.fills], out.refusals[: ran.refusals], out.trades[: ran.trades]
        last = np.array([bars[symbol][3] if symbol in bars else np.nan for symbol in symbols])
        return replace(self._report(before, bits[:, 0], *written), last=last)

    def expire(self, symbol: str) -> BarStep:
        """Settle it at its last close, in a separate step."""
        strategy = engine.parse(self.run.configuration)
        symbols, out, rules = strategy.basicInfo.symbols, self._output(), self._rules(strategy)
        before, self.state = self.state, self._copy()
        at = symbols.index(symbol)
        n = kernel.settle(self.state, rules, out, at, BY_EXPIRY, records.LAST_CLOSE)
        return self._report(
            before,
            np.zeros(len(symbols), np.uint8),
            out.fills[:n],
            out.refusals[:0],
            out.trades[:n],
        )

    def _copy(self) -> records.State:
        """Return the state before the next row, from its bytes."""
        return saved.load(saved.save(self.state), self.state.positions["instrument"])

    def _rules(self, strategy: engine.Strategy) -> records.Rules:
        contracts = contract_rows(list(self.contracts), {"": 0})
        instruments = records.instrument_ids(strategy.basicInfo.symbols)
        rates = np.array([RATE], records.RATE)
        return records.rules_of(plan_of(strategy), instruments, contracts, rates)

    def _output(self) -> records.SimulationOutput:
        n = len(self.state.positions)
        return records.SimulationOutput(
            np.empty(2 * n, records.TRADE),
            np.empty(1),
            np.empty(records.FILLS_A_ROW * n, records.FILL),
            np.empty(2 * n, records.REFUSAL),
        )

    def _report(
        self,
        before: records.State,
        signals: records.Array,
        fills: records.Array,
        refusals: records.Array,
        trades: records.Array,
    ) -> BarStep:
        return BarStep(
            run=self.run,
            strategy=engine.parse(self.run.configuration),
            contracts=self.contracts,
            time=self.time,
            closes=self.time + BAR,
            signals=signals,
            before=before,
            state=self.state,
            fills=fills,
            refusals=refusals,
            trades=trades,
        )

    def store(self) -> None:
        """Store the state as a runner does."""
        equity = float(self.state.account["equity"][0])
        stored = RunState.objects.get(run=self.run)
        stored.peak = max(stored.peak, equity)
        fall = stored.peak - equity
        stored.drawdown = max(stored.drawdown, fall / stored.peak * 100)
        stored.drawdown_amount = max(stored.drawdown_amount, fall)
        stored.equity, stored.data = equity, saved.save(self.state)
        stored.save()
        self.time += BAR


def make_stepper(
    owner: User, *symbols: str, contract: Contract | None = None, **steps: Any
) -> Stepper:
    """Return a stepper of a new run on these symbols."""
    names = symbols or ("NSE:SBIN",)
    algorithm = make.algorithm(owner, **steps_of(*names, **steps))
    run = start(algorithm)
    stream, _ = BarStream.objects.get_or_create(
        key=" ".join(names), defaults={"symbols": list(names), "timeframe": "15m"}
    )
    stored = RunState.objects.get(run=run)
    stored.stream = stream
    stored.save(update_fields=["stream"])
    state = saved.load(bytes(stored.data), records.instrument_ids(names))
    return Stepper(run, state, (contract or Contract(),) * len(names))


def play(
    stepper: Stepper, *rows: tuple[Mapping[str, Bar], Mapping[str, int]] | Mapping[str, Bar]
) -> None:
    """Step and record row by row."""
    for row in rows:
        bars, signals = row if isinstance(row, tuple) else (row, SILENT)
        record([stepper], [(bars, signals)])


def record(
    steppers: Sequence[Stepper], rows: Sequence[tuple[Mapping[str, Bar], Mapping[str, int]]]
) -> None:
    """Record one row of several runs at once."""
    steps = [stepper.step(*row) for stepper, row in zip(steppers, rows, strict=True)]
    book_steps(steps, now=steppers[0].now)
    for stepper in steppers:
        stepper.store()
