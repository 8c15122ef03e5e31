"""The market's dated rules as data files with a source on every row, and the readers of them."""
