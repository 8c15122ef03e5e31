import apps.accounts.credentials.email_addresses
import apps.accounts.models
import apps.core.database
import django.db.models.deletion
import django.db.models.functions.text
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('accounts', '0001_initial'),
        ('accounts', '0002_rotation_and_keys'),
        ('accounts', '0003_login_session'),
        ('accounts', '0004_trustworthy_accounts'),
        ('accounts', '0005_password_fits_operators'),
        ('accounts', '0006_columns_have_defaults'),
        ('accounts', '0007_event_streams'),
    ]

    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name='User',
            fields=[
                ('password', models.CharField(max_length=128, verbose_name='password')),
                ('id', apps.core.database.IdField(serialize=False)),
                ('email', models.CharField(max_length=254, unique=True, validators=[apps.accounts.credentials.email_addresses.validate_address])),
                ('name', models.CharField(max_length=100)),
                ('email_verified', models.BooleanField(default=False)),
                ('is_active', models.BooleanField(default=True)),
                ('is_staff', models.BooleanField(default=False)),
                ('is_superuser', models.BooleanField(default=False)),
                ('created_at', models.DateTimeField()),
                ('display_name', models.CharField(blank=True, help_text='what others see beside public templates', max_length=100)),
                ('erase_at', models.DateTimeField(db_index=True, editable=False, help_text='of a closed account: when its personal data are erased', null=True)),
                ('password_fits_operators', models.BooleanField(db_default=False, default=False, editable=False, help_text='whether the password meets the rules for operators')),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('email', django.db.models.functions.text.Lower(models.F('email')))), name='email_is_stored_in_lower_case')],
            },
        ),
        migrations.CreateModel(
            name='ApiKey',
            fields=[
                ('id', apps.core.database.IdField(serialize=False)),
                ('name', models.CharField(max_length=100)),
                ('scopes', models.JSONField()),
                ('digest', models.CharField(max_length=64, unique=True)),
                ('last_four', models.CharField(max_length=4)),
                ('created_at', models.DateTimeField()),
                ('last_used_at', models.DateTimeField(null=True)),
                ('expires_at', models.DateTimeField(null=True)),
                ('revoked_at', models.DateTimeField(null=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='keys', to=settings.AUTH_USER_MODEL)),
                ('last_address', models.GenericIPAddressField(null=True)),
                ('networks', models.JSONField(default=list, help_text='from which it is accepted; none: from all')),
            ],
            options={
                'verbose_name': 'API key',
                'constraints': [models.CheckConstraint(condition=models.Q(('scopes__contained_by', ['read', 'trade', 'backtest']), models.Q(('scopes', []), _negated=True)), name='a_key_has_known_scopes')],
            },
        ),
        migrations.CreateModel(
            name='DataExport',
            fields=[
                ('id', apps.core.database.IdField(serialize=False)),
                ('created_at', models.DateTimeField()),
                ('ready_at', models.DateTimeField(null=True)),
                ('expires_at', models.DateTimeField(db_index=True)),
                ('archive', models.BinaryField(null=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='exports', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='EmailLink',
            fields=[
                ('id', apps.core.database.IdField(serialize=False)),
                ('purpose', models.CharField(choices=[('verify', 'Verify'), ('reset', 'Reset'), ('leave_address', 'Leave Address'), ('take_address', 'Take Address')], max_length=20)),
                ('email', models.CharField(help_text='where it was sent', max_length=254)),
                ('new_email', models.CharField(blank=True, max_length=254)),
                ('created_at', models.DateTimeField()),
                ('expires_at', models.DateTimeField(db_index=True)),
                ('used_at', models.DateTimeField(null=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='email_links', to=settings.AUTH_USER_MODEL)),
            ],
        ),
        migrations.CreateModel(
            name='LoginNetwork',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('network', models.CharField(max_length=43)),
                ('last_login_at', models.DateTimeField(db_index=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='networks', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('user', 'network'), name='a_network_stands_once')],
            },
        ),
        migrations.CreateModel(
            name='LoginSession',
            fields=[
                ('id', apps.core.database.IdField(serialize=False)),
                ('created_at', models.DateTimeField()),
                ('last_used_at', models.DateTimeField()),
                ('expires_at', models.DateTimeField()),
                ('ended_at', models.DateTimeField(null=True)),
                ('end_reason', models.CharField(blank=True, choices=[('logout', 'Logout'), ('revoked', 'Revoked'), ('password', 'Password'), ('limit', 'Limit'), ('reuse', 'Reuse'), ('operator', 'Operator'), ('guessing', 'Guessing'), ('closed', 'Closed')], max_length=20)),
                ('address', models.GenericIPAddressField(null=True)),
                ('user_agent', models.CharField(blank=True, max_length=200)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='sessions', to=settings.AUTH_USER_MODEL)),
                ('token_id', models.CharField(default=apps.accounts.models.new_token_id, max_length=32)),
                ('previous_token_id', models.CharField(blank=True, max_length=32)),
                ('rotated_at', models.DateTimeField()),
                ('proved_at', models.DateTimeField(null=True)),
                ('wrong_passwords', models.PositiveSmallIntegerField(default=0)),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('end_reason', ''), ('ended_at', None)), models.Q(('ended_at__isnull', False), models.Q(('end_reason', ''), _negated=True)), _connector='OR'), name='an_ended_session_says_why')],
                'db_table': 'accounts_session',
            },
        ),
        migrations.CreateModel(
            name='RecoveryCode',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('digest', models.CharField(max_length=64)),
                ('used_at', models.DateTimeField(null=True)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='recovery_codes', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('user', 'digest'), name='a_recovery_code_stands_once')],
            },
        ),
        migrations.CreateModel(
            name='SecondFactor',
            fields=[
                ('user', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='second_factor', serialize=False, to=settings.AUTH_USER_MODEL)),
                ('secret', models.BinaryField()),
                ('created_at', models.DateTimeField()),
                ('confirmed_at', models.DateTimeField(null=True)),
                ('last_step', models.BigIntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name='StreamSlot',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kept_until', models.DateTimeField()),
                ('key', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='streams', to='accounts.apikey')),
                ('session', models.ForeignKey(null=True, on_delete=django.db.models.deletion.CASCADE, related_name='streams', to='accounts.loginsession')),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('key__isnull', False), ('session', None)), models.Q(('key', None), ('session__isnull', False)), _connector='OR'), name='a_stream_is_of_a_session_or_a_key')],
            },
        ),
    ]
