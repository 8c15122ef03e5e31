from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("ops", "0004_current_names")]

    operations = [
        migrations.RenameField("serviceprocess", "resting", "idle_reason"),
        # PostgreSQL 18 names the constraint after the column, at the time when it is made.
        migrations.RunSQL(
            [
                "ALTER TABLE ops_serviceprocess ALTER COLUMN idle_reason DROP NOT NULL",
                "ALTER TABLE ops_serviceprocess ALTER COLUMN idle_reason SET NOT NULL",
            ]
        ),
    ]
