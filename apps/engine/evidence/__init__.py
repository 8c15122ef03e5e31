"""Evidence: how far a result can be trusted."""
