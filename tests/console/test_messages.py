"""Errors and warnings in a trader's words."""

import re
from typing import Any

import pytest

from apps.console.editing.messages import plain_message, plain_path, plain_refusal
from apps.core.errors import Fault, InvalidInput
from tests.engine.worked_examples import examples

WIRE_NAMES = re.compile(r"\b[a-z]+[A-Z]|_|\w\.\w|\[|CALC|node|JSON|null")


@pytest.mark.parametrize(
    ("message", "plain"),
    [
        ("is required.", "Required."),
        ("must be at most 100.", "Must be at most 100."),
        ("must be greater than fastPeriod.", "Must be greater than fast period."),
        ("must be one of crosses_above, above.", "Must be one of crosses above, above."),
        (
            "must be longer than basicInfo.timeframe, which is 15m.",
            "Must be longer than the strategy's timeframe, 15m.",
        ),
        (
            "SBIN is not a symbol: A symbol has the form EXCHANGE:SYMBOL; the colon is missing.",
            "SBIN is not a symbol: choose one of the list, or write it like NSE:RELIANCE.",
        ),
        (
            "is required: CALC and what is read of another symbol have no mirror."
            " Write long, short or both.",
            "Choose long, short or both: arithmetic and other symbols cannot be mirrored.",
        ),
        (
            "is required: alerts have no mirror. Write long, short or both.",
            "Choose long, short or both: alerts cannot be mirrored.",
        ),
        (
            "positionSizing.method risk_based needs a stop loss: set exitConditions.stopLoss or"
            " riskParameters.stopLoss.",
            "Sizing by risk needs a stop loss.",
        ),
        (
            "5 symbols are picked, and riskParameters.maxOpenPositions leaves room for 3.",
            "5 symbols are picked, and max open positions leaves room for 3.",
        ),
    ],
)
def test_a_message_has_the_words_of_the_form(message: str, plain: str) -> None:
    assert plain_message(message) == plain


def mistakes() -> list[Any]:
    return [entry for entry in examples("mistakes").values() if "message" in entry]


def test_no_message_has_names_of_the_wire() -> None:
    plain = [
        plain_message(entry["message"].removeprefix(f"{entry['field']} ")) for entry in mistakes()
    ]
    assert len(plain) > 15
    assert [message for message in plain if WIRE_NAMES.search(message)] == []


def test_a_field_is_named_with_its_groups() -> None:
    path = "entryConditions.conditions[0].indicator1.fastPeriod"
    assert plain_path(path) == "Entry conditions, Condition 1, Indicator 1, Fast period"


def test_a_refused_save_names_the_first_field() -> None:
    refusal = InvalidInput(Fault("exitConditions.steps[0].close", "must be at most 99."))
    assert plain_refusal(refusal) == "Exit conditions, Step 1, Close: Must be at most 99."
    assert plain_refusal(InvalidInput(Fault("", "Save again."))) == "Save again."
