"""The six steps of an algorithm: their one description, and their faults in users' words."""
