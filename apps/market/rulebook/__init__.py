"""The market's dated rules: data files with a source on every row, and lookups in them."""
