"""How passwords are hashed."""

from django.contrib.auth.hashers import Argon2PasswordHasher


class OwaspArgon2PasswordHasher(Argon2PasswordHasher):
    """Argon2id with the parameters of OWASP's Password Storage Cheat Sheet: 19 MiB, two passes,
    one lane. Django's own 100 MiB and eight lanes cost five times as much at each login.

    A hash with other parameters is replaced at its user's next login.
    """

    time_cost = 2
    memory_cost = 19 * 1024
    parallelism = 1
