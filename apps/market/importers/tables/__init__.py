"""Files as tables of text: unpacking, headers, columns and timestamps."""
