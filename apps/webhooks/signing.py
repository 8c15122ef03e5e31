"""Signatures by the Standard Webhooks specification, version 1.

A receiver that holds the secret can tell that a message is ours and unchanged, and by its time that
it is not an old one sent again. Source: github.com/standard-webhooks/standard-webhooks,
spec/standard-webhooks.md, "Signature scheme".
"""

import base64
import hmac
import secrets as randomness
from collections.abc import Sequence
from hashlib import sha256
from typing import Final

PREFIX: Final = "whsec_"
"""By it people, and programs that search for leaked secrets, know a secret when they see one."""
_BYTES: Final = 32
"""The specification asks for 24 to 64."""


def new_secret() -> str:
    return PREFIX + base64.b64encode(randomness.token_bytes(_BYTES)).decode()


def sign(secrets: Sequence[str], *, id: str, at: int, body: bytes) -> str:
    """The header `webhook-signature`: one signature by each secret, the newest first.

    There are two while a secret is being replaced; a receiver takes a message if any of them is
    right. `id` is the header `webhook-id`, `at` is `webhook-timestamp`, in seconds since 1970.
    """
    message = b"%s.%d.%s" % (id.encode(), at, body)
    return " ".join(f"v1,{_signature(secret, message)}" for secret in secrets)


def _signature(secret: str, message: bytes) -> str:
    key = base64.b64decode(secret.removeprefix(PREFIX))
    return base64.b64encode(hmac.digest(key, message, sha256)).decode()
