from django.db import migrations, models
from django.db.models import F, Q


class Migration(migrations.Migration):
    dependencies = [("trading", "0005_brokers")]

    operations = [
        migrations.AddField(
            model_name="runstate",
            name="since",
            field=models.BigIntegerField(
                help_text="The market's time when it started; it is stepped by rows that close later"
            ),
        ),
        migrations.AlterField(
            model_name="runstate",
            name="lane",
            field=models.ForeignKey(
                to="trading.lane",
                on_delete=models.PROTECT,
                null=True,
                related_name="states",
                help_text="None until it is found",
            ),
        ),
        migrations.RemoveConstraint(model_name="lane", name="a_lane_goes_forward"),
        migrations.AddConstraint(
            model_name="lane",
            constraint=models.CheckConstraint(
                condition=Q(row_time=None) | Q(began__isnull=False, row_time__gte=F("began")),
                name="a_lane_goes_forward",
            ),
        ),
    ]
