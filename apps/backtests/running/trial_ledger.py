"""The ledger of trials: the configurations a user has tried on a history, with any outcome."""

from collections.abc import Mapping
from datetime import datetime
from math import sqrt
from typing import Any

import numpy as np
from django.db.models import Q, QuerySet

from apps.algorithms.models import Algorithm
from apps.backtests.models import Backtest, BacktestKind, TrialRecord
from apps.backtests.running.simulating import BacktestOutput, TriedSets
from apps.engine import hash_of
from apps.engine.evidence import Trials
from apps.engine.language import parse
from apps.engine.results import ResultData
from apps.engine.studies import Overfitting, applied


def record_trials(backtest: Backtest, output: BacktestOutput, *, now: datetime) -> None:
    """Record the trials of a backtest or a study, in the transaction that completes it; a
    repetition over the same range updates the same row.
    """
    data = ResultData(output.result.trades, output.result.curve, float(backtest.initial_capital))
    sets = output.sets or _alone(data)
    latest = {
        "structure": parse(backtest.configuration).structure_hash,
        "original": Algorithm.objects.original_of(backtest.algorithm_id),
        "days": len(data.ends),
        **_selection(backtest, output.study_results or {}),
    }
    TrialRecord.objects.update_or_create(
        owner_id=backtest.owner_id,
        digest=_digest(backtest, output.result.receipt),
        start=backtest.start,
        end=backtest.end,
        defaults=latest,
        create_defaults={
            "backtest_id": backtest.pk,
            "symbols": sorted(backtest.symbols),
            "tried": sets.tried,
            "ratios": len(sets.ratios),
            "ratio_sum": float(sets.ratios.sum()),
            "ratio_square_sum": float(sets.ratios @ sets.ratios),
            "created_at": now,
            **latest,
        },
    )


def trials_of(backtest: Backtest, *, days: int) -> Trials:
    """Return the number of configurations related to the backtest's that its owner has tried over
    any overlapping history, and the variance of their daily Sharpe ratios.

    Configurations are related if they have the same structure, belong to the same algorithm or a
    clone, or were tried on the same symbols. If the same trials were made over several such ranges,
    the row with most sets counts. The ratio of n days of pure luck has a variance of 1 / n (Lo,
    "The Statistics of Sharpe Ratios", Financial Analysts Journal 58 (4), 2002). So ratios of
    different ranges are compared after multiplication by root n, and with fewer than two known
    ratios the variance of luck is used.
    """
    overlapping = TrialRecord.objects.filter(
        owner_id=backtest.owner_id, start__lt=backtest.end, end__gt=backtest.start
    )
    rows = overlapping.filter(_kinship(backtest))
    distinct = {row.digest: row for row in rows.order_by("tried", "pk")}.values()
    tried = max(1, sum(row.tried for row in distinct))
    known = [row for row in distinct if row.days]
    count = sum(row.ratios for row in known)
    if count < 2:
        variance = 1.0 if tried > 1 else 0.0
    else:
        total = sum(row.ratio_sum * sqrt(row.days or 0) for row in known)
        squares = sum(row.ratio_square_sum * (row.days or 0) for row in known)
        variance = max(0.0, (squares - total**2 / count) / (count - 1))
    selected_from, figures = _selection_of(backtest, rows)
    overfitting = None if figures is None else Overfitting.of_figures(figures)
    return Trials(tried, variance / days if days else 0.0, overfitting, selected_from)


def _kinship(backtest: Backtest) -> Q:
    """Select the trials that count before a backtest."""
    akin = Q(symbols=sorted(backtest.symbols))
    own = TrialRecord.objects.filter(
        owner_id=backtest.owner_id,
        digest=_digest(backtest, backtest.receipt or {}),
        start=backtest.start,
        end=backtest.end,
    ).first()
    if own is not None and own.structure:
        akin |= Q(structure=own.structure)
    if own is not None and own.original:
        akin |= Q(original=own.original)
    return akin


def _selection_of(
    backtest: Backtest, rows: QuerySet[TrialRecord]
) -> tuple[int, Mapping[str, Any] | None]:
    """Return the number of sets in the study that chose the configuration of a backtest, and the
    figures of its overfitting; 0 without such a study. Of several studies the one with the worst
    figures counts; missing figures are the worst.
    """
    if backtest.kind == BacktestKind.OPTIMIZATION:
        study = backtest.study_results or {}
        return study["tried"], study.get("overfitting")
    configuration = (backtest.receipt or {})["configuration"]
    selections = rows.filter(selected__contains=[configuration]).values_list("tried", "overfitting")
    return max(selections, key=_severity, default=(0, None))


def _severity(selection: tuple[int, Mapping[str, Any] | None]) -> tuple[float, int]:
    tried, figures = selection
    return (2.0 if figures is None else figures["probability"]), tried


def _selection(backtest: Backtest, study: Mapping[str, Any]) -> dict[str, object]:
    """Return the fields of a row about an optimization's choice; empty for other kinds."""
    if backtest.kind != BacktestKind.OPTIMIZATION:
        return {}
    chosen = (applied(backtest.configuration, row["parameters"]) for row in study["ranking"])
    return {
        "selected": [parse(steps).hash for steps in chosen],
        "overfitting": study["overfitting"],
    }


def _alone(data: ResultData) -> TriedSets:
    """Return the single configuration of a plain backtest, or of a Monte Carlo."""
    ratio = data.sharpe
    return TriedSets(1, np.array([] if ratio is None else [ratio], np.float64))


def _digest(backtest: Backtest, receipt: Mapping[str, Any]) -> str:
    """Return the hash of the configuration and, if there are several, of the sets."""
    if backtest.kind in (BacktestKind.OPTIMIZATION, BacktestKind.WALK_FORWARD):
        study = {**(backtest.study or {}), "seed": backtest.seed}
        return hash_of([backtest.configuration, study])
    return str(receipt["configuration"])
