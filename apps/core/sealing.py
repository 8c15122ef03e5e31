"""Bytes that only this service can read: what is stored and may hold a secret.

Fernet (AES in CBC mode with an HMAC, github.com/fernet/spec) of `cryptography`, by a key of its own
that is made of SECRET_KEY: with another SECRET_KEY nothing can be opened any more.
"""

import base64
from functools import cache
from hashlib import blake2b

from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings


class Unreadable(Exception):
    """Sealed with another SECRET_KEY, or changed since."""


def seal(data: bytes) -> bytes:
    return _box(settings.SECRET_KEY).encrypt(data)


def unseal(data: bytes) -> bytes:
    """What `seal` was given. Raises Unreadable."""
    try:
        return _box(settings.SECRET_KEY).decrypt(data)
    except InvalidToken:
        raise Unreadable from None


@cache
def _box(secret: str) -> Fernet:
    key = blake2b(b"sealed data", key=secret.encode()[:64], digest_size=32).digest()
    return Fernet(base64.urlsafe_b64encode(key))
