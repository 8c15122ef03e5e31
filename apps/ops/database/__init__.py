"""The embedded PostgreSQL, waiting times, the secret key and backups."""
