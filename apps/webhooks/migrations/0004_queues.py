"""A delivery waits in a queue; PostgreSQL's index follows the column's new name by itself."""

from django.db import migrations, models

WAITING = {"name": "deliveries_waiting", "condition": models.Q(("status", "waiting"))}


class Migration(migrations.Migration):
    dependencies = [("webhooks", "0003_newest_deliveries")]

    operations = [
        migrations.RenameField("delivery", "lane", "queue"),
        migrations.SeparateDatabaseAndState(
            state_operations=[
                migrations.RemoveIndex("delivery", "deliveries_waiting"),
                migrations.AddIndex(
                    "delivery",
                    models.Index(fields=["queue", "endpoint", "due_at"], **WAITING),
                ),
            ]
        ),
    ]
