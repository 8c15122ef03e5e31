"""Runs, their bar streams and capital, and the kill switches."""
