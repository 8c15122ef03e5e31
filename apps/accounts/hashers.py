from django.contrib.auth.hashers import Argon2PasswordHasher


class LeanArgon2PasswordHasher(Argon2PasswordHasher):
    """Argon2id as OWASP's Password Storage Cheat Sheet recommends: 19 MiB, two passes, one lane.

    Django's own 100 MiB and eight lanes cost ten times the processor time at each login.
    """

    time_cost = 2
    memory_cost = 19456
    parallelism = 1
