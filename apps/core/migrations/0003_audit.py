import django.core.serializers.json
from django.db import migrations, models

REFUSE = """
    CREATE FUNCTION core_auditrecord_stays() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN
        RAISE EXCEPTION 'audit records are neither changed nor removed'
            USING ERRCODE = 'insufficient_privilege';
    END $$
"""
KEEP = """
    CREATE TRIGGER no_change BEFORE UPDATE OR DELETE ON core_auditrecord
    FOR EACH STATEMENT EXECUTE FUNCTION core_auditrecord_stays()
"""
KEEP_ALL = """
    CREATE TRIGGER no_truncate BEFORE TRUNCATE ON core_auditrecord
    FOR EACH STATEMENT EXECUTE FUNCTION core_auditrecord_stays()
"""


class Migration(migrations.Migration):

    dependencies = [
        ('core', '0002_idempotency'),
    ]

    operations = [
        migrations.CreateModel(
            name='AuditRecord',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField()),
                ('action', models.CharField(help_text='one of audit.Action', max_length=40)),
                ('actor', models.CharField(blank=True, help_text='id of the user, if known', max_length=24)),
                ('actor_kind', models.CharField(help_text='one of audit.ActorKind', max_length=10)),
                ('session_id', models.CharField(blank=True, help_text='of the session or key', max_length=24)),
                ('address', models.CharField(blank=True, help_text='of the client', max_length=64)),
                ('request_id', models.CharField(max_length=128)),
                ('object_type', models.CharField(blank=True, max_length=40)),
                ('object_id', models.CharField(blank=True, max_length=64)),
                ('details', models.JSONField(encoder=django.core.serializers.json.DjangoJSONEncoder)),
            ],
            options={
                'indexes': [models.Index(fields=['action', '-id'], name='audit_by_action'), models.Index(fields=['actor', '-id'], name='audit_by_actor'), models.Index(fields=['object_id', '-id'], name='audit_by_object'), models.Index(fields=['request_id'], name='audit_by_request')],
            },
        ),
        migrations.RunSQL([REFUSE], ['DROP FUNCTION core_auditrecord_stays']),
        migrations.RunSQL([KEEP], ['DROP TRIGGER no_change ON core_auditrecord']),
        migrations.RunSQL([KEEP_ALL], ['DROP TRIGGER no_truncate ON core_auditrecord']),
    ]
