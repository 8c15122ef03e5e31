"""The text of a personal API key: how it is made, recognised and stored.

Its 32 random bytes cannot be guessed, so one SHA-256 of it is as safe a thing to store as a slow
hash; slow hashes protect what people choose. And the digest is what finds the row.
"""

import hashlib
import secrets
from typing import Final

PREFIX: Final = "atk_"
"""By it people, and programs that search for leaked secrets, know a key when they see one."""
LAST: Final = 4
"""So many characters at its end are shown, for its owner to tell it from others."""


def new_key() -> str:
    return PREFIX + secrets.token_urlsafe(32)


def is_key(bearer: str) -> bool:
    """Whether it means to be a key: no JSON Web Token begins like one."""
    return bearer.startswith(PREFIX)


def digest_of(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()
