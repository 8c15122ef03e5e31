"""Default names: `Algorithm #<n>` for an unnamed algorithm, `<name> (copy)` for a clone."""

import re
from typing import Final

MAX_NAME: Final = 100

_FORM: Final = re.compile(r"Algorithm #([1-9][0-9]{0,8})")


def numbered(number: int) -> str:
    return f"Algorithm #{number}"


def number_in(name: str) -> int:
    """Return the n of a name of that form, even if a user chose it; 0 for other names."""
    match = _FORM.fullmatch(name)
    return int(match[1]) if match else 0


def copy_of(name: str) -> str:
    """Return the name of a clone, cut to the maximum length."""
    ending = " (copy)"
    return name[: MAX_NAME - len(ending)].rstrip() + ending
