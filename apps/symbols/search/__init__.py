"""Search of instruments."""
