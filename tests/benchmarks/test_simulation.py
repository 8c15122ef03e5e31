"""What compiling the rules buys, and what calendar blocks cost."""

import numpy as np
import pytest

from apps.engine.candles import block_id
from apps.engine.series import compute, series
from apps.engine.signals import signals_of
from apps.engine.strategy import parse
from tests.benchmarks.side_by_side import compare
from tests.benchmarks.walks import minutes
from tests.engine.cases import random_case, twin_of, whole
from tests.engine.steps import complete

pytestmark = pytest.mark.bench


def test_the_kernel_against_its_plain_python_twin() -> None:
    cases = [random_case(np.random.default_rng(seed)) for seed in range(20)]
    ratio = compare(
        "20 random simulations, compiled kernel against plain Python",
        lambda: [whole(case) for case in cases],
        lambda: [twin_of(case) for case in cases],
        rounds=5,
    )
    assert ratio > 0


def test_indicators_by_blocks_against_one_pass() -> None:
    candles, strategy = minutes(100_000), parse(complete())
    ema = [series("EMA", "value", "close", {"period": period}) for period in (9, 21)]
    blocks = len(np.unique(block_id(candles.time, "1m")))
    ratio = compare(
        f"two averages of 100,000 minutes, one pass against {blocks} blocks with all signals",
        lambda: [compute(one, candles) for one in ema],
        lambda: signals_of(strategy, candles, {}, 0, len(candles)),
        rounds=15,
    )
    assert ratio > 0
