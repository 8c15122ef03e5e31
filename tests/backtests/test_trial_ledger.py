"""The ledger of trials: trials count, even if the backtest is deleted."""

from datetime import timedelta
from importlib import import_module
from typing import Any

import numpy as np
import pytest
from django.apps import apps

from apps.accounts.models import User
from apps.algorithms import services as algorithms
from apps.algorithms.models import Algorithm
from apps.backtests import services
from apps.backtests.models import Backtest, BacktestKind, TrialRecord
from apps.backtests.running import trial_ledger
from apps.backtests.running.submissions import read_date_range
from apps.engine.evidence import Trials
from apps.engine.language.strategy import parse
from apps.engine.studies import Overfitting
from tests import make
from tests.backtests.price_series import wave_candles
from tests.backtests.submissions import submit
from tests.backtests.workers import run_queued
from tests.market.bars import store_candles

SETS: dict[str, Any] = {
    "parameters": [
        {"path": "exitConditions.stopLoss.percentage", "from": 0.5, "to": 1.5, "step": 0.5}
    ],
}
OPTIMIZATION: dict[str, Any] = {
    "kind": BacktestKind.OPTIMIZATION,
    "configs": {"optimizationConfig": {**SETS, "objective": "netProfit"}},
}
# Enough sets for the probability of overfitting.
STOPS = {"path": "exitConditions.stopLoss.percentage", "from": 0.1, "to": 2.4, "step": 0.1}
SEARCH: dict[str, Any] = {
    "kind": BacktestKind.OPTIMIZATION,
    "configs": {"optimizationConfig": {"parameters": [STOPS], "objective": "netProfit"}},
}
DAYS = 20


@pytest.fixture
def alice(db: None) -> User:
    store_candles("NSE:NIFTY", "15m", wave_candles("2024-01-01", 45))
    return make.user("alice")


def completed(user: User, algorithm: Algorithm | None = None, **options: Any) -> Backtest:
    backtest = submit(user, (algorithm or make.algorithm(user, **make.steps())).pk, **options)
    run_queued()
    backtest.refresh_from_db()
    assert backtest.status == "completed", backtest.error
    return backtest


def with_stop(user: User, percentage: float) -> Algorithm:
    steps = make.steps()
    stop = {"type": "percentage", "percentage": percentage}
    return make.algorithm(
        user, **steps | {"exitConditions": {**steps["exitConditions"], "stopLoss": stop}}
    )


def test_the_first_backtest_is_one_trial(alice: User) -> None:
    assert trial_ledger.trials_of(completed(alice), days=DAYS) == Trials(1, 0.0)


def test_a_repeated_trial_counts_once(alice: User) -> None:
    algorithm = with_stop(alice, 2)
    first = completed(alice, algorithm)
    completed(alice, algorithm)
    assert trial_ledger.trials_of(first, days=DAYS).tried == 1
    assert TrialRecord.objects.count() == 1


def test_other_numbers_count_for_any_algorithm(alice: User) -> None:
    first, other = (completed(alice, with_stop(alice, stop)) for stop in (2, 0.3))
    trials = trial_ledger.trials_of(first, days=DAYS)
    assert trials.tried == 2
    ratios = list(TrialRecord.objects.values_list("ratio_sum", flat=True))
    days = TrialRecord.objects.values_list("days", flat=True)[0] or 0
    assert days == 21
    assert trials.variance == pytest.approx(np.var(ratios, ddof=1) * days / DAYS)
    assert trial_ledger.trials_of(other, days=DAYS) == trials


def test_every_set_of_a_study_counts(alice: User) -> None:
    study = completed(alice, **OPTIMIZATION)
    trials = trial_ledger.trials_of(study, days=DAYS)
    deflation = (study.study_results or {})["deflation"]
    assert trials.tried == deflation["trials"] == 3
    [row] = TrialRecord.objects.all()
    assert row.ratios == 3
    mean = row.ratio_sum / 3
    scale = (row.days or 0) / DAYS
    assert trials.variance == pytest.approx((row.ratio_square_sum - 3 * mean**2) / 2 * scale)
    assert trial_ledger.trials_of(completed(alice), days=DAYS).tried == 4


