"""Bits per bar from conditions."""
