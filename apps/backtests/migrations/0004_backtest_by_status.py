from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("backtests", "0003_blocks_alone"),
    ]

    operations = [
        migrations.AddIndex(
            model_name="backtest",
            index=models.Index(fields=["status"], name="backtest_by_status"),
        ),
    ]
