"""How passwords are hashed."""

from base64 import b64encode

from django.contrib.auth.hashers import Argon2PasswordHasher
from nacl.bindings import (
    crypto_pwhash_alg,
    crypto_pwhash_ALG_ARGON2ID13,
    crypto_pwhash_str_verify,
)
from nacl.exceptions import InvalidkeyError


class LeanArgon2PasswordHasher(Argon2PasswordHasher):
    """Argon2id as OWASP's Password Storage Cheat Sheet recommends: 7 MiB, five passes, one lane.

    Of its five settings, equally strong by its word, this one costs the least processor time: to
    get memory from the system costs too. Django's own 100 MiB and eight lanes cost ten times as
    much at each login. A hash that was made otherwise is replaced at its user's next login.

    libsodium computes it, a third faster than argon2-cffi, whose wheels know no AVX2. It makes
    hashes and compares them: were one of the two slower, it would tell which addresses are known.
    """

    time_cost = 5
    memory_cost = 7168
    parallelism = 1
    salt_entropy = 95
    """Bits, of the 16 letters and digits that libsodium takes; RFC 9106 asks for 64 at least."""

    def encode(self, password: str, salt: str) -> str:
        memory, passes = self.memory_cost, self.time_cost
        sent = password.encode(), salt.encode()
        made = crypto_pwhash_alg(32, *sent, passes, memory * 1024, crypto_pwhash_ALG_ARGON2ID13)
        parts = _unpadded(sent[1]), _unpadded(made)
        return f"{self.algorithm}$argon2id$v=19$m={memory},t={passes},p=1${'$'.join(parts)}"

    def verify(self, password: str, encoded: str) -> bool:
        """Of Argon2id by any settings, its own or others."""
        hashed = "$" + encoded.partition("$")[2]
        try:
            return bool(crypto_pwhash_str_verify(hashed.encode(), password.encode()))
        except InvalidkeyError:
            return False


def _unpadded(part: bytes) -> str:
    return b64encode(part).decode().rstrip("=")
