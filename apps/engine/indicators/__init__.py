"""Indicators: the rows of the catalogue, their formulas, candle patterns."""
