"""Users' requests about their own data: the security log, an archive, closing the account."""
