"""Pages that submit backtests and show their results."""
