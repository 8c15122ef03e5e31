from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("accounts", "0003_export_in_chunks")]

    operations = [migrations.AlterModelTable("loginsession", None)]
