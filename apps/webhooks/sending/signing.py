"""Secrets and signatures by the Standard Webhooks specification, version 1 (standardwebhooks.com).

A receiver with the secret can verify that a message is ours and unchanged and, by its time, that it
is not an old one sent again.
"""

import base64
import secrets as randomness
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final

from standardwebhooks.webhooks import Webhook

# People, and programs that search for leaked secrets, recognise a secret by it.
_PREFIX: Final = "whsec_"
SECRET_BYTES: Final = 32  # the specification asks for 24 to 64


def new_secret() -> str:
    """Return a random secret."""
    return _PREFIX + base64.b64encode(randomness.token_bytes(SECRET_BYTES)).decode()


def sign_message(secrets: Sequence[str], *, id: str, at: int, body: bytes) -> str:
    """Return the header `webhook-signature`: a signature by each secret, the newest first.

    There are two during a rotation; a receiver accepts a message if either matches. `id` is the
    header `webhook-id`, `at` is `webhook-timestamp`, in seconds since 1970.
    """
    moment, text = datetime.fromtimestamp(at, UTC), body.decode()
    return " ".join(Webhook(secret).sign(id, moment, text) for secret in secrets)
