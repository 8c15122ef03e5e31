from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('core', '0001_counters'),
    ]

    operations = [
        migrations.CreateModel(
            name='IdempotencyKey',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('user_id', models.CharField(max_length=24)),
                ('method', models.CharField(max_length=7)),
                ('path', models.CharField(max_length=512)),
                ('key', models.CharField(max_length=255)),
                ('fingerprint', models.CharField(help_text='SHA-256 of the canonical body', max_length=64)),
                ('status', models.PositiveSmallIntegerField(null=True)),
                ('body', models.BinaryField(null=True)),
                ('expires_at', models.DateTimeField(db_index=True)),
            ],
        ),
        migrations.AddConstraint(
            model_name='idempotencykey',
            constraint=models.UniqueConstraint(fields=('user_id', 'method', 'path', 'key'), name='a_key_is_used_once'),
        ),
    ]
