"""Stored candles: reading, writing, how complete they are, and adjustment for corporate actions."""
