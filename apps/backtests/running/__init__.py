"""A backtest from its queue to its stored result: its cost, its history, its simulation."""
