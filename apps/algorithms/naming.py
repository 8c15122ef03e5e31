"""`Algorithm #<n>`: the name of an algorithm that was given none."""

import re
from typing import Final

_FORM: Final = re.compile(r"Algorithm #([1-9][0-9]{0,8})")


def numbered(number: int) -> str:
    return f"Algorithm #{number}"


def number_in(name: str) -> int:
    """The n of a name of that form, whoever chose it; 0 of any other."""
    found = _FORM.fullmatch(name)
    return int(found[1]) if found else 0
