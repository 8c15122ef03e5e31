"""Pages of the account: signing in, profile, security, webhooks, links in mails."""
