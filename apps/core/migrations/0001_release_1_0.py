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

# The audit log has one partition for each month of India, and the rest in a default one. The first
# holds all that is older.
DIVIDE = """
    DO $$
    DECLARE
        month timestamp;
        oldest text;
    BEGIN
        LOCK TABLE core_auditrecord IN ACCESS EXCLUSIVE MODE;
        SELECT date_trunc('month', greatest(now(), max(at)) AT TIME ZONE 'Asia/Kolkata')
            INTO month FROM core_auditrecord;
        oldest := 'core_auditrecord_' || to_char(month, 'YYYY_MM');

        EXECUTE format(
            'CREATE SEQUENCE core_auditrecord_ids START %s',
            nextval(pg_get_serial_sequence('core_auditrecord', 'id'))
        );
        ALTER TABLE core_auditrecord ALTER COLUMN id DROP IDENTITY;
        ALTER TABLE core_auditrecord DROP CONSTRAINT core_auditrecord_pkey;
        CREATE INDEX audit_by_action_oldest ON core_auditrecord (action, id DESC);
        CREATE INDEX audit_by_actor_oldest ON core_auditrecord (actor, id DESC);
        CREATE INDEX audit_by_object_oldest ON core_auditrecord (object_id, id DESC);
        CREATE INDEX audit_by_request_oldest ON core_auditrecord (request_id);
        EXECUTE format('ALTER TABLE core_auditrecord RENAME TO %I', oldest);

        EXECUTE format(
            'CREATE TABLE core_auditrecord (LIKE %I) PARTITION BY RANGE (at)', oldest
        );
        ALTER SEQUENCE core_auditrecord_ids OWNED BY core_auditrecord.id;
        ALTER TABLE core_auditrecord ALTER COLUMN id SET DEFAULT nextval('core_auditrecord_ids');
        ALTER TABLE core_auditrecord ADD CONSTRAINT core_auditrecord_pkey PRIMARY KEY (id, at);
        CREATE INDEX audit_by_action ON core_auditrecord (action, id DESC);
        CREATE INDEX audit_by_actor ON core_auditrecord (actor, id DESC);
        CREATE INDEX audit_by_object ON core_auditrecord (object_id, id DESC);
        CREATE INDEX audit_by_request ON core_auditrecord (request_id);
        CREATE TRIGGER no_change BEFORE UPDATE OR DELETE ON core_auditrecord
            FOR EACH STATEMENT EXECUTE FUNCTION core_auditrecord_stays();
        CREATE TRIGGER no_truncate BEFORE TRUNCATE ON core_auditrecord
            FOR EACH STATEMENT EXECUTE FUNCTION core_auditrecord_stays();

        EXECUTE format(
            'ALTER TABLE core_auditrecord ATTACH PARTITION %I FOR VALUES FROM (MINVALUE) TO (%L)',
            oldest, (month + interval '1 month') AT TIME ZONE 'Asia/Kolkata'
        );
    END $$
"""

ADD_DEFAULT = """
    CREATE TABLE core_auditrecord_default PARTITION OF core_auditrecord DEFAULT;
    CREATE TRIGGER no_change BEFORE UPDATE OR DELETE ON core_auditrecord_default
        FOR EACH STATEMENT EXECUTE FUNCTION core_auditrecord_stays();
    CREATE TRIGGER no_truncate BEFORE TRUNCATE ON core_auditrecord_default
        FOR EACH STATEMENT EXECUTE FUNCTION core_auditrecord_stays();
"""

