"""Give models and fields other names in Python; tables and columns keep theirs."""

import django.db.models.deletion
from django.db import migrations, models
from django.db.models import F, Q


class Migration(migrations.Migration):
    dependencies = [("trading", "0012_drift_of_sessions_under_way")]

    operations = [
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RenameModel("Lane", "BarStream"),
                migrations.AlterModelTable("BarStream", "trading_lane"),
                migrations.RenameModel("LaneRow", "BarRow"),
                migrations.AlterModelTable("BarRow", "trading_lanerow"),
                migrations.RenameModel("Tally", "PerformanceTotals"),
                migrations.AlterModelTable("PerformanceTotals", "trading_tally"),
                migrations.AlterModelOptions(
                    "PerformanceTotals", {"verbose_name_plural": "performance totals"}
                ),
                migrations.AlterField(
                    "PerformanceTotals",
                    "algorithm",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="performance_totals",
                        serialize=False,
                        to="algorithms.algorithm",
                    ),
                ),
                migrations.RemoveConstraint("BarStream", "a_lane_goes_forward"),
                migrations.RenameField("BarStream", "began", "segment_start"),
                migrations.AlterField(
                    "BarStream",
                    "segment_start",
                    models.BigIntegerField(null=True, db_column="began"),
                ),
                migrations.AddConstraint(
                    "BarStream",
                    models.CheckConstraint(
                        condition=Q(row_time=None)
                        | Q(segment_start__isnull=False, row_time__gte=F("segment_start")),
                        name="a_lane_goes_forward",
                    ),
                ),
                migrations.RemoveConstraint("BarRow", "one_row_of_a_lane_at_a_time"),
                migrations.RenameField("BarRow", "lane", "stream"),
                migrations.AlterField(
                    "BarRow",
                    "stream",
                    models.ForeignKey(
                        db_column="lane_id",
                        db_index=False,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="rows",
                        to="trading.barstream",
                    ),
                ),
                migrations.AddConstraint(
                    "BarRow",
                    models.UniqueConstraint(
                        fields=("stream", "time"), name="one_row_of_a_lane_at_a_time"
                    ),
                ),
                migrations.RenameField("RunState", "lane", "stream"),
                migrations.AlterField(
                    "RunState",
                    "stream",
                    models.ForeignKey(
                        db_column="lane_id",
                        help_text="None until it is found",
                        null=True,
                        on_delete=django.db.models.deletion.PROTECT,
                        related_name="states",
                        to="trading.barstream",
                    ),
                ),
                migrations.RenameField("Run", "close_asked_at", "close_requested_at"),
                migrations.AlterField(
                    "Run",
                    "close_requested_at",
                    models.DateTimeField(
                        db_column="close_asked_at",
                        help_text="When its owner asked for all its positions to be closed",
                        null=True,
                    ),
                ),
                migrations.RenameField("Position", "close_asked_at", "close_requested_at"),
                migrations.AlterField(
                    "Position",
                    "close_requested_at",
                    models.DateTimeField(
                        db_column="close_asked_at",
                        help_text="When its owner asked for it to be closed",
                        null=True,
                    ),
                ),
                migrations.RenameField("Order", "cancel_asked_at", "cancel_requested_at"),
                migrations.AlterField(
                    "Order",
                    "cancel_requested_at",
                    models.DateTimeField(
                        db_column="cancel_asked_at",
                        help_text="When its owner asked for it to be cancelled",
                        null=True,
                    ),
                ),
            ]
        ),
    ]
