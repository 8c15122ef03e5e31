import apps.core.ids
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Sequence',
            fields=[
                ('algorithm_id', models.CharField(max_length=24, primary_key=True, serialize=False)),
                ('last', models.PositiveBigIntegerField()),
            ],
        ),
        migrations.CreateModel(
            name='Event',
            fields=[
                ('id', apps.core.ids.IdField(serialize=False)),
                ('type', models.CharField(choices=[('algorithm.started', 'algorithm.started'), ('algorithm.stopped', 'algorithm.stopped'), ('algorithm.paused', 'algorithm.paused'), ('algorithm.error', 'algorithm.error'), ('trade.executed', 'trade.executed'), ('backtest.completed', 'backtest.completed'), ('backtest.failed', 'backtest.failed'), ('risk.daily_loss_limit_reached', 'risk.daily_loss_limit_reached'), ('performance.alert', 'performance.alert'), ('webhook.test', 'webhook.test')], max_length=40)),
                ('algorithm_id', models.CharField(max_length=24)),
                ('backtest_id', models.CharField(blank=True, help_text="Of the algorithm's backtest that it is about", max_length=24)),
                ('sequence', models.PositiveBigIntegerField(help_text="Its place among the algorithm's events")),
                ('created_at', models.DateTimeField()),
                ('data', models.JSONField()),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('algorithm_id', 'sequence'), name='one_event_in_each_place'), models.CheckConstraint(condition=models.Q(('type__in', ['algorithm.started', 'algorithm.stopped', 'algorithm.paused', 'algorithm.error', 'trade.executed', 'backtest.completed', 'backtest.failed', 'risk.daily_loss_limit_reached', 'performance.alert', 'webhook.test'])), name='event_type_is_known')],
            },
        ),
    ]
