from django.db import migrations

COLUMNS = (("backtests_backtestresult", "curve"), ("backtests_tradeblock", "data"))


def storage(kind):
    return [
        f"ALTER TABLE {table} ALTER COLUMN {column} SET STORAGE {kind}" for table, column in COLUMNS
    ]


class Migration(migrations.Migration):
    dependencies = [
        ("backtests", "0004_backtest_by_status"),
    ]

    # They are compressed already; PostgreSQL would try it again at each insert.
    operations = [migrations.RunSQL(storage("EXTERNAL"), storage("EXTENDED"))]
