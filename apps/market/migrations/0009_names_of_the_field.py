"""Call the models by the field's words; tables and columns stay as they are."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('market', '0008_newest_live_candles'),
    ]

    operations = [
        migrations.AlterModelTable('CandleBlock', 'market_candleblock'),
        migrations.RenameModel('CandleBlock', 'CandleChunk'),
        migrations.AlterModelTable('LiveCandle', 'market_livecandle'),
        migrations.RenameModel('LiveCandle', 'BufferedCandle'),
        migrations.AlterModelTable('Edition', 'market_edition'),
        migrations.RenameModel('Edition', 'RuleSetVersion'),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RemoveConstraint('CandleChunk', 'one_block_per_period'),
                migrations.AlterField(
                    model_name='candlechunk',
                    name='block_start',
                    field=models.DateField(db_column='block_start', help_text='first day of the period, Asia/Kolkata'),
                ),
                migrations.RenameField('CandleChunk', 'block_start', 'period_start'),
                migrations.AlterModelOptions(name='candlechunk', options={'ordering': ['symbol', 'timeframe', 'period_start']}),
                migrations.AddConstraint(
                    model_name='candlechunk',
                    constraint=models.UniqueConstraint(fields=('symbol', 'timeframe', 'period_start'), name='one_block_per_period'),
                ),
                migrations.AlterField(
                    model_name='candlechunk',
                    name='data',
                    field=models.BinaryField(help_text='as encoded by apps/market/candle_chunks.py'),
                ),
                migrations.AlterField(
                    model_name='candlechunk',
                    name='days',
                    field=models.BinaryField(help_text='one bit a day of the period: set where there are bars'),
                ),
            ],
        ),
    ]
