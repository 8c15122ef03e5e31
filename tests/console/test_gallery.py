"""Templates and examples are sized as they say."""

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from apps.accounts.models import User
from apps.algorithms import services
from apps.algorithms.configuration import STEPS
from apps.algorithms.services import BUILT_IN_TEMPLATES
from apps.core.api.resources import examples_of
from apps.ops.demo.walkthrough import DEMO_ALGORITHM
from tests import make, openapi
from tests.console.conftest import Browse

CAPITAL = 1_000_000
README = (Path(__file__).parents[2] / "README.md").read_text()
TEMPLATES = [template.steps for template in BUILT_IN_TEMPLATES]
GRID = next(template for template in BUILT_IN_TEMPLATES if template.slug == "grid")
ADDS = "positionSizing.pyramiding.distance"


@pytest.mark.parametrize(
    "steps",
    [examples_of("algorithms")["AlgorithmBody"]["Example"], DEMO_ALGORITHM, *TEMPLATES],
    ids=["example", "demo", *(template.slug for template in BUILT_IN_TEMPLATES)],
)
def test_the_risk_of_a_template_keeps_a_position_within_its_limit(steps: Mapping[str, Any]) -> None:
    """A stop by average range, of daily candles, is at least 2 % away; a stop at a level 0.21 %, or
    a narrower position limit would cut the size. A share of a fixed quantity costs 2,500 at most.
    """
    limit = 0.96 * steps["riskParameters"]["maxPositionSize"]
    sizing, stop = steps["positionSizing"], steps["exitConditions"].get("stopLoss", {})
    entries = sizing.get("pyramiding", {}).get("maxEntries", 1)
    if sizing["method"] == "percentage_of_equity":
        size = CAPITAL * sizing["percentage"] / 100
    elif sizing["method"] == "fixed_quantity":
        size = sizing["quantity"] * 2500
    else:
        distance = stop.get("percentage", 0.21 if stop["type"] == "level" else 2.1)
        size = CAPITAL * sizing["riskPercentage"] / distance
    assert size * entries <= limit


def test_no_shown_template_exceeds_its_own_limits(alice: User) -> None:
    in_readme = [json.loads(body) for body in re.findall(r"-d '(\{.*?\})'", README, re.DOTALL)]
    in_document = list(algorithms_in(openapi.document()))
    in_pages = list(algorithms_in(in_readme))
    assert in_document
    assert in_pages
    for shown in [*TEMPLATES, *in_document, *in_pages, make.steps()]:
        algorithm = make.algorithm(alice, **{step: shown[step] for step in STEPS})
        review = services.review(algorithm=algorithm, now=make.NOW)
        assert review.errors == ()
        fields = {w.field for w in review.warnings if w.field.startswith("positionSizing")}
        assert fields == ({ADDS} if shown is GRID.steps else set())


def test_the_grid_is_warned_of(alice: User) -> None:
    columns = {step: GRID.steps[step] for step in STEPS}
    review = services.review(algorithm=make.algorithm(alice, **columns), now=make.NOW)
    assert [w.message for w in review.warnings if w.field == ADDS] == [
        "Adds against the position: at worst 8 entries of 20 units are held, 8 times the first."
    ]


def algorithms_in(value: Any) -> Iterator[dict[str, Any]]:
    """Yield every object with all steps filled in, at any depth."""
    if isinstance(value, dict):
        if set(STEPS) <= set(value) and "timeframe" in value["basicInfo"]:
            yield value
        value = list(value.values())
    if isinstance(value, list):
        for inner in value:
            yield from algorithms_in(inner)


def test_each_drawing_has_a_gain_and_a_loss(browse: Browse, alice: User) -> None:
    page = browse(alice).get("/app/gallery").content.decode()
    labels = re.findall(r'aria-label="(Example on made-up prices[^"]*)"', page)
    assert len(labels) == len(BUILT_IN_TEMPLATES)
    assert {(label.count("with a gain"), label.count("with a loss")) for label in labels} == {
        (1, 1)
    }
