"""Whether paper trading did what the backtester does: each session is played again over the candles
that are stored by then, from the state in which it began, and every difference is told.
"""
