"""A strategy over history: put together, run, told and explained."""
