"""The e-mail addresses that the service takes: ASCII, a dot-atom, an @ and a domain name.

RFC 5321 also knows quoted names and bare IP addresses; no trader's mailbox has one, so both are
refused. Letters outside ASCII are refused because some fold into ASCII ones: a dotless i would pass
for an i, and two people would share an account.
"""

import re
from typing import Final

from django.core.exceptions import ValidationError

MAX_LENGTH: Final = 254
_ATOM = r"[A-Za-z0-9!#$%&'*+/=?^_`{|}~-]+"
_LABEL = r"[A-Za-z0-9](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])?"
_TOP = r"[A-Za-z](?:[A-Za-z0-9-]{0,61}[A-Za-z0-9])"
_FORM = re.compile(rf"(?=[^@]{{1,64}}@){_ATOM}(?:\.{_ATOM})*@(?:{_LABEL}\.)+{_TOP}")


def is_address(text: str) -> bool:
    return len(text) <= MAX_LENGTH and _FORM.fullmatch(text) is not None


def check(text: str) -> None:
    """A model field's validator, for the command line and the admin."""
    if not is_address(text):
        raise ValidationError("Enter a valid e-mail address.")


def folded(address: str) -> str:
    """The one spelling under which an address is stored and looked up: case does not count."""
    return address.lower()
