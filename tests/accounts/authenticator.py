"""An authenticator app for the second factor."""

import re
from base64 import b32decode

from cryptography.hazmat.primitives.hashes import SHA1
from cryptography.hazmat.primitives.twofactor.totp import TOTP
from django.utils import timezone


def authenticator(uri: str) -> TOTP:
    """Return the authenticator that a telephone makes from the QR code."""
    match = re.search(r"secret=([A-Z2-7]+)", uri)
    assert match
    secret = match[1] + "=" * (-len(match[1]) % 8)
    return TOTP(b32decode(secret), 6, SHA1(), 30)


def code_of(totp: TOTP, steps_ahead: int = 0) -> str:
    return totp.generate(timezone.now().timestamp() + 30 * steps_ahead).decode()
