"""The audit log in one partition for each month of India, and the rest in a default one.

Nothing is copied: the table of before becomes the partition of the newest month, and holds all that
is older. Code of before goes on with it, so the migration is not taken back.
"""

from django.db import migrations

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
        ALTER INDEX audit_by_action RENAME TO audit_by_action_oldest;
        ALTER INDEX audit_by_actor RENAME TO audit_by_actor_oldest;
        ALTER INDEX audit_by_object RENAME TO audit_by_object_oldest;
        ALTER INDEX audit_by_request RENAME TO audit_by_request_oldest;
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

ADD_DEFAULT = """
    CREATE TABLE core_auditrecord_default PARTITION OF core_auditrecord DEFAULT;
    CREATE TRIGGER no_change BEFORE UPDATE OR DELETE ON core_auditrecord_default
        FOR EACH STATEMENT EXECUTE FUNCTION core_auditrecord_stays();
    CREATE TRIGGER no_truncate BEFORE TRUNCATE ON core_auditrecord_default
        FOR EACH STATEMENT EXECUTE FUNCTION core_auditrecord_stays();
"""


class Migration(migrations.Migration):

    dependencies = [
        ('core', '0007_quiet_start'),
    ]

    operations = [
        migrations.RunSQL([DIVIDE]),
        migrations.RunSQL([ADD_DEFAULT]),
        migrations.RunSQL([ADD_MONTHS]),
        migrations.RunSQL(['SELECT core_auditrecord_add_months()']),
    ]
