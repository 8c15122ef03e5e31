"""Personal API keys: their text, their stored hash, and the scopes that calls need.

The 32 random bytes of a key cannot be guessed, so a single SHA-256 is as safe as a slow hash, which
protects passwords that people choose. The digest also finds the row.
"""

import hashlib
import secrets
from collections.abc import Collection
from enum import StrEnum
from typing import Final

from apps.core.errors import Code, ServiceError

# People, and programs that search for leaked secrets, recognise a key by it.
_PREFIX: Final = "atk_"
LAST_SHOWN: Final = 4  # characters at its end are shown, for the owner to tell it from others
_SAFE_METHODS: Final = frozenset({"GET", "HEAD", "OPTIONS"})
# Calls that change nothing and are a POST for the sake of their body.
_SAFE_POSTS: Final = frozenset({"/api/symbols/validate", "/api/trading/algorithms/validate"})
_ACCOUNT: Final = "/api/auth"
_BACKTESTS: Final = "/api/backtests"


class KeyScope(StrEnum):
    """The permissions of a key."""

    READ = "read"  # every GET, and the calls in _SAFE_POSTS
    TRADE = "trade"  # every other call without a scope of its own: algorithms, webhooks, candles
    BACKTEST = "backtest"  # every other call under /api/backtests


class ScopeMissing(ServiceError):
    code = Code.FORBIDDEN
    message = "This API key lacks the scope that the call needs: {requiredScope}."


def new_key() -> str:
    """Return the text of a new key."""
    return _PREFIX + secrets.token_urlsafe(32)


def is_key(bearer: str) -> bool:
    """Return whether a bearer token has the form of a key; JSON Web Tokens begin differently."""
    return bearer.startswith(_PREFIX)


def digest_of(key: str) -> str:
    return hashlib.sha256(key.encode()).hexdigest()


def accepts_keys(path: str) -> bool:
    """Return whether a call accepts keys: programs do not change passwords or create keys."""
    return not _is_under(path, _ACCOUNT)


def check_scope(scopes: Collection[str], *, method: str, path: str) -> None:
    """Raise ScopeMissing unless the scopes allow the call; no scope includes another."""
    if method in _SAFE_METHODS or path in _SAFE_POSTS:
        required = KeyScope.READ
    else:
        required = KeyScope.BACKTEST if _is_under(path, _BACKTESTS) else KeyScope.TRADE
    if required not in scopes:
        raise ScopeMissing(requiredScope=required.value)


def _is_under(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder + "/")