def test_sets_with_unknown_ratios_vary_as_by_luck(alice: User) -> None:
    configs = {"walkForwardConfig": {**SETS, "windows": 2, "objective": "netProfit"}}
    study = completed(alice, kind=BacktestKind.WALK_FORWARD, configs=configs)
    assert trial_ledger.trials_of(study, days=DAYS) == Trials(3, 1 / DAYS)


def test_a_deleted_backtest_still_counts_until_the_account_is_erased(alice: User) -> None:
    gone, left = (completed(alice, with_stop(alice, stop)) for stop in (2, 0.3))
    services.delete(owner=alice, backtest_id=gone.pk, now=make.NOW + timedelta(minutes=1))
    assert trial_ledger.trials_of(left, days=DAYS).tried == 2
    alice.delete()
    assert not TrialRecord.objects.exists()


def test_other_ranges_and_users_do_not_count(alice: User) -> None:
    completed(alice, with_stop(alice, 2))
    early = read_date_range("2024-01-25", "2024-01-31", now=make.NOW)
    apart = completed(alice, with_stop(alice, 0.3), date_range=early)
    assert trial_ledger.trials_of(apart, days=DAYS).tried == 1
    touching = read_date_range("2024-01-25", "2024-02-02", now=make.NOW)
    overlapping = completed(alice, with_stop(alice, 0.4), date_range=touching)
    assert trial_ledger.trials_of(overlapping, days=DAYS).tried == 3
    assert trial_ledger.trials_of(completed(make.user("bob")), days=DAYS).tried == 1


@pytest.mark.parametrize(
    ("step", "changes", "is_same"),
    [
        ("basicInfo", {"symbols": ["MCX:GOLD", "NSE:INFY"]}, True),
        ("basicInfo", {"timeframe": "5m", "strategyType": "swing"}, True),
        ("positionSizing", {"riskPercentage": 0.5}, True),
        ("riskParameters", {"maxOpenPositions": 9}, True),
        ("executionSettings", {"exchange": "MCX", "slippage": 0.1, "orderType": "market"}, True),
        ("basicInfo", {"timeframe": "1d"}, False),
        ("entryConditions", {"positionType": "long"}, False),
        ("executionSettings", {"productType": "intraday"}, False),
        ("exitConditions", {"takeProfit": {"type": "percentage", "percentage": 2}}, False),
        ("exitConditions", {"exitOnOppositeSignal": True}, False),
    ],
)
def test_a_structure_is_that_of_steps_without_numbers_symbols_and_labels(
    step: str, changes: dict[str, Any], *, is_same: bool
) -> None:
    steps = make.steps()
    changed = steps | {step: steps[step] | changes}
    assert (parse(steps).structure_hash == parse(changed).structure_hash) == is_same


def written(user: User, symbol: str, **replaced: Any) -> Algorithm:
    """Write an algorithm for a symbol with stored history."""
    store_candles(symbol, "15m", wave_candles("2024-01-01", 45))
    basic = make.steps()["basicInfo"] | {"symbols": [symbol]}
    return make.algorithm(user, **make.steps(basicInfo=basic, **replaced))


STOP: dict[str, Any] = {"stopLoss": {"type": "percentage", "percentage": 3}}
RISES: dict[str, Any] = {
    "positionType": "long",
    "logicalOperator": "AND",
    "conditions": [
        {
            "type": "indicator_value",
            "indicator": {"type": "RSI", "period": 14},
            "operator": "above",
            "value": 50,
        }
    ],
}


def test_picking_a_symbol_is_a_trial(alice: User) -> None:
    first = completed(alice, with_stop(alice, 2))
    exits = make.steps()["exitConditions"]
    for number, name in enumerate(("RELIANCE", "INFY", "TCS"), start=2):
        ratio = {"takeProfit": {"type": "risk_reward", "ratio": number}}
        share = completed(alice, written(alice, f"NSE:{name}", exitConditions=exits | ratio))
        assert trial_ledger.trials_of(share, days=DAYS).tried == number
    assert trial_ledger.trials_of(first, days=DAYS).tried == 4


