import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):

    replaces = [
        ('ops', '0001_backup_records'),
        ('ops', '0002_processes'),
        ('ops', '0003_scheduled_backups'),
    ]

    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name='BackupRecord',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(blank=True, help_text='Of the file', max_length=100)),
                ('begun_at', models.DateTimeField(db_index=True)),
                ('taken_at', models.DateTimeField(help_text='The time of the snapshot; null if the backup failed', null=True)),
                ('size', models.BigIntegerField(default=0, help_text='Bytes')),
                ('error', models.CharField(blank=True, max_length=500)),
                ('is_scheduled', models.BooleanField(db_default=False, default=False, help_text='By the schedule, not by hand')),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('taken_at', None), models.Q(('error', ''), _negated=True)), models.Q(('error', ''), ('taken_at__isnull', False)), _connector='OR'), name='a_backup_succeeds_or_says_why_not')],
            },
        ),
        migrations.CreateModel(
            name='ServiceProcess',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('machine', models.CharField(max_length=64)),
                ('pid', models.PositiveIntegerField()),
                ('role', models.CharField(help_text='Name of the process, such as runner', max_length=40)),
                ('version', models.CharField(max_length=20)),
                ('key_fingerprint', models.CharField(max_length=16)),
                ('started_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('beat_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('clock_ahead', models.FloatField(help_text="Seconds, where the machine's clock is off")),
                ('resting', models.CharField(blank=True, help_text='Why it takes no work', max_length=20)),
            ],
            options={
                'verbose_name_plural': 'service processes',
                'constraints': [models.UniqueConstraint(fields=('machine', 'pid'), name='one_row_of_a_process_of_a_machine')],
            },
        ),
    ]
