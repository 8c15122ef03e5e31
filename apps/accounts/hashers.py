from django.contrib.auth.hashers import Argon2PasswordHasher


class LeanArgon2PasswordHasher(Argon2PasswordHasher):
    """Argon2id as OWASP's Password Storage Cheat Sheet recommends: 7 MiB, five passes, one lane.

    Of its five settings, equally strong by its word, this one costs the least processor time: to
    get memory from the system costs too. Django's own 100 MiB and eight lanes cost ten times as
    much at each login. A hash that was made otherwise is replaced at its user's next login.
    """

    time_cost = 5
    memory_cost = 7168
    parallelism = 1
