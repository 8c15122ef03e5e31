"""The accepted e-mail addresses: ASCII, a dot-atom, an @ and a domain name.

RFC 5321 also allows quoted names and bare IP addresses; no trader's mailbox has one, so both are
rejected. Letters outside ASCII are rejected because some fold into ASCII: a dotless i would pass
for an i, and two people would share an account.
"""

import re
from typing import Final

from django.core.exceptions import ValidationError

MAX_ADDRESS_LENGTH: Final = 254
_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_TOP_LEVEL = r"[A-Za-z](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])"
_ADDRESS = re.compile(rf"(?=[^@]{{1,64}}@){_ATOM}(?:\.{_ATOM})*@(?:{_LABEL}\.)+{_TOP_LEVEL}")


def is_valid(text: str) -> bool:
    return len(text) <= MAX_ADDRESS_LENGTH and _ADDRESS.fullmatch(text) is not None


def validate_address(text: str) -> None:
    """Validate a model field, for the command line and the admin."""
    if not is_valid(text):
        raise ValidationError("Enter a valid e-mail address.")


def normalize_address(address: str) -> str:
    """Return the spelling for storage and lookup: lower case, because case does not count."""
    return address.lower()
