from django.db import migrations


class Migration(migrations.Migration):

    dependencies = [
        ('ops', '0002_one_role'),
        ('procrastinate', '0041_post_retry_failed_job'),
    ]

    operations = [
        migrations.DeleteModel(name='BackupRecord'),
        # No worker takes them any more.
        migrations.RunSQL("DELETE FROM procrastinate_jobs WHERE task_name = 'ops.backup'"),
    ]
