"""Names that the service gives: `Algorithm #<n>` without one, `<name> (copy)` to a clone."""

import re
from typing import Final

MAX_NAME: Final = 100

_FORM: Final = re.compile(r"Algorithm #([1-9][0-9]{0,8})")


def numbered(number: int) -> str:
    return f"Algorithm #{number}"


def number_in(name: str) -> int:
    """The n of a name of that form, whoever chose it; 0 of any other."""
    match = _FORM.fullmatch(name)
    return int(match[1]) if match else 0


def copy_of(name: str) -> str:
    """The name of a clone, cut where it would be too long."""
    ending = " (copy)"
    return name[: MAX_NAME - len(ending)].rstrip() + ending
