"""Built-in templates: files with a sentence and a market, each valid and trading."""

import json
from functools import cache

import pytest

from apps.algorithms.services import BUILT_IN_TEMPLATES, BuiltInTemplate
from apps.core.database import is_id
from apps.engine.language import parse
from apps.market.importers.generated_sample import SEED
from tests.algorithms.template_trades import trades_of
from tests.market.sample_backtests import Market, backtest_on_sample, sample_market

TRADES = {
    "opening-range": 52,
    "opening-range-stop": 45,
    "narrow-cpr": 29,
    "gap-fade": 6,
    "swing-low-trail": 51,
    "half-at-risk": 57,
    "engulfing-at-average": 68,
    "breakout-retest": 30,
    "parabolic-trail": 13,
    "gap-and-go": 5,
    "previous-day": 34,
    "vwap-pullback": 69,
    "vwap-bounce": 66,
    "btst": 10,
    "rsi-2": 26,
    "year-high-on-volume": 3,
    "supertrend-adx": 26,
    "renko-turn": 42,
    "heikin-ashi": 119,
    "two-trades-a-day": 55,
    "pause-after-a-loss": 60,
    "two-windows": 63,
    "ema-cross": 175,
    "three-timeframes": 96,
    "macd-higher-timeframe": 79,
    "bollinger": 32,
    "z-score": 40,
    "tsi": 6,
    "ichimoku": 11,
    "donchian-turtle": 25,
    "size-by-range": 2,
    "calm-india-vix": 33,
    "stronger-than-nifty": 29,
    "weekly-rotation": 75,
    "turtles-with-adds": 25,
    "grid": 65,
}
"""How often each trades on the sample."""


def test_each_file_has_a_sentence_and_a_market() -> None:
    for template in BUILT_IN_TEMPLATES:
        assert template.description.endswith(".")
        assert template.market
        assert json.loads(json.dumps(template.steps)) == template.steps


def test_ids_are_those_of_no_row() -> None:
    ids = [template.id for template in BUILT_IN_TEMPLATES]
    assert all(map(is_id, ids))
    assert len(set(ids)) == len(ids)
    assert {text[:8] for text in ids} == {"00000000"}
    by_slug = {template.slug: template.id for template in BUILT_IN_TEMPLATES}
    assert by_slug["opening-range"] == "0000000073d073dab1cbcb0d"


@cache
def market() -> Market:
    return sample_market(SEED)


@pytest.mark.parametrize("template", BUILT_IN_TEMPLATES, ids=lambda template: template.slug)
def test_a_template_trades_on_the_sample(template: BuiltInTemplate) -> None:
    result = backtest_on_sample(parse(template.steps), market())
    assert len(result.trades) == TRADES[template.slug]
    assert template.example == trades_of(template, result, market())
