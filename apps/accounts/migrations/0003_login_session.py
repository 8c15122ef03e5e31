from django.db import migrations


class Migration(migrations.Migration):
    """The model is renamed; its table stays."""

    dependencies = [
        ("accounts", "0002_rotation_and_keys"),
    ]

    operations = [
        migrations.AlterModelTable("Session", "accounts_session"),
        migrations.RenameModel("Session", "LoginSession"),
    ]
