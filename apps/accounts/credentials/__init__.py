"""Passwords, e-mail addresses and API keys as texts, before any row."""
