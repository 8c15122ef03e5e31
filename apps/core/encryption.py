"""Encryption of what is stored and may hold a secret, so that only this service can read it.

Fernet (AES in CBC mode with an HMAC, github.com/fernet/spec) of `cryptography`, with a key derived
from SECRET_KEY: with another SECRET_KEY nothing can be decrypted any more.
"""

import base64
from functools import cache
from hashlib import blake2b

from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings


class DecryptionFailed(Exception):
    """The data was encrypted with another SECRET_KEY, or has been changed since."""


def encrypt(data: bytes) -> bytes:
    return _fernet(settings.SECRET_KEY).encrypt(data)


def decrypt(data: bytes) -> bytes:
    """Return what was given to `encrypt`. Raises DecryptionFailed."""
    try:
        return _fernet(settings.SECRET_KEY).decrypt(data)
    except InvalidToken:
        raise DecryptionFailed from None


@cache
def _fernet(secret_key: str) -> Fernet:
    key = blake2b(b"sealed data", key=secret_key.encode()[:64], digest_size=32).digest()
    return Fernet(base64.urlsafe_b64encode(key))
