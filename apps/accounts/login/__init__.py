"""Signing up and in: sessions, tokens, keys, the second factor, links by mail."""
