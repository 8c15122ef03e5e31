"""Sections of evidence and the verdict: figures equal their formulas, sentences state them,
thresholds decide.
"""

import json
from typing import Any

import numpy as np
import pytest

from apps.engine.evidence.document import NEEDED, ROBUSTNESS, SECTIONS, assess, evidence_document
from apps.engine.evidence.inputs import (
    THIS_ALONE,
    USUAL_THRESHOLDS,
    EvidenceInput,
    EvidenceThresholds,
    Trials,
)
from apps.engine.evidence.look_ahead import look_ahead_section
from apps.engine.evidence.multiple_testing import multiple_testing_section
from apps.engine.evidence.sections import (
    CheckStatus,
    EvidenceCheck,
    EvidenceSection,
    graded,
    percent_text,
)
from apps.engine.evidence.sensitivity import sensitivity_section
from apps.engine.evidence.significance import significance_section
from apps.engine.language.strategy import Strategy
from apps.engine.simulation.simulate import History
from apps.engine.studies.overfitting import Overfitting
from tests.benchmarks.random_candles import session_bars
from tests.engine.evidence_inputs import evidence_on
from tests.engine.strategies import sma_cross, strategy

PASS, DOUBT, FAIL, UNKNOWN, NOT_JUDGED = CheckStatus
STUDY = Overfitting(100, 12_870, 0.6, 0.5, 0.2, 0.01, -0.3)


def crossing(**settings: object) -> Strategy:
    return strategy(
        entryConditions={"positionType": "both", "conditions": [sma_cross(5, 20)]},
        executionSettings=settings,
    )


def made(
    steps: Strategy | None = None,
    *,
    trials: Trials = THIS_ALONE,
    thresholds: EvidenceThresholds = USUAL_THRESHOLDS,
) -> EvidenceInput:
    history = History("NSE:TEST", session_bars(30, length=300))
    return evidence_on(steps or crossing(), [history], trials=trials, thresholds=thresholds)


def status_of(section: EvidenceSection[Any]) -> CheckStatus:
    assert section.check is not None
    assert section.check.reason == section.sentence
    json.dumps(section.figures, allow_nan=False)
    return section.check.status


def test_significance_is_that_of_the_daily_returns() -> None:
    evidence = made()
    figures: dict[str, Any] = dict(significance_section(evidence).figures)
    estimate = evidence.result.sharpe_estimate
    assert estimate is not None
    assert figures["probabilisticSharpeRatio"] == pytest.approx(estimate.probability(0), abs=1e-6)
    assert figures["days"] == 30
    paths, nets = figures["paths"], evidence.result.profit
    assert paths["count"] == 2_000
    assert paths["netProfit"]["p5"] < evidence.result.net < paths["netProfit"]["p95"]
    assert [row["trades"] for row in figures["withoutBestTrades"]] == [1, 5, 10]
    left = np.sort(nets)[:-5].sum()
    assert figures["withoutBestTrades"][1]["netProfit"] == pytest.approx(left, abs=1e-3)


@pytest.mark.parametrize(
    ("thresholds", "status"),
    [
        (EvidenceThresholds(probabilistic_sharpe=1e-9), PASS),
        (EvidenceThresholds(1 - 1e-9, 1e-9), DOUBT),
        (EvidenceThresholds(1 - 1e-9, 1 - 1e-9), FAIL),
    ],
)
def test_thresholds_decide(thresholds: EvidenceThresholds, status: CheckStatus) -> None:
    assert status_of(significance_section(made(thresholds=thresholds))) == status


def test_of_a_result_without_trades_little_is_known() -> None:
    never = strategy(entryConditions={"conditions": [{**sma_cross(5, 20), "operator": "above"}]})
    evidence = made(never)
    time = evidence.curve["time"]
    curve = {"time": time, "equity": np.full(len(time), 1e6)}
    idle = EvidenceInput(evidence.inputs, evidence.trades[:0], curve)
    significance = significance_section(idle)
    assert status_of(significance) == UNKNOWN
    assert status_of(multiple_testing_section(idle)) == UNKNOWN


def test_earlier_trials_weaken_a_result() -> None:
    alone = multiple_testing_section(made())
    among = multiple_testing_section(made(trials=Trials(1_000, 0.04)))
    assert alone.figures["expectedMaximum"] == 0
    assert (
        alone.figures["deflatedSharpeRatio"]
        == significance_section(made()).figures["probabilisticSharpeRatio"]
    )
    assert among.figures["expectedMaximum"] == pytest.approx(0.2 * 3.255, abs=1e-3)
    assert status_of(among) == FAIL
    assert "the luckiest of 1,000 versions" in among.sentence


