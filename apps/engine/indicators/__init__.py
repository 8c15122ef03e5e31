"""What is computed from bars: the catalogue's rows, their formulas, candle patterns."""
