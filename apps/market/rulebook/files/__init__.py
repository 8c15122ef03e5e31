"""The files of the rulebook: their rows, their checks, and the rule set made of them."""
