"""Pages that describe algorithms."""