# What the service's role may do about partitions: nothing but this, by the rights of the owner.
ADD_MONTHS = """
    CREATE FUNCTION core_auditrecord_add_months() RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = public, pg_temp AS $$
    DECLARE
        month timestamp;
        oldest text;
        partition text;
        first timestamptz;
        stop timestamptz;
        reader text;
    BEGIN
        LOCK TABLE core_auditrecord IN SHARE UPDATE EXCLUSIVE MODE;
        -- The one that holds all that is older, until it is in a file.
        SELECT relname INTO oldest FROM pg_partition_tree('core_auditrecord')
            JOIN pg_class ON oid = relid WHERE pg_get_expr(relpartbound, oid) LIKE '%MINVALUE%';
        FOREACH month IN ARRAY ARRAY(
            SELECT date_trunc('month', now() AT TIME ZONE 'Asia/Kolkata')
                + make_interval(months => generate_series(0, 3))
            UNION SELECT date_trunc('month', at AT TIME ZONE 'Asia/Kolkata')
                FROM core_auditrecord_default
        ) LOOP
            partition := 'core_auditrecord_' || to_char(month, 'YYYY_MM');
            CONTINUE WHEN partition < oldest OR to_regclass(partition) IS NOT NULL;
            first := month AT TIME ZONE 'Asia/Kolkata';
            stop := (month + interval '1 month') AT TIME ZONE 'Asia/Kolkata';
            EXECUTE format('CREATE TABLE %I (LIKE core_auditrecord INCLUDING ALL)', partition);

            LOCK TABLE core_auditrecord_default IN ACCESS EXCLUSIVE MODE;
            ALTER TABLE core_auditrecord_default DISABLE TRIGGER no_change;
            EXECUTE format(
                'WITH moved AS (
                    DELETE FROM core_auditrecord_default WHERE at >= %L AND at < %L RETURNING *
                ) INSERT INTO %I SELECT * FROM moved',
                first, stop, partition
            );
            ALTER TABLE core_auditrecord_default ENABLE TRIGGER no_change;

            EXECUTE format(
                'CREATE TRIGGER no_change BEFORE UPDATE OR DELETE ON %I
                    FOR EACH STATEMENT EXECUTE FUNCTION core_auditrecord_stays()',
                partition
            );
            EXECUTE format(
                'CREATE TRIGGER no_truncate BEFORE TRUNCATE ON %I
                    FOR EACH STATEMENT EXECUTE FUNCTION core_auditrecord_stays()',
                partition
            );
            FOR reader IN
                SELECT rights.grantee::regrole FROM pg_class, aclexplode(relacl) AS rights
                WHERE oid = 'core_auditrecord'::regclass
                    AND rights.privilege_type = 'SELECT' AND rights.grantee <> 0
            LOOP
                EXECUTE format('GRANT SELECT ON %I TO %s', partition, reader);
            END LOOP;
            EXECUTE format(
                'ALTER TABLE core_auditrecord ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)',
                partition, first, stop
            );
        END LOOP;
    END $$
"""


class Migration(migrations.Migration):

    replaces = [
        ('core', '0001_counters'),
        ('core', '0002_idempotency'),
        ('core', '0003_audit'),
        ('core', '0004_idempotency_of_credentials'),
        ('core', '0005_help_texts'),
        ('core', '0006_installed_key'),
        ('core', '0007_quiet_start'),
        ('core', '0008_audit_by_month'),
    ]

    initial = True

    dependencies = []

    operations = [
        migrations.CreateModel(
            name='AuditRecord',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('at', models.DateTimeField()),
                ('action', models.CharField(help_text='One of audit.Action', max_length=40)),
                ('actor', models.CharField(blank=True, help_text='Id of the user, if known', max_length=24)),
                ('actor_kind', models.CharField(help_text='One of audit.ActorKind', max_length=10)),
                ('session_id', models.CharField(blank=True, help_text='Id of the session or API key', max_length=24)),
                ('address', models.CharField(blank=True, help_text='IP address of the client', max_length=64)),
                ('request_id', models.CharField(max_length=128)),
                ('object_type', models.CharField(blank=True, max_length=40)),
                ('object_id', models.CharField(blank=True, max_length=64)),
                ('details', models.JSONField(encoder=django.core.serializers.json.DjangoJSONEncoder)),
            ],
        ),
        migrations.CreateModel(
            name='Counter',
            fields=[
                ('key', models.CharField(max_length=255, primary_key=True, serialize=False)),
                ('count', models.BigIntegerField()),
                ('expires_at', models.DateTimeField(db_index=True)),
            ],
        ),
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
                ('credential', models.CharField(blank=True, default='', help_text='Id of the session or API key, where the response holds a secret', max_length=24)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('user_id', 'credential', 'method', 'path', 'key'), name='a_key_is_used_once')],
            },
        ),
        migrations.CreateModel(
            name='InstalledKey',
            fields=[
                ('id', models.PositiveSmallIntegerField(default=1, primary_key=True, serialize=False)),
                ('fingerprint', models.CharField(help_text='encryption.fingerprint of the key', max_length=16)),
                ('since', models.DateTimeField()),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('id', 1)), name='there_is_one_installed_key')],
            },
        ),
        migrations.CreateModel(
            name='QuietStart',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('began_at', models.DateTimeField()),
                ('snapshot_at', models.DateTimeField(help_text='When the backup was taken')),
                ('ended_at', models.DateTimeField(null=True)),
            ],
        ),
        # What is counted is worth no disk write; room for changed rows keeps them in their page.
        migrations.RunSQL('ALTER TABLE core_counter SET UNLOGGED, SET (fillfactor = 50)'),
        migrations.RunSQL([REFUSE, KEEP, KEEP_ALL, DIVIDE, ADD_DEFAULT, ADD_MONTHS], state_operations=[
            migrations.AddIndex('auditrecord', models.Index(fields=['action', '-id'], name='audit_by_action')),
            migrations.AddIndex('auditrecord', models.Index(fields=['actor', '-id'], name='audit_by_actor')),
            migrations.AddIndex('auditrecord', models.Index(fields=['object_id', '-id'], name='audit_by_object')),
            migrations.AddIndex('auditrecord', models.Index(fields=['request_id'], name='audit_by_request')),
        ]),
        migrations.RunSQL('SELECT core_auditrecord_add_months()'),
    ]
