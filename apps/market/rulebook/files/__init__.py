"""The files of the rulebook: their rows, their checks, and a rule set made of them."""
