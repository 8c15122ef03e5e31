"""What users ask of their own data: the security log, an archive, the end of the account."""
