"""Who takes orders: what any broker must do, the one on paper, whether one can be reached."""
