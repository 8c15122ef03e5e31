"""Workers, runners and what keeps them going."""
