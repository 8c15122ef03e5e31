"""Worked examples of exits and limits: their trades, by `simulate` and by the reference
implementation.
"""

import json
from datetime import datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from apps.engine.candles import Candles
from apps.engine.candles.sessions import Regime, Sessions
from apps.engine.kernel.reasons import EXIT_REASONS
from apps.engine.language.strategy import parse
from apps.engine.signals.required_inputs import required_inputs
from apps.engine.simulation.plan import plan_of, terms_of
from apps.engine.simulation.prepared_data import prepare_data
from apps.engine.simulation.simulate import History, simulate
from apps.engine.simulation.simulations import ignore_progress
from tests.engine.random_cases import Case, reference_of
from tests.engine.reference import ReferenceImplementation

EXAMPLES: list[dict[str, Any]] = json.loads(
    Path(__file__).with_name("exit_examples.json").read_text()
)
IST = timezone(timedelta(hours=5, minutes=30))
SESSIONS = Sessions.build([Regime(0, 30_000, 33_300, 55_800)])
each_example = pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example["id"])


def seconds(time: str) -> int:
    return int(datetime.fromisoformat(time).replace(tzinfo=IST).timestamp())


def histories(example: dict[str, Any]) -> list[History]:
    return [
        History(symbol, candles_of(example["candles"][symbol]), SESSIONS)
        for symbol in example["steps"]["basicInfo"]["symbols"]
    ]


def candles_of(rows: list[list[Any]]) -> Candles:
    open_, high, low, close, volume = np.array([row[1:] for row in rows], float).T
    time = [seconds(row[0]) for row in rows]
    return Candles.build(time, open=open_, high=high, low=low, close=close, volume=volume)


@each_example
def test_an_example_gives_the_expected_trades(example: dict[str, Any]) -> None:
    strategy, expected = parse(example["steps"]), example["expected"]
    capital = strategy.executionSettings.initialCapital
    result = simulate(strategy, histories(example), start=0, end=2**40, capital=capital)
    symbols = strategy.basicInfo.symbols
    trades = [
        {
            "symbol": symbols[trade["symbol"]],
            "side": "long" if trade["side"] > 0 else "short",
            "quantity": float(trade["quantity"]),
            "entryTime": wire_time(trade["entry_time"]),
            "entryPrice": round(float(trade["entry_price"]), 6),
            "exitTime": wire_time(trade["exit_time"]),
            "exitPrice": round(float(trade["exit_price"]), 6),
            "exitReason": EXIT_REASONS[trade["reason"]],
            "profit": round(float(trade["gross"] - trade["charges"]), 6),
            "bars": int(trade["bars"]),
        }
        for trade in result.trades
    ]
    assert trades == expected["trades"]
    rejected: Any = result.performance["rejectedSignals"]
    assert {name: n for name, n in rejected.items() if n} == expected["rejectedSignals"]
    assert result.performance["finalEquity"] == pytest.approx(expected["finalEquity"])


def wire_time(time: int) -> str:
    return datetime.fromtimestamp(time, IST).strftime("%Y-%m-%dT%H:%M")


@each_example
def test_the_reference_gives_the_same_trades_to_an_example(example: dict[str, Any]) -> None:
    given = histories(example)
    strategy = parse(example["steps"])
    capital = strategy.executionSettings.initialCapital
    result = simulate(strategy, given, start=0, end=2**40, capital=capital)
    reference = reference_of_example(example, given)
    assert result.trades.tolist() == reference.trades
    assert result.curve["equity"][:-1].tolist() == reference.curve[:-1]


def reference_of_example(example: dict[str, Any], given: list[History]) -> ReferenceImplementation:
    strategy = parse(example["steps"])
    data = prepare_data(strategy, given, start=0, end=2**40, report=ignore_progress)
    market, signals = data.with_signals(required_inputs(strategy), plan_of(strategy))
    terms = terms_of(data.symbols, data.contracts, ())
    cells = np.column_stack([market.cells_of(s) for s in range(market.symbols)])
    case = Case(
        market._replace(cell=cells),
        np.ascontiguousarray(signals.T),
        plan_of(strategy),
        terms.units[0],
        terms.rates,
        strategy.executionSettings.initialCapital,
        {},
    )
    reference = reference_of(case)
    reference.finish()
    return reference
