"""Numbers about a result: the one table, its formulas, groups and periods."""
