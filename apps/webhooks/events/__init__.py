"""Events: written with the change they report, read in the order of commits, mailed, deleted."""
