"""Events that no bar causes: the summary of a day, and a feed that has stopped."""
