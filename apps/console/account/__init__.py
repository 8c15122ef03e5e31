"""Pages of the account: the way in, profile, security, webhooks, links in mails."""
