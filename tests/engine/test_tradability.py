"""Tradability: orders that no exchange accepts, estimated margins, and volume."""

from dataclasses import replace
from math import nan
from typing import Any

import numpy as np
import pytest

from apps.engine.candles import Candles
from apps.engine.candles.sessions import Regime, Sessions
from apps.engine.evidence.inputs import USUAL_THRESHOLDS, EvidenceInput
from apps.engine.evidence.sections import CheckStatus
from apps.engine.evidence.tradability import (
    ESTIMATED_MARGIN,
    largest_capital,
    tradability_section,
)
from apps.engine.simulation.simulate import History
from apps.engine.simulation.timeline import Note
from tests.benchmarks.random_candles import session_bars
from tests.engine.evidence_inputs import evidence_on
from tests.engine.strategies import sma_cross, strategy

PASS, DOUBT, FAIL, UNKNOWN = (
    CheckStatus.PASS,
    CheckStatus.DOUBT,
    CheckStatus.FAIL,
    CheckStatus.UNKNOWN,
)
CANDLES = session_bars(4, length=300)
SESSIONS = Sessions.build([Regime(0, 20_000, 33_300, 55_800)])
SHARE, FUTURE, OPTION = "NSE:TEST", "NSE:TEST26JANFUT", "NSE:TEST26JAN100CE"
ESTIMATE = (Note(ESTIMATED_MARGIN, "The margin is an estimate."),)


def evidence_of(
    symbol: str,
    *,
    side: str = "both",
    product: str = "carryforward",
    quantity: int = 1,
    notes: tuple[Note, ...] = (),
    candles: Candles = CANDLES,
) -> EvidenceInput:
    steps = strategy(
        basicInfo={"timeframe": "5m", "symbols": [symbol]},
        positionSizing={"quantity": quantity},
        entryConditions={"positionType": side, "conditions": [sma_cross(5, 20)]},
        executionSettings={"productType": product},
    )
    return evidence_on(steps, [History(symbol, candles, sessions=SESSIONS, notes=notes)])


def judged(evidence: EvidenceInput) -> tuple[CheckStatus, Any]:
    section = tradability_section(evidence)
    assert section.check is not None
    assert section.sentence.startswith(section.check.reason)
    return section.check.status, section.figures


def test_shares_that_are_short_over_night_fail() -> None:
    status, figures = judged(evidence_of(SHARE))
    assert status == FAIL
    assert figures["shortsOverNight"] > 0
    assert judged(evidence_of(SHARE, side="long"))[0] == PASS


def test_shares_that_are_short_within_a_day_pass() -> None:
    evidence = evidence_of(SHARE, product="intraday")
    day = [(evidence.trades[name] + 19_800) // 86_400 for name in ("entry_time", "exit_time")]
    assert (evidence.trades["side"] < 0).any()
    assert (day[0] == day[1]).all()
    assert judged(evidence)[0] == PASS


def test_futures_may_be_short_over_night() -> None:
    assert judged(evidence_of(FUTURE, notes=ESTIMATE))[0] == PASS


def test_sold_options_are_in_doubt_while_their_margin_is_an_estimate() -> None:
    status, figures = judged(evidence_of(OPTION, notes=ESTIMATE))
    assert status == DOUBT
    assert 0 < figures["soldOptions"] < 20
    assert judged(evidence_of(OPTION))[0] == PASS
    assert judged(evidence_of(OPTION, side="long", notes=ESTIMATE))[0] == PASS


def test_the_capital_at_which_fills_become_large() -> None:
    quantity, volume = np.arange(1.0, 21.0), np.full(20, 1000.0)
    # The second largest of twenty shares is 19 of 1,000.
    capital = largest_capital(quantity, volume, 1e5, USUAL_THRESHOLDS)
    assert capital == pytest.approx(1e5 * 0.05 / 0.019)
    assert largest_capital(quantity, np.full(20, nan), 1e5, USUAL_THRESHOLDS) is None
    assert largest_capital(quantity, np.zeros(20), 1e5, USUAL_THRESHOLDS) == 0


@pytest.mark.parametrize(("quantity", "status"), [(50, PASS), (51, FAIL)])
def test_a_tenth_of_fills_above_the_share_of_volume_fails(
    quantity: int, status: CheckStatus
) -> None:
    """Every bar has a volume of 1,000, and fills may take 5 % of it."""
    candles = replace(CANDLES, volume=np.full(len(CANDLES), 1000.0))
    evidence = evidence_of(FUTURE, quantity=quantity, candles=candles)
    judgement, figures = judged(evidence)
    assert judgement == status
    assert figures["largestCapital"] == pytest.approx(1e6 * 50 / quantity)
    assert figures["volume"]["percentOfBar"]["p50"] == pytest.approx(quantity / 10)


def test_without_a_trade_nothing_is_known() -> None:
    never = strategy(basicInfo={"timeframe": "5m"})
    assert judged(evidence_on(never, [History(SHARE, CANDLES)]))[0] == UNKNOWN
