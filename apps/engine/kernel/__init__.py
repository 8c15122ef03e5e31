"""The simulation itself, row by row: its input, its output and its codes."""
