"""The simulation itself, row by row: what it reads, writes and calls things."""
