"""A backtest from its queue to its stored result: what it takes, its history, its simulation."""
