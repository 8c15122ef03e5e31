"""The six steps of an algorithm: their one description, and their errors in users' words."""
