"""Feeds: bars that are received as they close, and where they come from."""
