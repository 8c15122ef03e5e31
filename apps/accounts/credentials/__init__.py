"""Passwords, e-mail addresses and API keys as texts, before they become rows."""
