"""Hashes of JSON."""

import json
from hashlib import sha256


def hash_of(value: object) -> str:
    """Return the SHA-256, in hex, of the value's canonical JSON: sorted keys, no blanks."""
    return sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()
