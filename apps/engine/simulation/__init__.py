"""A strategy over history: prepared, run, reported and explained."""
