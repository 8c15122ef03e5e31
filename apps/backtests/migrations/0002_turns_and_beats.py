import io
import zlib

import django.db.models.deletion
import numpy as np
from django.conf import settings
from django.db import migrations, models

from apps.backtests.results import TRADES_PER_BLOCK, pack_array, unpack_array
from apps.engine.kernel.records import TRADE


def whole(array):
    buffer = io.BytesIO()
    np.save(buffer, array, allow_pickle=False)
    return zlib.compress(buffer.getvalue(), level=1)


def parted(data):
    return np.load(io.BytesIO(zlib.decompress(data)), allow_pickle=False)


def into_blocks(apps, schema_editor):
    """Trades were one array with zlib, and so was the curve."""
    TradeBlock = apps.get_model("backtests", "TradeBlock")
    for result in apps.get_model("backtests", "BacktestResult").objects.iterator(chunk_size=10):
        trades = parted(result.whole)
        TradeBlock.objects.bulk_create(
            TradeBlock(
                result=result,
                first=first,
                data=pack_array(trades[first : first + TRADES_PER_BLOCK]),
            )
            for first in range(0, len(trades), TRADES_PER_BLOCK)
        )
        result.trades = len(trades)
        result.curve = pack_array(parted(result.curve))
        result.save(update_fields=["trades", "curve"])


def out_of_blocks(apps, schema_editor):
    """And so they are again."""
    TradeBlock = apps.get_model("backtests", "TradeBlock")
    for result in apps.get_model("backtests", "BacktestResult").objects.iterator(chunk_size=10):
        blocks = [
            unpack_array(block.data)
            for block in TradeBlock.objects.filter(result=result.pk).order_by("first")
        ]
        result.whole = whole(np.concatenate(blocks) if blocks else np.empty(0, TRADE))
        result.curve = whole(unpack_array(result.curve))
        result.save(update_fields=["whole", "curve"])


def running_ones_beat(apps, schema_editor):
    """Their workers are older than beats: they fall silent and are given to others."""
    running = apps.get_model("backtests", "Backtest").objects.filter(status="running")
    running.update(beat_at=models.F("started_at"))


class Migration(migrations.Migration):
    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ("backtests", "0001_initial"),
    ]

    operations = [
        migrations.CreateModel(
            name="LastTurn",
            fields=[
                (
                    "owner",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        primary_key=True,
                        related_name="+",
                        serialize=False,
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
                ("taken_at", models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name="TradeBlock",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True, primary_key=True, serialize=False, verbose_name="ID"
                    ),
                ),
                (
                    "first",
                    models.PositiveIntegerField(help_text="the place of its first trade among all"),
                ),
                ("data", models.BinaryField()),
                (
                    "result",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="blocks",
                        to="backtests.backtestresult",
                    ),
                ),
            ],
        ),
        migrations.AddConstraint(
            model_name="tradeblock",
            constraint=models.UniqueConstraint(
                fields=("result", "first"), name="trade_block_is_one"
            ),
        ),
        migrations.RenameField(model_name="backtestresult", old_name="trades", new_name="whole"),
        migrations.AddField(
            model_name="backtestresult",
            name="trades",
            field=models.PositiveIntegerField(default=0, help_text="how many there are"),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="backtest",
            name="beat_at",
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name="backtest",
            name="losses",
            field=models.PositiveSmallIntegerField(default=0),
        ),
        migrations.AddField(
            model_name="backtest",
            name="request_id",
            field=models.CharField(
                default="", help_text="of the request that asked for it", max_length=128
            ),
            preserve_default=False,
        ),
        migrations.AlterField(
            model_name="backtest",
            name="completed_at",
            field=models.DateTimeField(help_text="when it ended, however it ended", null=True),
        ),
        migrations.AlterField(
            model_name="backtest",
            name="status",
            field=models.CharField(
                choices=[
                    ("queued", "queued"),
                    ("running", "running"),
                    ("completed", "completed"),
                    ("failed", "failed"),
                    ("cancelled", "cancelled"),
                ],
                max_length=10,
            ),
        ),
        migrations.AddIndex(
            model_name="backtest",
            index=models.Index(
                condition=models.Q(("status", "queued")),
                fields=["owner", "created_at", "id"],
                name="backtest_waiting",
            ),
        ),
        migrations.AddIndex(
            model_name="backtest",
            index=models.Index(
                condition=models.Q(("status", "running")),
                fields=["owner", "beat_at"],
                name="backtest_running",
            ),
        ),
        migrations.RunPython(into_blocks, out_of_blocks),
        migrations.RunPython(running_ones_beat, migrations.RunPython.noop),
    ]
