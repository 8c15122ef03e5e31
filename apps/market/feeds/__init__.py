"""Bars that come in as they close: how they are taken, and where they come from."""
