"""The activity of runs for their owners to read, and requests by hand."""
