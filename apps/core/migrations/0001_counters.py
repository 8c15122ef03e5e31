from django.db import migrations, models


class Migration(migrations.Migration):

    initial = True

    dependencies = [
    ]

    operations = [
        migrations.CreateModel(
            name='Counter',
            fields=[
                ('key', models.CharField(max_length=255, primary_key=True, serialize=False)),
                ('count', models.BigIntegerField()),
                ('expires_at', models.DateTimeField(db_index=True)),
            ],
        ),
        # What is counted is worth no disk write; room for changed rows keeps them in their page.
        migrations.RunSQL(
            'ALTER TABLE core_counter SET UNLOGGED, SET (fillfactor = 50)',
            migrations.RunSQL.noop,
        ),
    ]
