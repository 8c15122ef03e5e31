"""Candle files and instrument masters from operators: checked first, then stored."""
