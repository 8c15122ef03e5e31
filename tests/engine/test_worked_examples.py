"""The worked examples of the language: their trades, and the steps that are refused."""

from typing import Any

import pytest

from apps.engine.language.strategy import read_strategy
from tests.engine.worked_examples import Outcome, examples, expected, play

PLAYED = ("A1", "A2", "A3", "A4", "A5")
REFUSED = ("M1", "M2", "M3", "M4", "M5", "M6", "M7", "M8", "M10", "M19")
CURRENT = {"today", "A"}
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
