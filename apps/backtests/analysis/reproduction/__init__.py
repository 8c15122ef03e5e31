"""Running a completed backtest again, and which of what its result rests on is still the same."""
