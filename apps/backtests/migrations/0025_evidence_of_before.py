"""Writes what an optimization chose into its row of the ledger where that was made before the row
had it, and forgets evidence on walk-forwards that looked at no fills.

What it chose follows from its results, so that of a study that was deleted stays unknown: a row
alone does not say which sets were ranked. Forgotten evidence is made again when it is asked for.
"""

from typing import Any

from django.db import migrations

ROWS_AT_A_TIME = 500


def fill_selections(apps: Any, schema_editor: Any) -> None:
    from apps.engine.language.strategy import read
    from apps.engine.simulation.receipt import configuration_hash, hash_of
    from apps.engine.studies.grid import applied

    unfilled = apps.get_model("backtests", "TrialRecord").objects.filter(selected=[])
    studies = apps.get_model("backtests", "Backtest").objects.filter(
        kind="optimization", status="completed", study_results__ranking__isnull=False
    )
    for study in studies.order_by("created_at").iterator(ROWS_AT_A_TIME):
        steps, ranking = study.configuration, study.study_results["ranking"]
        strategies = (read(applied(steps, row["parameters"])).strategy for row in ranking)
        unfilled.filter(
            owner_id=study.owner_id,
            digest=hash_of([steps, {**(study.study or {}), "seed": study.seed}]),
            start=study.start,
            end=study.end,
        ).update(
            selected=[configuration_hash(strategy) for strategy in strategies if strategy],
            overfitting=study.study_results.get("overfitting"),
        )


def forget_walk_forwards(apps: Any, schema_editor: Any) -> None:
    evidence = apps.get_model("backtests", "Evidence").objects
    evidence.filter(backtest__kind="walk_forward").delete()


class Migration(migrations.Migration):
    dependencies = [("backtests", "0024_worker_of_work")]

    operations = [
        migrations.RunPython(fill_selections, migrations.RunPython.noop),
        migrations.RunPython(forget_walk_forwards, migrations.RunPython.noop),
    ]
