"""Repetition of a completed backtest, and comparison of the inputs behind its result."""
