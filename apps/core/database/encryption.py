"""Encryption of stored secrets, so that only this service can read them.

Fernet (AES in CBC mode with an HMAC, github.com/fernet/spec) from `cryptography`, with a key
derived from SECRET_KEY. Data encrypted with an earlier SECRET_KEY can be read only while that key
is in SECRET_KEY_FALLBACKS.
"""

import base64
from functools import cache
from hashlib import blake2b

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings


class DecryptionFailed(Exception):
    """The data was encrypted with an unknown SECRET_KEY, or was changed."""


def encrypt(data: bytes) -> bytes:
    return _fernet(settings.SECRET_KEY).encrypt(data)


def decrypt(data: bytes) -> bytes:
    """Return the plain data. Raises DecryptionFailed."""
    try:
        return _all_keys().decrypt(data)
    except InvalidToken:
        raise DecryptionFailed from None


def is_of_current_key(data: bytes) -> bool:
    """Return whether the present SECRET_KEY reads the data, without a fallback."""
    try:
        _fernet(settings.SECRET_KEY).decrypt(data)
    except InvalidToken:
        return False
    return True


def key_fingerprint(secret_key: str) -> str:
    """Return a fingerprint that distinguishes keys without revealing them."""
    key = secret_key.encode()[:64]
    return blake2b(b"fingerprint", key=key, digest_size=8).hexdigest()


def _all_keys() -> MultiFernet:
    keys = (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS)
    return MultiFernet([_fernet(key) for key in keys])


@cache
def _fernet(secret_key: str) -> Fernet:
    key = blake2b(b"sealed data", key=secret_key.encode()[:64], digest_size=32).digest()
    return Fernet(base64.urlsafe_b64encode(key))
