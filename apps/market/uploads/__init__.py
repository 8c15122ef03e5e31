"""Candle files and instrument masters that operators send: checked first, then stored."""
