"""Templates and examples are sized as they say."""

from collections.abc import Mapping
from typing import Any

import pytest

from apps.algorithms.examples import EXAMPLE_STEPS
from apps.console.gallery import STRATEGIES
from apps.ops.demo.walkthrough import DEMO_ALGORITHM

CAPITAL = 1_000_000


@pytest.mark.parametrize(
    "steps",
    [EXAMPLE_STEPS, DEMO_ALGORITHM, *(template.steps for template in STRATEGIES)],
    ids=["example", "demo", *(template.slug for template in STRATEGIES)],
)
def test_what_is_risked_leaves_a_position_within_its_limit(steps: Mapping[str, Any]) -> None:
    """A stop by average range, of daily candles, is at least 2 % away."""
    risk = steps["positionSizing"]["riskPercentage"]
    stop = steps["exitConditions"]["stopLoss"].get("percentage", 2.1)
    assert CAPITAL * risk / stop <= 0.96 * steps["riskParameters"]["maxPositionSize"]
