"""Refresh tokens that rotate, and API keys.

Which token a session that is open now has out is not known, so the user logs in again.
"""

import apps.accounts.models
import apps.core.ids
import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models
from django.utils import timezone


def end_all(registry, editor):
    sessions = registry.get_model('accounts', 'Session').objects.filter(ended_at=None)
    sessions.update(ended_at=timezone.now(), end_reason='operator')


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0001_initial'),
    ]

    operations = [
        migrations.AddField(
            model_name='session',
            name='token_id',
            field=models.CharField(default=apps.accounts.models.new_token_id, max_length=32),
        ),
        migrations.AddField(
            model_name='session',
            name='previous_token_id',
            field=models.CharField(blank=True, default='', max_length=32),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name='session',
            name='rotated_at',
            field=models.DateTimeField(default=timezone.now),
            preserve_default=False,
        ),
        migrations.AlterField(
            model_name='session',
            name='end_reason',
            field=models.CharField(blank=True, choices=[('logout', 'Logout'), ('revoked', 'Revoked'), ('password', 'Password'), ('limit', 'Limit'), ('reuse', 'Reuse'), ('operator', 'Operator')], max_length=20),
        ),
        migrations.CreateModel(
            name='ApiKey',
            fields=[
                ('id', apps.core.ids.IdField(serialize=False)),
                ('name', models.CharField(max_length=100)),
                ('scopes', models.JSONField()),
                ('digest', models.CharField(max_length=64, unique=True)),
                ('last_four', models.CharField(max_length=4)),
                ('created_at', models.DateTimeField()),
                ('last_used_at', models.DateTimeField(null=True)),
                ('expires_at', models.DateTimeField(null=True)),
                ('revoked_at', models.DateTimeField(null=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='keys', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'API key',
                'constraints': [models.CheckConstraint(condition=models.Q(('scopes__contained_by', ['read', 'trade', 'backtest']), models.Q(('scopes', []), _negated=True)), name='a_key_has_known_scopes')],
            },
        ),
        migrations.RunPython(end_all, migrations.RunPython.noop),
    ]
