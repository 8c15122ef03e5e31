from django.db import migrations, models

KEEP_WHAT_WAS_ASKED = "UPDATE trading_run SET close_asked_at = now() WHERE close_positions"


class Migration(migrations.Migration):

    dependencies = [
        ('trading', '0008_drift'),
    ]

    operations = [
        migrations.AddField(
            model_name='run',
            name='close_asked_at',
            field=models.DateTimeField(help_text='When its owner asked for all its positions to be closed', null=True),
        ),
        migrations.RunSQL(KEEP_WHAT_WAS_ASKED, migrations.RunSQL.noop),
        migrations.RemoveField(
            model_name='run',
            name='close_positions',
        ),
    ]
