from django.conf import settings
from django.db import migrations


def drop_role(apps, schema_editor):
    """Release 1.0 used the embedded database by a second role. A server elsewhere may keep it."""
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SELECT FROM pg_roles WHERE rolname = 'algotrade_service'")
        if settings.EMBEDDED_DATABASE and cursor.rowcount:
            cursor.execute('DROP OWNED BY algotrade_service')
            cursor.execute('DROP ROLE algotrade_service')


class Migration(migrations.Migration):

    # It owned rights on tables of all apps.
    dependencies = [
        ('ops', '0001_release_1_0'),
        ('backtests', '0001_release_1_0'),
        ('trading', '0001_release_1_0'),
    ]

    operations = [migrations.RunPython(drop_role)]
