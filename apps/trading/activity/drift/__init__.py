"""Comparison of paper trading with the backtester.

Each session is simulated again over the candles stored by then, from the state at its start, and
every difference is reported.
"""
