import io
import zlib

import django.db.models.deletion
import numpy as np
from django.conf import settings
from django.db import migrations, models

from apps.backtests.arrays import pack
from apps.backtests.results import TRADES_A_BLOCK


def into_blocks(apps, schema_editor):
    """Trades were one array with zlib, and so was the curve."""

    def unpacked(data):
        return np.load(io.BytesIO(zlib.decompress(data)), allow_pickle=False)

    BacktestResult = apps.get_model('backtests', 'BacktestResult')
    TradeBlock = apps.get_model('backtests', 'TradeBlock')
    for result in BacktestResult.objects.iterator(chunk_size=10):
        trades = unpacked(result.whole)
        TradeBlock.objects.bulk_create(
            TradeBlock(
                result=result, first=first, data=pack(trades[first : first + TRADES_A_BLOCK])
            )
            for first in range(0, len(trades), TRADES_A_BLOCK)
        )
        result.trades = len(trades)
        result.curve = pack(unpacked(result.curve))
        result.save(update_fields=['trades', 'curve'])


def running_ones_beat(apps, schema_editor):
    """Their workers are older than beats: they fall silent and are given to others."""
    running = apps.get_model('backtests', 'Backtest').objects.filter(status='running')
    running.update(beat_at=models.F('started_at'))


class Migration(migrations.Migration):

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
        ('backtests', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='LastTurn',
            fields=[
                ('owner', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='+', serialize=False, to=settings.AUTH_USER_MODEL)),
                ('taken_at', models.DateTimeField()),
            ],
        ),
        migrations.CreateModel(
            name='TradeBlock',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('first', models.PositiveIntegerField(help_text='the place of its first trade among all')),
                ('data', models.BinaryField()),
                ('result', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='blocks', to='backtests.backtestresult')),
            ],
        ),
        migrations.AddConstraint(
            model_name='tradeblock',
            constraint=models.UniqueConstraint(fields=('result', 'first'), name='trade_block_is_one'),
        ),
        migrations.RenameField(model_name='backtestresult', old_name='trades', new_name='whole'),
        migrations.AddField(
            model_name='backtestresult',
            name='trades',
            field=models.PositiveIntegerField(default=0, help_text='how many there are'),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name='backtest',
            name='beat_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='backtest',
            name='losses',
            field=models.PositiveSmallIntegerField(default=0),
        ),
        migrations.AddField(
            model_name='backtest',
            name='request_id',
            field=models.CharField(default='', help_text='of the request that asked for it', max_length=128),
            preserve_default=False,
        ),
        migrations.AlterField(
            model_name='backtest',
            name='completed_at',
            field=models.DateTimeField(help_text='when it ended, however it ended', null=True),
        ),
        migrations.AlterField(
            model_name='backtest',
            name='status',
            field=models.CharField(choices=[('queued', 'queued'), ('running', 'running'), ('completed', 'completed'), ('failed', 'failed'), ('cancelled', 'cancelled')], max_length=10),
        ),
        migrations.AddIndex(
            model_name='backtest',
            index=models.Index(condition=models.Q(('status', 'queued')), fields=['owner', 'created_at', 'id'], name='backtest_waiting'),
        ),
        migrations.AddIndex(
            model_name='backtest',
            index=models.Index(condition=models.Q(('status', 'running')), fields=['owner', 'beat_at'], name='backtest_running'),
        ),
        migrations.RunPython(into_blocks),
        migrations.RunPython(running_ones_beat),
    ]
