"""The service's settings for tests: a fixed secret, a fast hasher, one cache of compiled
kernels.
"""

import os
from pathlib import Path

os.environ.setdefault("SECRET_KEY", "tests-only-0123456789abcdef0123456789abcdef")
os.environ.setdefault(
    "NUMBA_CACHE_DIR", str(Path(__file__).resolve().parent.parent / ".data" / "numba")
)
# Off here and in the processes that tests start; the tests of limits set their own.
os.environ.setdefault("RATE_LIMIT_AUTH", "off")
os.environ.setdefault("RATE_LIMIT_TRADING", "off")
os.environ.setdefault("RATE_LIMIT_BACKTESTS", "off")
os.environ.setdefault("RATE_LIMIT_GENERAL", "off")
os.environ.setdefault("RATE_LIMIT_PAGES", "off")
os.environ.setdefault("RATE_LIMIT_ALERTS", "off")

from config.settings import *  # noqa: F403

PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]
ALLOWED_HOSTS = ["testserver", "localhost"]
# Or each new client of a test reads all static files: a third of the suite's time.
WHITENOISE_AUTOREFRESH = True
# A line for each request would be written, and kept by pytest twice.
LOGGING["loggers"]["request"] = {"level": "WARNING"}  # noqa: F405
