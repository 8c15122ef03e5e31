"""Says of each row of the ledger of trials which others are akin to it, and of how many days it is.

What was deleted has neither a structure nor an origin: it is known by its symbols alone. Of seven
days of a range about five are sessions.
"""

from itertools import islice
from typing import Any

from django.db import migrations, models
from django.db.models import F

ROWS_AT_A_TIME = 500
SECONDS_A_SESSION = 86_400 * 7 // 5


def fill(apps: Any, schema_editor: Any) -> None:
    from apps.engine.language import read_strategy

    records = apps.get_model("backtests", "TrialRecord").objects
    records.filter(days=None).update(days=(F("end") - F("start")) / SECONDS_A_SESSION)
    sources = dict(apps.get_model("algorithms", "Algorithm").objects.values_list("pk", "cloned_from"))
    rows = records.filter(structure="").iterator(ROWS_AT_A_TIME)
    while batch := list(islice(rows, ROWS_AT_A_TIME)):
        backtests = apps.get_model("backtests", "Backtest").objects.in_bulk(
            [row.backtest_id for row in batch]
        )
        for row in batch:
            if backtest := backtests.get(row.backtest_id):
                row.original = _original_of(backtest.algorithm_id, sources)
                if strategy := read_strategy(backtest.configuration).strategy:
                    row.structure = strategy.structure_hash
        records.bulk_update(batch, ["original", "structure"])


def _original_of(algorithm: str, sources: dict[str, str | None]) -> str:
    while source := sources.get(algorithm):
        algorithm = source
    return algorithm


class Migration(migrations.Migration):
    dependencies = [
        ("algorithms", "0001_release_1_0"),
        ("backtests", "0002_names_of_release_1_0"),
    ]

    operations = [
        migrations.AddField(
            "trialrecord", "days", models.PositiveIntegerField(null=True)
        ),
        migrations.AddField(
            "trialrecord", "original",
            models.CharField(db_default="", help_text="As structure", max_length=24),
        ),
        migrations.AddField(
            "trialrecord", "structure",
            models.CharField(
                db_default="", help_text="Empty of what was deleted before it was kept", max_length=64
            ),
        ),
        migrations.RunPython(fill, migrations.RunPython.noop),
    ]
