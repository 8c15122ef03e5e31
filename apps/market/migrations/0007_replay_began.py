from django.db import migrations, models
from django.db.models import F, Q


class Migration(migrations.Migration):

    dependencies = [
        ('market', '0006_live_candles'),
    ]

    operations = [
        migrations.AddField(
            model_name='replay',
            name='began',
            field=models.BigIntegerField(default=0, help_text='Start of its first bars, epoch seconds'),
            preserve_default=False,
        ),
        migrations.RunSQL(
            'UPDATE market_replay SET began = moment', migrations.RunSQL.noop
        ),
        migrations.AddConstraint(
            model_name='replay',
            constraint=models.CheckConstraint(condition=Q(moment__gte=F('began')), name='a_replay_goes_forward'),
        ),
    ]
