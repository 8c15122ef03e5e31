"""What a run saw at a candle, and what came of it."""
