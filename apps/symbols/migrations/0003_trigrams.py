"""Indexes on what is inside of names, where the database has pg_trgm and the role may create it.

Not in the models: where they cannot be, search does without them.
"""

from django.db import InternalError, OperationalError, ProgrammingError, migrations, transaction

INDEXES = {
    "lasting_within_code": "code gin_trgm_ops",
    "lasting_within_name": "upper(name::text) gin_trgm_ops",
}


def create(apps, schema_editor):
    connection = schema_editor.connection
    with connection.cursor() as cursor:
        cursor.execute("SELECT FROM pg_available_extensions WHERE name = 'pg_trgm'")
        if cursor.fetchone() is None:
            return
        try:
            with transaction.atomic(using=connection.alias):
                cursor.execute("CREATE EXTENSION IF NOT EXISTS pg_trgm")
        except (InternalError, OperationalError, ProgrammingError):
            return  # the role may not
        for name, column in INDEXES.items():
            cursor.execute(
                f"CREATE INDEX IF NOT EXISTS {name} ON symbols_instrument USING gin ({column})"
                " WITH (fastupdate = off)"
                " WHERE expiry IS NULL"
            )


def drop(apps, schema_editor):
    for name in INDEXES:
        schema_editor.execute(f"DROP INDEX IF EXISTS {name}")


class Migration(migrations.Migration):

    dependencies = [
        ('symbols', '0002_masters'),
    ]

    operations = [
        migrations.RunPython(create, drop),
    ]
