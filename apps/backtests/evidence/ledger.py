"""The ledger of trials: what a user has tried over which history, whatever became of it."""

from datetime import datetime

import numpy as np

from apps.backtests.models import Backtest, TrialRecord
from apps.backtests.studies import BacktestOutput, TriedSets
from apps.engine.evidence.inputs import Trials
from apps.engine.metrics.result_data import ResultData
from apps.engine.simulation.receipt import hash_of


def record_trials(backtest: Backtest, output: BacktestOutput, *, now: datetime) -> None:
    """Record what a backtest or a study tried, in the transaction that completes it; nothing where
    the same was tried over this range before.
    """
    sets = output.sets or _alone(backtest, output)
    TrialRecord.objects.get_or_create(
        owner_id=backtest.owner_id,
        digest=_digest(backtest, output),
        start=backtest.start,
        end=backtest.end,
        defaults={
            "backtest_id": backtest.pk,
            "symbols": sorted(backtest.symbols),
            "tried": sets.tried,
            "ratios": len(sets.ratios),
            "ratio_sum": float(sets.ratios.sum()),
            "ratio_square_sum": float(sets.ratios @ sets.ratios),
            "created_at": now,
        },
    )


def trials_of(backtest: Backtest, *, days: int) -> Trials:
    """Return how many configurations the owner of a backtest has tried over its symbols and any
    history that overlaps with its own, and the variance of their daily Sharpe ratios.

    Of what was tried over several such ranges the row with most sets counts. Where fewer than two
    ratios are known, the variance is that of the ratio of so many days of pure luck, 1 / days (Lo,
    "The Statistics of Sharpe Ratios", Financial Analysts Journal 58 (4), 2002).
    """
    rows = TrialRecord.objects.filter(
        owner_id=backtest.owner_id,
        symbols=sorted(backtest.symbols),
        start__lt=backtest.end,
        end__gt=backtest.start,
    )
    distinct = {row.digest: row for row in rows.order_by("tried", "pk")}.values()
    tried = max(1, sum(row.tried for row in distinct))
    count = sum(row.ratios for row in distinct)
    if count < 2:
        return Trials(tried, 1 / days if tried > 1 and days else 0.0)
    total = sum(row.ratio_sum for row in distinct)
    squares = sum(row.ratio_square_sum for row in distinct)
    return Trials(tried, max(0.0, (squares - total**2 / count) / (count - 1)))


def _alone(backtest: Backtest, output: BacktestOutput) -> TriedSets:
    """Return the one configuration of a plain backtest, or of a Monte Carlo."""
    result = output.result
    ratio = ResultData(result.trades, result.curve, float(backtest.initial_capital)).sharpe
    return TriedSets(1, np.array([] if ratio is None else [ratio], np.float64))


def _digest(backtest: Backtest, output: BacktestOutput) -> str:
    """Return the hash of the configuration, and of the sets where there were several."""
    configuration = output.result.receipt["configuration"]
    if output.sets is None:
        return str(configuration)
    study = {**(backtest.study or {}), "seed": backtest.seed}
    return hash_of([backtest.configuration, study])