def test_clones_always_count_as_one_algorithm(alice: User) -> None:
    own = completed(alice)
    clone = algorithms.clone(owner=alice, algorithm_id=own.algorithm_id, name=None, now=make.NOW)
    second = algorithms.clone(owner=alice, algorithm_id=clone.pk, name=None, now=make.NOW)
    other = written(alice, "NSE:RELIANCE", entryConditions=RISES)
    assert trial_ledger.trials_of(completed(alice, other), days=DAYS).tried == 1
    assert Algorithm.objects.original_of(second.pk) == own.algorithm_id
    Algorithm.objects.filter(pk=second.pk).update(
        basic_info=other.basic_info, entry_conditions=RISES, exit_conditions=STOP
    )
    cloned = completed(alice, second)
    assert trial_ledger.trials_of(cloned, days=DAYS).tried == 3
    assert trial_ledger.trials_of(own, days=DAYS).tried == 2


def test_ratios_of_ranges_are_compared_by_their_lengths(alice: User) -> None:
    """A ratio over four times the days counts twice as much."""
    first = completed(alice, with_stop(alice, 2))
    completed(alice, with_stop(alice, 0.3))
    ratios = TrialRecord.objects.order_by("pk")
    ratios.update(ratios=1, ratio_sum=0.1, ratio_square_sum=0.01, days=100)
    assert trial_ledger.trials_of(first, days=100).variance == pytest.approx(0, abs=1e-12)
    TrialRecord.objects.filter(pk=ratios[0].pk).update(days=400)
    assert trial_ledger.trials_of(first, days=100).variance == pytest.approx((2 - 1) ** 2 / 2 / 100)
    TrialRecord.objects.filter(pk=ratios[0].pk).update(days=None)
    assert trial_ledger.trials_of(first, days=100) == Trials(2, 1 / 100)


def test_rows_from_before_are_given_their_kin_and_their_days(alice: User) -> None:
    kept, deleted = completed(alice, with_stop(alice, 2)), completed(alice, with_stop(alice, 3))
    fields = ("backtest_id", "structure", "original")
    before = TrialRecord.objects.values(*fields).get(backtest_id=kept.pk)
    services.delete(owner=alice, backtest_id=deleted.pk, now=make.NOW + timedelta(minutes=1))
    TrialRecord.objects.update(structure="", original="", days=None)
    import_module("apps.backtests.migrations.0003_kinship_of_trials").fill(apps, None)
    assert TrialRecord.objects.values(*fields).get(backtest_id=kept.pk) == before
    gone = TrialRecord.objects.get(backtest_id=deleted.pk)
    assert (gone.structure, gone.original, gone.days) == ("", "", 20)
    assert trial_ledger.trials_of(kept, days=DAYS).tried == 2
    completed(alice, with_stop(alice, 3))
    assert TrialRecord.objects.get(pk=gone.pk).structure == before["structure"]


def test_a_configuration_that_a_study_chose_has_its_overfitting(alice: User) -> None:
    study = completed(alice, **SEARCH)
    results = study.study_results or {}
    overfitting = Overfitting.of_figures(results["overfitting"])
    trials = trial_ledger.trials_of(study, days=DAYS)
    assert (trials.selected_from, trials.overfitting) == (24, overfitting)
    assert (overfitting.sets, overfitting.splits) == (24, 12_870)
    [best] = results["ranking"][0]["parameters"].values()
    chosen = completed(alice, with_stop(alice, best))
    other = completed(alice, with_stop(alice, 2.55))
    services.delete(owner=alice, backtest_id=study.pk, now=make.NOW + timedelta(minutes=1))
    assert trial_ledger.trials_of(chosen, days=DAYS)[2:] == (overfitting, 24)
    assert trial_ledger.trials_of(other, days=DAYS)[2:] == (None, 0)


def test_the_overfitting_of_an_old_study_is_unknown_until_it_runs_again(alice: User) -> None:
    study = completed(alice, **SEARCH)
    [best] = (study.study_results or {})["ranking"][0]["parameters"].values()
    chosen = completed(alice, with_stop(alice, best))
    TrialRecord.objects.filter(tried=24).update(overfitting=None)
    del (study.study_results or {})["overfitting"]
    for backtest in (study, chosen):
        assert trial_ledger.trials_of(backtest, days=DAYS)[2:] == (None, 24)
    completed(alice, study.algorithm, **SEARCH)
    assert trial_ledger.trials_of(chosen, days=DAYS).overfitting is not None
    assert TrialRecord.objects.count() == 2
