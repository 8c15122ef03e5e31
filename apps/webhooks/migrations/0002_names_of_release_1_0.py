from django.db import migrations


class Migration(migrations.Migration):
    """Make a constraint of a database of release 1.0 anew: its name is of a column since renamed."""

    dependencies = [('webhooks', '0001_release_1_0')]

    operations = [
        migrations.RunSQL([
            'ALTER TABLE webhooks_delivery ALTER COLUMN queue DROP NOT NULL',
            'ALTER TABLE webhooks_delivery ALTER COLUMN queue SET NOT NULL',
        ]),
    ]
