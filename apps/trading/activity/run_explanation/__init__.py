"""The conditions of a run at a candle, and their outcome."""
