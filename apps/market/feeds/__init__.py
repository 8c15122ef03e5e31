"""Feeds: sources of bars as they close, and their reception."""
