import django.db.models.deletion
from django.db import migrations, models
from django.db.models import F, Q

GOES_FORWARD = models.CheckConstraint(
    condition=Q(row_time=None) | Q(segment_start__isnull=False, row_time__gte=F("segment_start")),
    name="bar_stream_goes_forward",
)
ONE_ROW = models.UniqueConstraint(fields=["stream", "time"], name="one_row_of_a_stream_at_a_time")


class Migration(migrations.Migration):
    dependencies = [("trading", "0002_names_of_release_1_0")]

    operations = [
        migrations.AlterModelTable("barstream", None),
        migrations.AlterModelTable("barrow", None),
        migrations.AlterModelTable("performancetotals", None),
        migrations.AlterField("barstream", "segment_start", models.BigIntegerField(null=True)),
        migrations.AlterField(
            "barrow",
            "stream",
            models.ForeignKey(
                db_index=False,
                on_delete=django.db.models.deletion.CASCADE,
                related_name="rows",
                to="trading.barstream",
            ),
        ),
        migrations.AlterField(
            "runstate",
            "stream",
            models.ForeignKey(
                help_text="Null until a runner has assigned a stream",
                null=True,
                on_delete=django.db.models.deletion.PROTECT,
                related_name="states",
                to="trading.barstream",
            ),
        ),
        migrations.AlterField(
            "run",
            "close_requested_at",
            models.DateTimeField(
                help_text="When its owner requested to close all positions", null=True
            ),
        ),
        migrations.AlterField(
            "position",
            "close_requested_at",
            models.DateTimeField(help_text="When its owner requested the closing", null=True),
        ),
        migrations.AlterField(
            "order",
            "cancel_requested_at",
            models.DateTimeField(help_text="When its owner requested the cancellation", null=True),
        ),
        # PostgreSQL renames a constraint without reading the table; Django would check each row.
        migrations.RunSQL(
            [
                "ALTER TABLE trading_barstream RENAME CONSTRAINT"
                " a_lane_goes_forward TO bar_stream_goes_forward",
                "ALTER TABLE trading_barrow RENAME CONSTRAINT"
                " one_row_of_a_lane_at_a_time TO one_row_of_a_stream_at_a_time",
            ],
            state_operations=[
                migrations.RemoveConstraint("barstream", "a_lane_goes_forward"),
                migrations.AddConstraint("barstream", GOES_FORWARD),
                migrations.RemoveConstraint("barrow", "one_row_of_a_lane_at_a_time"),
                migrations.AddConstraint("barrow", ONE_ROW),
            ],
        ),
        migrations.RenameIndex(
            "barstream", new_name="bar_streams_to_wake", old_name="lanes_to_wake"
        ),
    ]
