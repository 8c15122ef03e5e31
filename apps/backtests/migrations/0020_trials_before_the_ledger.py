"""Fills the ledger of trials with the backtests that were completed before it was kept.

The daily Sharpe ratio of one configuration is that of a year over the root of its periods; those of
the sets of a study were not kept, so they only count.
"""

from itertools import islice
from typing import Any

from django.db import migrations
from django.db.models import Exists, F, OuterRef

ROWS_AT_A_TIME = 500
PERIODS_A_YEAR = {"1w": 52}


def fill(apps: Any, schema_editor: Any) -> None:
    records = apps.get_model("backtests", "TrialRecord").objects
    missing = apps.get_model("backtests", "Backtest").objects.filter(
        ~Exists(records.filter(backtest_id=OuterRef("pk"))),
        status="completed",
        receipt__configuration__isnull=False,
    )
    rows = missing.order_by("created_at").values(
        "pk", "owner_id", "kind", "configuration", "study", "study_results", "receipt", "symbols",
        "timeframe", "start", "end", "seed", "completed_at",
        ratio=F("performance__sharpeRatioAnnualized"),
    ).iterator(ROWS_AT_A_TIME)  # fmt: skip
    while batch := [records.model(**_record(row)) for row in islice(rows, ROWS_AT_A_TIME)]:
        records.bulk_create(batch, ignore_conflicts=True)


def _record(row: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of the row of the ledger, as `ledger.record_trials` writes them."""
    from apps.engine.simulation.receipt import hash_of

    study = row["study_results"] or {}
    digest, tried, selected = row["receipt"]["configuration"], 1, list[str]()
    if row["kind"] in ("optimization", "walk_forward"):
        digest = hash_of([row["configuration"], {**(row["study"] or {}), "seed": row["seed"]}])
        tried = study.get("tried", study.get("sets", 1))
        selected = _selected(row["configuration"], study.get("ranking", []))
    ratios = []
    if tried == 1 and row["ratio"] is not None:
        ratios = [row["ratio"] / PERIODS_A_YEAR.get(row["timeframe"], 252) ** 0.5]
    return {
        "owner_id": row["owner_id"],
        "backtest_id": row["pk"],
        "digest": digest,
        "symbols": sorted(row["symbols"]),
        "start": row["start"],
        "end": row["end"],
        "tried": tried,
        "ratios": len(ratios),
        "ratio_sum": sum(ratios),
        "ratio_square_sum": sum(ratio**2 for ratio in ratios),
        "selected": selected,
        "created_at": row["completed_at"],
    }


def _selected(steps: dict[str, Any], ranking: list[dict[str, Any]]) -> list[str]:
    """Return the hashes of the sets that a study ranks first, which are valid today."""
    from apps.engine.language.strategy import read
    from apps.engine.simulation.receipt import configuration_hash
    from apps.engine.studies.grid import applied

    strategies = (read(applied(steps, row["parameters"])).strategy for row in ranking)
    return [configuration_hash(strategy) for strategy in strategies if strategy]


class Migration(migrations.Migration):
    dependencies = [("backtests", "0019_selections_of_studies")]

    operations = [migrations.RunPython(fill, migrations.RunPython.noop)]
