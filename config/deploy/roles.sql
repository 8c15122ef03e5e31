-- The role that serves, beside the owner of the tables, which migrates: a stolen statement of the service
-- changes neither the schema nor the audit log. As the owner, once its tables are there; again at will:
--   psql "$OWNERS_DATABASE_URL" --set ON_ERROR_STOP=1 --set password=... --file roles.sql
DO $$ BEGIN CREATE ROLE algotrade_service LOGIN; EXCEPTION WHEN duplicate_object THEN NULL; END $$;
ALTER ROLE algotrade_service PASSWORD :'password';
GRANT USAGE ON SCHEMA public TO algotrade_service;
GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA public TO algotrade_service;
GRANT USAGE ON ALL SEQUENCES IN SCHEMA public TO algotrade_service;
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO algotrade_service;
ALTER DEFAULT PRIVILEGES IN SCHEMA public GRANT USAGE ON SEQUENCES TO algotrade_service;
REVOKE UPDATE, DELETE ON core_auditrecord FROM algotrade_service;