@pytest.mark.parametrize(
    ("trials", "status", "said"),
    [
        (
            Trials(1, 0.0, STUDY, 100),
            DOUBT,
            "of 100 sets that chose it is 60.0% likely to be overfitted",
        ),
        (
            Trials(1, 0.0, None, 100),
            UNKNOWN,
            "of 100 sets that chose it is overfitted is not known",
        ),
        (Trials(1, 0.0, STUDY, 19), PASS, ""),
        (Trials(1, 0.0, STUDY._replace(probability=0.2), 100), PASS, ""),
    ],
)
def test_a_result_chosen_by_an_overfitted_study_does_not_pass(
    trials: Trials, status: CheckStatus, said: str
) -> None:
    chosen = made(trials=trials, thresholds=EvidenceThresholds(deflated_sharpe=1e-9))
    section = multiple_testing_section(chosen)
    assert status_of(section) == status
    assert said in section.sentence
    figures = section.figures["overfitting"]
    assert figures is None or figures["passesUpTo"] == 0.2


def test_decisions_and_neighbours_are_looked_at() -> None:
    evidence = made()
    assert status_of(look_ahead_section(evidence)) == PASS
    section = sensitivity_section(evidence)
    status_of(section)
    assert section.figures["netProfit"] == pytest.approx(evidence.result.net, abs=1e-3)
    assert len(json.dumps(section.figures)) < 20_000


def test_the_same_can_be_simulated_again_with_other_numbers() -> None:
    evidence = made()
    assert evidence.simulate().result_data.net == evidence.result.net
    slipped = evidence.simulate(strategy=crossing(slippage=0.1))
    assert slipped.result_data.net < evidence.result.net


def check(name: str, status: CheckStatus) -> EvidenceCheck:
    return EvidenceCheck(name, status, f"The {name} is {status}.")


def test_a_verdict_names_the_checks_that_do_not_pass() -> None:
    checks = [
        check("significance", PASS),
        check("costs", DOUBT),
        check("multipleTesting", FAIL),
        check("fills", UNKNOWN),
    ]
    verdict = assess(checks)
    assert not verdict.passes
    assert verdict.sentence == ("Failed: overfitting. In doubt: costs. Too little data: fills.")


ALL_PASS = dict.fromkeys(SECTIONS, PASS)


@pytest.mark.parametrize(
    ("changes", "passes"),
    [
        ({}, True),
        ({"costs": DOUBT, "lookAhead": UNKNOWN}, True),
        ({"costs": FAIL}, False),
        *[({name: DOUBT}, False) for name in sorted(NEEDED)],
        ({"timing": UNKNOWN}, False),
        *[({name: DOUBT}, True) for name in sorted(ROBUSTNESS)],
        ({"sensitivity": DOUBT, "regimes": DOUBT}, False),
        ({"fills": DOUBT, "regimes": DOUBT}, False),
        ({"fills": DOUBT, "regimes": UNKNOWN}, True),
        ({"fills": DOUBT, "costs": DOUBT}, True),
    ],
)
def test_the_verdict_passes_on_the_needed_checks_with_one_in_doubt(
    changes: dict[str, CheckStatus], *, passes: bool
) -> None:
    checks = [check(name, status) for name, status in (ALL_PASS | changes).items()]
    assert assess(checks).passes is passes
    assert not assess([row for row in checks if row.name != "timing"]).passes


def test_a_verdict_that_passes_promises_nothing() -> None:
    sentence = assess([check(name, PASS) for name in SECTIONS]).sentence
    assert sentence == "Every check holds. It is no promise of profit."


def test_generated_prices_are_not_judged() -> None:
    document: Any = evidence_document(made(), not_judged="Made up.")
    assert document["verdict"] == {"passes": False, "sentence": "Made up."}
    assert {row["name"] for row in document["checks"]} == set(document["sections"])
    assert {(row["status"], row["reason"]) for row in document["checks"]} == {
        (NOT_JUDGED, "Made up.")
    }
    assert {section["sentence"] for section in document["sections"].values()} == {"Made up."}
    assert document["sections"]["lookAhead"]["figures"]["certificate"]


def test_grades_and_shares() -> None:
    grades = [graded(value, 0.95, 0.5) for value in (0.95, 0.94, 0.5, 0.49, None)]
    assert grades == [PASS, DOUBT, DOUBT, FAIL, UNKNOWN]
    shares = [percent_text(share) for share in (0, 0.0001, 0.5, 0.9999, 1)]
    assert shares == ["0.0%", "under 0.1%", "50.0%", "over 99.9%", "100.0%"]
