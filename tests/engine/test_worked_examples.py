"""The worked examples of the language: their trades, and the steps that are refused."""

from typing import Any

import pytest

from apps.engine.language.strategy import read_strategy
from tests.engine.worked_examples import Outcome, examples, expected, play

PLAYED = (*(f"A{n}" for n in range(1, 6)), *(f"B{n}" for n in range(1, 11)), "C1")
REWORDED = {"M9"}
"""It names a field that is not there yet."""
REFUSED = tuple(name for name in examples("mistakes") if name not in REWORDED)
CURRENT = {"today", "A", "B", "C"}
PRICES = {"entryPrice", "exitPrice", "profit"}


def rounded(outcome: Outcome) -> list[dict[str, Any]]:
    return [
        {name: round(value, 3) if name in PRICES else value for name, value in trade.items()}
        for trade in outcome.trades
    ]


@pytest.mark.parametrize("example", PLAYED)
def test_an_example_makes_the_trades_that_it_tells(example: str) -> None:
    entry = examples("examples")[example]
    played, outcome = play(entry), expected(entry)
    assert rounded(played) == rounded(outcome)
    assert played.refused == outcome.refused
    assert played.equity == pytest.approx(outcome.equity, abs=0.001)


@pytest.mark.parametrize("mistake", REFUSED)
def test_a_mistake_is_refused_in_these_words(mistake: str) -> None:
    entry = examples("mistakes")[mistake]
    reading = read_strategy(entry["steps"])
    problems = reading.errors if entry["kind"] == "refused" else reading.incomplete
    assert (entry["field"], entry["message"]) in [
        (problem.field, problem.message) for problem in problems
    ]


@pytest.mark.parametrize(
    "strategy",
    [name for name, entry in examples("strategies").items() if entry["stage"] in CURRENT],
)
def test_a_strategy_that_traders_run_is_valid(strategy: str) -> None:
    reading = read_strategy(examples("strategies")[strategy]["steps"])
    assert reading.problems == ()
