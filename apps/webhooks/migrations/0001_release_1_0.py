import apps.core.database
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models

# Whoever reads events is notified of new ones (apps/webhooks/events/feed.py).
NOTIFY_OF_EVENTS = """
    CREATE FUNCTION webhooks_notify_of_event() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        PERFORM pg_notify('events_written', NEW.owner_id);
        RETURN NULL;
    END $$;
    CREATE TRIGGER notify_of_event AFTER INSERT ON webhooks_event
        FOR EACH ROW EXECUTE FUNCTION webhooks_notify_of_event();
"""


class Migration(migrations.Migration):

    replaces = [
        ('webhooks', '0001_initial'),
        ('webhooks', '0002_endpoints_and_deliveries'),
        ('webhooks', '0003_newest_deliveries'),
        ('webhooks', '0004_queues'),
        ('webhooks', '0005_help_texts'),
        ('webhooks', '0006_positions_of_events'),
    ]

    initial = True

    dependencies = [
        ('accounts', '0001_release_1_0'),
    ]

    operations = [
        migrations.CreateModel(
            name='EmailNotices',
            fields=[
                ('owner', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, serialize=False, to=settings.AUTH_USER_MODEL)),
                ('events', models.JSONField(default=list)),
                ('day', models.DateField(help_text='Day in UTC on which the mails were counted', null=True)),
                ('sent', models.PositiveIntegerField(default=0)),
            ],
            options={
                'verbose_name_plural': 'e-mail notices',
                'constraints': [models.CheckConstraint(condition=models.Q(('events__contained_by', ['algorithm.started', 'algorithm.stopped', 'algorithm.paused', 'algorithm.error', 'trade.executed', 'backtest.completed', 'backtest.failed', 'risk.daily_loss_limit_reached', 'performance.alert', 'webhook.test'])), name='notices_are_of_known_events')],
            },
        ),
        migrations.CreateModel(
            name='Endpoint',
            fields=[
                ('id', apps.core.database.IdField(serialize=False)),
                ('url', models.CharField(max_length=2048)),
                ('events', models.JSONField(help_text='Types of the events that it receives')),
                ('description', models.CharField(blank=True, max_length=200)),
                ('status', models.CharField(choices=[('enabled', 'enabled'), ('disabled', 'disabled'), ('deleted', 'deleted')], default='enabled', max_length=8)),
                ('disabled_reason', models.CharField(blank=True, choices=[('owner', 'owner'), ('operator', 'operator'), ('gone', 'gone'), ('failing', 'failing')], max_length=8)),
                ('secret', models.BinaryField()),
                ('previous_secret', models.BinaryField(null=True)),
                ('previous_until', models.DateTimeField(null=True)),
                ('failing_since', models.DateTimeField(null=True)),
                ('failures', models.PositiveIntegerField(default=0, help_text='Failed attempts since the last success')),
                ('slow', models.BooleanField(default=False)),
                ('served_at', models.DateTimeField(help_text='When a delivery to it was last claimed', null=True)),
                ('created_at', models.DateTimeField()),
                ('changed_at', models.DateTimeField(help_text='When its owner or a change of its status last updated it')),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='endpoints', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('status__in', ['enabled', 'disabled', 'deleted'])), name='endpoint_status_is_known'), models.CheckConstraint(condition=models.Q(models.Q(('status', 'disabled'), ('disabled_reason__in', ['owner', 'operator', 'gone', 'failing'])), models.Q(models.Q(('status', 'disabled'), _negated=True), ('disabled_reason', '')), _connector='OR'), name='a_disabled_endpoint_says_why'), models.CheckConstraint(condition=models.Q(('events__contained_by', ['algorithm.started', 'algorithm.stopped', 'algorithm.paused', 'algorithm.error', 'trade.executed', 'backtest.completed', 'backtest.failed', 'risk.daily_loss_limit_reached', 'performance.alert', 'webhook.test']), models.Q(('events', []), _negated=True)), name='an_endpoint_wants_known_events')],
            },
        ),
        migrations.CreateModel(
            name='Event',
            fields=[
                ('id', apps.core.database.IdField(serialize=False)),
                ('type', models.CharField(choices=[('algorithm.started', 'algorithm.started'), ('algorithm.stopped', 'algorithm.stopped'), ('algorithm.paused', 'algorithm.paused'), ('algorithm.error', 'algorithm.error'), ('trade.executed', 'trade.executed'), ('backtest.completed', 'backtest.completed'), ('backtest.failed', 'backtest.failed'), ('risk.daily_loss_limit_reached', 'risk.daily_loss_limit_reached'), ('performance.alert', 'performance.alert'), ('webhook.test', 'webhook.test')], max_length=40)),
                ('algorithm_id', models.CharField(help_text='Id of the algorithm; for a test event, of the endpoint', max_length=24)),
                ('backtest_id', models.CharField(blank=True, help_text='Id of the backtest, if the event is about one', max_length=24)),
                ('sequence', models.PositiveBigIntegerField(help_text='Number of the event among those of the algorithm, from 1')),
                ('created_at', models.DateTimeField()),
                ('data', models.JSONField()),
                ('owner', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('position', models.PositiveBigIntegerField(help_text='Number of the event among those of its owner, from 1, in the order of their commits; null until somebody reads them', null=True)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('algorithm_id', 'sequence'), name='one_event_in_each_place'), models.CheckConstraint(condition=models.Q(('type__in', ['algorithm.started', 'algorithm.stopped', 'algorithm.paused', 'algorithm.error', 'trade.executed', 'backtest.completed', 'backtest.failed', 'risk.daily_loss_limit_reached', 'performance.alert', 'webhook.test'])), name='event_type_is_known'), models.UniqueConstraint(fields=('owner', 'position'), name='an_event_has_a_position_of_its_own')],
                'indexes': [models.Index(condition=models.Q(('position__isnull', True)), fields=['owner'], name='events_to_number')],
            },
        ),
        migrations.CreateModel(
            name='EventCounter',
            fields=[
                ('owner', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, serialize=False, to=settings.AUTH_USER_MODEL)),
                ('last', models.PositiveBigIntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name='Sequence',
            fields=[
                ('algorithm_id', models.CharField(max_length=24, primary_key=True, serialize=False)),
                ('last', models.PositiveBigIntegerField()),
            ],
        ),
        migrations.CreateModel(
            name='Delivery',
            fields=[
                ('id', apps.core.database.IdField(serialize=False)),
                ('status', models.CharField(choices=[('waiting', 'waiting'), ('sending', 'sending'), ('delivered', 'delivered'), ('failed', 'failed')], max_length=9)),
                ('queue', models.CharField(choices=[('prompt', 'prompt'), ('patient', 'patient')], max_length=7)),
                ('due_at', models.DateTimeField()),
                ('claimed_until', models.DateTimeField(null=True)),
                ('claimed_by', models.IntegerField(null=True)),
                ('attempts', models.PositiveIntegerField(default=0)),
                ('failures', models.PositiveSmallIntegerField(default=0)),
                ('created_at', models.DateTimeField()),
                ('event', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='webhooks.event')),
                ('endpoint', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='webhooks.endpoint')),
            ],
            options={
                'verbose_name_plural': 'deliveries',
                'indexes': [models.Index(condition=models.Q(('status', 'sending')), fields=['endpoint'], name='deliveries_sending'), models.Index(models.F('endpoint'), models.OrderBy(models.F('created_at'), descending=True), models.OrderBy(models.F('id'), descending=True), name='deliveries_newest'), models.Index(condition=models.Q(('status', 'waiting')), fields=['queue', 'endpoint', 'due_at'], name='deliveries_waiting')],
                'constraints': [models.UniqueConstraint(fields=('event', 'endpoint'), name='an_event_goes_to_an_endpoint_once'), models.CheckConstraint(condition=models.Q(('status__in', ['waiting', 'sending', 'delivered', 'failed'])), name='delivery_status_is_known'), models.CheckConstraint(condition=models.Q(models.Q(('status', 'sending'), ('claimed_by__isnull', False), ('claimed_until__isnull', False)), models.Q(models.Q(('status', 'sending'), _negated=True), ('claimed_by', None), ('claimed_until', None)), _connector='OR'), name='what_is_being_sent_is_claimed')],
            },
        ),
        migrations.CreateModel(
            name='Attempt',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('at', models.DateTimeField()),
                ('seconds', models.FloatField(null=True)),
                ('http_status', models.PositiveSmallIntegerField(null=True)),
                ('error', models.CharField(blank=True, help_text="Name of the error's class", max_length=40)),
                ('delivery', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='tries', to='webhooks.delivery')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('delivery', 'number'), name='an_attempt_has_its_number_once')],
            },
        ),
        migrations.RunSQL(NOTIFY_OF_EVENTS),
    ]
