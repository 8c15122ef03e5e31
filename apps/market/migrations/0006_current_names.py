from django.db import migrations, models
from django.db.models import F, Q

TIMEFRAMES = ["1m", "5m", "15m", "30m", "1h", "4h", "1d", "1w"]
CHUNKS = {
    "one_block_per_period": models.UniqueConstraint(
        fields=["symbol", "timeframe", "period_start"], name="one_chunk_per_period"
    ),
    "block_timeframe_is_known": models.CheckConstraint(
        condition=Q(timeframe__in=TIMEFRAMES), name="chunk_timeframe_is_known"
    ),
    "block_holds_bars": models.CheckConstraint(condition=Q(bars__gte=1), name="chunk_holds_bars"),
    "block_times_in_order": models.CheckConstraint(
        condition=Q(last_time__gte=F("first_time")), name="chunk_times_in_order"
    ),
}
BUFFER = {
    "one_live_candle_of_a_moment": models.UniqueConstraint(
        fields=["symbol", "timeframe", "time"], name="one_buffered_candle_of_a_moment"
    ),
    "live_timeframe_is_known": models.CheckConstraint(
        condition=Q(timeframe__in=TIMEFRAMES), name="buffered_timeframe_is_known"
    ),
    "live_candle_is_one": models.CheckConstraint(
        condition=Q(low__gt=0, low__lte=F("open"), open__lte=F("high"), volume__gte=0)
        & Q(low__lte=F("close"), close__lte=F("high")),
        name="buffered_prices_in_order",
    ),
}
GOES_FORWARD = models.CheckConstraint(
    condition=Q(moment__gte=F("start")), name="a_replay_goes_forward"
)


def renamed(model, constraints):
    """Rename constraints in PostgreSQL: Django would check each row again."""
    table = f"market_{model}"
    return migrations.RunSQL(
        [
            f"ALTER TABLE {table} RENAME CONSTRAINT {old} TO {constraint.name}"
            for old, constraint in constraints.items()
        ],
        state_operations=[
            *(migrations.RemoveConstraint(model, old) for old in constraints),
            *(migrations.AddConstraint(model, constraint) for constraint in constraints.values()),
        ],
    )


class Migration(migrations.Migration):
    dependencies = [("market", "0005_undo_of_loads")]

    operations = [
        migrations.AlterModelTable("candlechunk", None),
        migrations.AlterModelTable("bufferedcandle", None),
        migrations.AlterModelTable("rulesetversion", None),
        migrations.AlterField(
            "candlechunk",
            "period_start",
            models.DateField(help_text="First day of the period, Asia/Kolkata"),
        ),
        # Its constraint has the field in its condition, which Django does not rename.
        migrations.RemoveConstraint("replay", "a_replay_goes_forward"),
        migrations.RenameField("replay", "began", "start"),
        migrations.AddConstraint("replay", GOES_FORWARD),
        renamed("candlechunk", CHUNKS),
        renamed("bufferedcandle", BUFFER),
        migrations.RenameIndex(
            "bufferedcandle", new_name="buffered_candles_newest", old_name="live_candles_newest"
        ),
    ]
