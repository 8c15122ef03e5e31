"""A field that came later is no part of a configuration without it: its hash stays."""

from typing import Any

import pytest

from apps.algorithms.services import BUILT_IN_TEMPLATES
from apps.engine.indicators.catalogue import CATALOGUE
from apps.engine.language import parse, summarize
from apps.engine.language.sides import Comparison, entry_check
from apps.engine.simulation.explain import name_of
from tests.engine.configurations import complete

HASHES = {
    "supertrend-adx": "2a10562032cb747b2c4faf6e0507037a28f7175ac306a37f696c105b35c7282a",
    "opening-range": "7bce62318ec9b2a0896ae486457046ead16719f1158b62143c47d1f0e73a4fad",
    "rsi-2": "c8d3a513389067663a75b7f99e0ea3c45084829fce543d092a390668f684b222",
    "vwap-pullback": "0926aab760114506ee0c0d4e81f6e8ff6dfd3ef693e01b18f43c9fa6b000dc04",
    "donchian-turtle": "54fc0efffdd6a87c93b8c789fd45fe35acd3bb1bd1e35f53b5c4ae4ff8643c53",
    "bollinger": "5284381e6a949319608e5f76d3a2eee3ac0e0f8072f86118536cba7d1950e566",
    "macd-higher-timeframe": "5f54fb2d4c404afe13829f7f2ec3c22c29af014b96e6c48600e95403dbb46c8d",
    "gap-and-go": "8de10e49f9791f67ca68de68b12ae6e5d73f62844bd7e4c33f0fc3bf64efcd49",
    "previous-day": "be9b31afb409202714bb9cfc24070b9bf9c5298f7bfd3da3548181a32d4c2773",
    "ema-cross": "c5d445947b9b36c04b5af06861d6cc1855107629ec64883dec729c350c87ff74",
    "ichimoku": "0b8214378a7ff79eb54fe3442efc8f25830f69227fd65f8ee9864291e1686c73",
    "z-score": "500e3c1b7bcadb91b12f1e9a5b7c19f2238ba44d914a1f22164699658ecc33a3",
}
"""Of the gallery's strategies, computed by the release before the fields of 2026-11-28."""


@pytest.mark.parametrize("slug", HASHES)
def test_a_configuration_keeps_its_hash(slug: str) -> None:
    (strategy,) = (strategy for strategy in BUILT_IN_TEMPLATES if strategy.slug == slug)
    assert parse(strategy.steps).hash == HASHES[slug]


def reading(**indicator: Any) -> dict[str, Any]:
    """Return steps that compare the close with an indicator."""
    condition = {
        "type": "indicator_indicator",
        "indicator1": {"type": "PRICE"},
        "operator": "above",
        "indicator2": indicator,
    }
    return complete(entryConditions={"positionType": "long", "conditions": [condition]})


ADDED: list[dict[str, Any]] = [
    {"type": "VWAP", "anchor": "session"},
    {"type": "VWAP", "multiplier": 1},
    {"type": "PIVOT_POINTS", "method": "classic"},
]


@pytest.mark.parametrize("indicator", ADDED)
def test_an_added_parameter_is_absent_by_default_and_computes_the_same(
    indicator: dict[str, Any],
) -> None:
    written, absent = parse(reading(**indicator)), parse(reading(type=indicator["type"]))
    assert written.hash != absent.hash
    assert entry_check("long", written.entryConditions) == entry_check(
        "long", absent.entryConditions
    )
    dumped = absent.model_dump(mode="json", exclude_none=True)
    operand = dumped["entryConditions"]["conditions"][0]["indicator2"]
    assert set(operand) == {"type", "output", "offset"}


def test_an_added_parameter_says_its_default() -> None:
    for row in CATALOGUE.values():
        for parameter in row.parameters:
            written = parameter.written(parameter.default)
            default = written if isinstance(written, str) else f"{written:g}"
            says = parameter.description.endswith(f": {default}.")
            assert says or not parameter.is_added


def words_of(**indicator: Any) -> str:
    (step,) = (step for step in summarize(reading(**indicator)) if step.step == "entryConditions")
    return step.sentences[-1].text


def name_in_explanations(**indicator: Any) -> str:
    check = entry_check("long", parse(reading(**indicator)).entryConditions).checks[0]
    assert isinstance(check, Comparison)
    assert not isinstance(check.right, float)
    return name_of(check.right)


@pytest.mark.parametrize(
    ("indicator", "words", "name"),
    [
        ({"type": "VWAP"}, "VWAP", "VWAP"),
        ({"type": "VWAP", "anchor": "week"}, "VWAP (week)", "VWAP(week)"),
        (
            {"type": "VWAP", "output": "upper", "anchor": "session", "multiplier": 2},
            "VWAP upper (session, 2)",
            "VWAP(2).upper",
        ),
        (
            {"type": "PIVOT_POINTS", "output": "r4", "method": "camarilla"},
            "pivot points r4 (camarilla)",
            "PIVOT_POINTS(camarilla).r4",
        ),
        (
            {"type": "BBANDS", "output": "percentB"},
            "Bollinger percentB (20, 2, SMA)",
            "BBANDS(20, 2, SMA).percentB",
        ),
        ({"type": "PREVIOUS_WEEK"}, "previous week close", "PREVIOUS_WEEK.close"),
        (
            {"type": "ALMA", "source": "hl2"},
            "ALMA (9, 0.85, 6) of (high + low) / 2",
            "ALMA(9, 0.85, 6) of hl2",
        ),
    ],
)
def test_an_absent_parameter_is_not_in_words(
    indicator: dict[str, Any], words: str, name: str
) -> None:
    assert words_of(**indicator) == f"Entry: price is above {words}."
    assert name_in_explanations(**indicator) == name
