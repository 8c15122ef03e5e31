"""Every setting of the service; only this module reads the environment.

Without any setting `manage.py up` works on one machine. config/README.md lists all settings.
"""

import hashlib
import os
import re
import secrets
import shutil
import tomllib
from datetime import timedelta
from ipaddress import IPv4Network, IPv6Network, ip_network
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote, urlsplit

import psycopg
from django.core.exceptions import ImproperlyConfigured
from psycopg.conninfo import conninfo_to_dict

from apps.core.machine import cpu_count
from apps.ops.database import private_files
from apps.ops.database.local_postgres import DATABASE, socket_folder

BASE_DIR = Path(__file__).resolve().parent.parent
# The one version number; the OpenAPI document shows it.
VERSION: str = tomllib.loads((BASE_DIR / "pyproject.toml").read_text())["project"]["version"]


def env_flag(name: str, *, default: bool) -> bool:
    text = os.environ.get(name, "").strip().lower()
    if text not in ("", "0", "1", "true", "false", "yes", "no"):
        raise ImproperlyConfigured(f"{name}={text!r}: use 1 or 0")
    return text in ("1", "true", "yes") if text else default


def env_count(name: str, *, default: int, least: int, most: int) -> int:
    text = os.environ.get(name, "").strip() or str(default)
    if not (text.isascii() and text.isdigit() and least <= int(text) <= most):
        raise ImproperlyConfigured(f"{name}={text!r}: use a whole number from {least} to {most}")
    return int(text)


def env_list(name: str, *, default: str) -> list[str]:
    text = os.environ.get(name, default)
    return [item.strip() for item in text.split(",") if item.strip()]


def env_choice(name: str, *, allowed: tuple[str, ...]) -> str:
    text = os.environ.get(name, "").strip() or allowed[0]
    if text not in allowed:
        raise ImproperlyConfigured(f"{name}={text!r}: use one of {', '.join(allowed)}")
    return text


def env_rate(name: str, *, default: str) -> str | None:
    """Parse a number of requests in a time, as django-ratelimit writes it; None when it is off."""
    text = os.environ.get(name, "").strip() or default
    if text == "off":
        return None
    if not re.fullmatch(r"[1-9][0-9]{0,8}/([1-9][0-9]{0,4})?[smhd]", text):
        raise ImproperlyConfigured(f"{name}={text!r}: use a rate such as 100/m or 5/15m, or off")
    return text


def public_url(host: str, port: int) -> str:
    """Return the address of the service for people: links in mails begin with it.

    It is `PUBLIC_URL`, or by default the first allowed host.
    """
    given = os.environ.get("PUBLIC_URL", "").strip()
    is_local = host in ("localhost", "127.0.0.1", "[::1]")
    return given.rstrip("/") or (f"http://{host}:{port}" if is_local else f"https://{host}")


def env_networks(name: str, *, default: str) -> list[IPv4Network | IPv6Network]:
    try:
        return [ip_network(text) for text in env_list(name, default=default)]
    except ValueError as error:
        raise ImproperlyConfigured(f"{name}: {error}; use networks such as 10.0.0.0/8") from error


# The data that the service must not lose: the embedded database, its secret, compiled kernels.
DATA_DIR = Path(os.environ.get("DATA_DIR", "").strip() or BASE_DIR / ".data").resolve()
# Numba reads this at import, so it is set before anything imports the engine. In another account's
# DATA_DIR root uses its own cache, because the owner could not write to root's files.
os.environ.setdefault(
    "NUMBA_CACHE_DIR",
    str(DATA_DIR / ("numba-root" if private_files.is_guest(DATA_DIR) else "numba")),
)


def secret_key() -> str:
    """Return `SECRET_KEY`, or else a key made on the first start, readable only by the owner."""
    given = os.environ.get("SECRET_KEY", "").strip()
    if given:
        if len(given) < 32:
            raise ImproperlyConfigured("SECRET_KEY is too short: use at least 32 characters")
        return given
    try:
        return kept_secret(DATA_DIR / "secret")
    except OSError as error:
        raise ImproperlyConfigured(
            f"DATA_DIR={DATA_DIR}: {error.strerror}: start as the account it belongs to, or set"
            " DATA_DIR to a directory of yours"
        ) from error


def fallback_keys() -> list[str]:
    """Return earlier keys: they verify and decrypt old data, and never sign or encrypt new data."""
    keys = env_list("SECRET_KEY_FALLBACKS", default="")
    if any(len(key) < 32 for key in keys):
        raise ImproperlyConfigured(
            "SECRET_KEY_FALLBACKS: use earlier values of SECRET_KEY, of at least 32 characters,"
            " comma-separated"
        )
    return keys


def token_key(key: str) -> str:
    """Return a separate key for tokens: nothing else signed with SECRET_KEY can pass as a token."""
    return hashlib.blake2b(b"access and refresh tokens", key=key.encode()[:64]).hexdigest()


def kept_secret(path: Path) -> str:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    if not path.exists():
        draft = path.with_name(f"secret.{os.getpid()}")
        with private_files.private_file(draft, os.O_WRONLY) as file:
            os.write(file, secrets.token_hex(32).encode())
        # If two processes start at once, both use the key of the first one to link.
        try:
            os.link(draft, path)
        except FileExistsError:
            pass
        finally:
            draft.unlink()
    return path.read_text()


def metrics_directory() -> Path:
    """Return a folder in memory if the system has one: on a full disk, processes with counters in
    mapped files are killed.
    """
    memory = Path("/dev/shm")
    if memory.is_dir() and shutil.disk_usage(memory).free > 16 * 1024 * 1024:
        return memory / socket_folder(DATA_DIR).name
    return DATA_DIR / "metrics"


HOST = os.environ.get("HOST", "").strip() or "127.0.0.1"
PORT = env_count("PORT", default=8000, least=1, most=65535)
WEB_WORKERS = env_count("WEB_WORKERS", default=2, least=1, most=64)
BACKTEST_WORKERS = env_count("BACKTEST_WORKERS", default=max(1, cpu_count() - 1), least=1, most=64)
TRADING_WORKERS = env_count("TRADING_WORKERS", default=1, least=1, most=64)

DEBUG = env_flag("DEBUG", default=False)
MAINTENANCE = env_flag("MAINTENANCE", default=False)
METRICS_ALLOW = env_networks("METRICS_ALLOW", default="127.0.0.0/8,::1/128")
METRICS_DIR = metrics_directory() / str(PORT)  # each service on a machine has its own port
SECRET_KEY = secret_key()
SECRET_KEY_FALLBACKS = fallback_keys()
ALLOWED_HOSTS = env_list("ALLOWED_HOSTS", default=f"localhost,127.0.0.1,[::1],{HOST}")

# Whether only users of this machine can reach the service.
SERVES_LOOPBACK_ALONE = {HOST, *ALLOWED_HOSTS} <= {"localhost", "127.0.0.1", "[::1]", "::1"}
PUBLIC_URL = public_url(ALLOWED_HOSTS[0], PORT)


INSTALLED_APPS = [
    "apps.ops.apps.OpsConfig",
    "apps.core",
    "apps.accounts",
    "apps.symbols",
    "apps.market",
    "apps.webhooks",
    "apps.alerts",
    "apps.algorithms",
    "apps.backtests",
    "apps.trading",
    "apps.console",
    "apps.ops.apps.OperatorAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "corsheaders",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "procrastinate.contrib.django",
]

MIDDLEWARE = [
    "apps.ops.monitoring.metrics.MetricsMiddleware",
    "config.content_policy.ContentPolicyMiddleware",
    "apps.console.error_pages.ErrorPageMiddleware",
    "apps.core.api.middleware.EnvelopeMiddleware",
    "apps.core.api.middleware.CrossOriginMiddleware",
    "apps.core.api.service_gate.ServiceGateMiddleware",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "apps.accounts.calls.middleware.LimitMiddleware",
    "apps.core.api.middleware.OptionsMiddleware",
    "apps.core.api.middleware.BodySizeMiddleware",
    "apps.accounts.calls.middleware.FormMiddleware",
    "django.middleware.security.SecurityMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "apps.ops.admin_site.AdminSessionMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
]

ROOT_URLCONF = "config.urls"
ASGI_APPLICATION = "config.asgi.application"
APPEND_SLASH = False
DATA_UPLOAD_MAX_NUMBER_FIELDS = 1_000  # the steps of an algorithm as one form of the console

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

# Database.

# TCP notices a server that has gone without a word. With the attempt to reconnect that takes less
# than the 8 s within which a call is answered, if a thread is free for it; a Unix socket has no
# such timeouts.
CONNECTION_OPTIONS: dict[str, Any] = {
    "connect_timeout": "3",
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "2",
    "tcp_user_timeout": "3000",  # milliseconds
    # PostgreSQL prepares a statement that a connection has executed five times, and stops parsing
    # it.
    "server_side_binding": True,
    "prepare_threshold": 5,
}


def database() -> dict[str, Any]:
    """Return the database of `DATABASE_URL`, or else the embedded server's."""
    url = os.environ.get("DATABASE_URL", "").strip()
    if url:
        parsed = _parse_database_url(url)
    else:
        parsed = {
            "HOST": str(socket_folder(DATA_DIR)),
            "PORT": "5432",  # part of the socket's name; else PGPORT would choose another
            "USER": DATABASE,
            "NAME": DATABASE,
        }
    parsed["OPTIONS"] = {**CONNECTION_OPTIONS, **parsed.get("OPTIONS", {})}
    return {
        **parsed,
        "ENGINE": "django.db.backends.postgresql",
        "CONN_MAX_AGE": 600,
        "CONN_HEALTH_CHECKS": True,
    }


def _parse_database_url(url: str) -> dict[str, Any]:
    """Read the address as libpq does: several hosts, a Unix socket's directory as ?host=/path."""
    try:
        parts = conninfo_to_dict(url) if url.startswith(("postgresql://", "postgres://")) else {}
    except psycopg.ProgrammingError:
        parts = {}
    ports = str(parts.get("port", "")).replace(",", "")
    if not parts.get("dbname") or not (ports.isdigit() or not ports):
        raise ImproperlyConfigured("DATABASE_URL: use postgresql://user:password@host:port/name")
    names = {"HOST": "host", "PORT": "port", "USER": "user", "PASSWORD": "password"}
    parsed = {setting: parts.pop(name, "") for setting, name in names.items()}
    return {**parsed, "NAME": parts.pop("dbname"), "OPTIONS": parts}


# Bytes on the embedded database's disk that are reserved for running work.
_reserve = env_count("DISK_RESERVE_MEGABYTES", default=256, least=0, most=1_000_000)
DISK_RESERVE = 0 if os.environ.get("DATABASE_URL", "").strip() else _reserve * 1024 * 1024
EMBEDDED_DATABASE = not os.environ.get("DATABASE_URL", "").strip()
DATABASES = {"default": database()}
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

# Accounts.

AUTH_USER_MODEL = "accounts.User"
PASSWORD_HASHERS = [
    "apps.accounts.credentials.passwords.OwaspArgon2PasswordHasher",
    "django.contrib.auth.hashers.PBKDF2PasswordHasher",
]
PASSWORD_VALIDATORS = env_choice("PASSWORD_VALIDATORS", allowed=("basic", "strict"))
AUTH_PASSWORD_VALIDATORS: list[dict[str, Any]] = [
    {"NAME": "apps.accounts.credentials.passwords.LengthValidator"},
    {"NAME": "apps.accounts.credentials.passwords.OperatorPasswordValidator"},
]
if PASSWORD_VALIDATORS == "strict":
    AUTH_PASSWORD_VALIDATORS += [
        {
            "NAME": "django.contrib.auth.password_validation.UserAttributeSimilarityValidator",
            "OPTIONS": {"user_attributes": ("email", "name")},
        },
        {"NAME": "django.contrib.auth.password_validation.CommonPasswordValidator"},
    ]
# Operators set up a second factor before they see the admin.
REQUIRE_OPERATOR_2FA = not (DEBUG or SERVES_LOOPBACK_ALONE)
SIMPLE_JWT = {
    "ACCESS_TOKEN_LIFETIME": timedelta(minutes=15),
    "REFRESH_TOKEN_LIFETIME": timedelta(days=7),
    "ALGORITHM": "HS256",
    "SIGNING_KEY": token_key(SECRET_KEY),
    "UPDATE_LAST_LOGIN": False,
    # Allows for machines with different clocks; apps/accounts/login/tokens.py uses the database's
    # clock.
    "LEEWAY": timedelta(seconds=30),
}
# Tokens that were signed before SECRET_KEY was changed.
TOKEN_KEY_FALLBACKS = [token_key(key) for key in SECRET_KEY_FALLBACKS]

# Trading.

# Percent of the sessions since a symbol's first stored day that must have data for a backtest.
BACKTEST_MIN_COVERAGE = env_count("BACKTEST_MIN_COVERAGE", default=5, least=0, most=100)
# Days for which an ended backtest is kept; 0 is no limit.
BACKTEST_KEEP_DAYS = env_count("BACKTEST_KEEP_DAYS", default=0, least=0, most=36_500)
# The opening capital of a paper account, and its capital after a reset, in whole rupees.
PAPER_ACCOUNT_BALANCE = env_count(
    "PAPER_ACCOUNT_BALANCE", default=10_000_000, least=1, most=1_000_000_000_000
)

# Limits.

RATE_LIMITS = {
    "auth": env_rate("RATE_LIMIT_AUTH", default="5/15m"),
    "trading": env_rate("RATE_LIMIT_TRADING", default="100/m"),
    "backtests": env_rate("RATE_LIMIT_BACKTESTS", default="10/m"),
    "general": env_rate("RATE_LIMIT_GENERAL", default="1000/15m"),
    # Everything outside of /api except the probes; a page of the admin loads a dozen files.
    "pages": env_rate("RATE_LIMIT_PAGES", default="300/m"),
    # Messages to one alert hook, or to an address that might be one.
    "alerts": env_rate("RATE_LIMIT_ALERTS", default="60/m"),
}
# Failed logins of one account from any address: more than one address may have, so that a
# stranger cannot lock the owner out.
RATE_LIMITS["failures"] = "20/15m" if RATE_LIMITS["auth"] else None
# The quotas of a user (apps.core.limits.quotas), by their names on the wire.
QUOTAS = {
    "algorithms": env_count("QUOTA_ALGORITHMS", default=500, least=1, most=1_000_000),
    "activeAlgorithms": env_count("QUOTA_ACTIVE_ALGORITHMS", default=50, least=1, most=1_000_000),
    "backtests": env_count("QUOTA_BACKTESTS", default=1_000, least=1, most=1_000_000),
    "backtestBytes": 1024
    * 1024
    * env_count("QUOTA_BACKTEST_MEGABYTES", default=2_048, least=1, most=1_000_000),
    "webhooks": 50,
    "keys": 20,
    "exports": 1,
    "alertHooks": 20,
    "alertBytes": 50 * 1024 * 1024,
}
# The memory that a worker may use for one backtest; a larger one is refused at submission.
BACKTEST_MEGABYTES = env_count("BACKTEST_MEGABYTES", default=1_200, least=1, most=1_000_000)
# Seconds of one worker that a user's queued and running backtests may take together.
QUOTA_BACKTEST_SECONDS = env_count("QUOTA_BACKTEST_SECONDS", default=14_400, least=1, most=10**8)
TRUSTED_PROXIES = env_networks("TRUSTED_PROXIES", default="")
REDIS_URL = os.environ.get("REDIS_URL", "").strip()
# The feed of one broker; `manage.py feed --kite` needs both.
KITE_API_KEY = os.environ.get("KITE_API_KEY", "").strip()
KITE_ACCESS_TOKEN = os.environ.get("KITE_ACCESS_TOKEN", "").strip()
_counters = "RedisCounters" if REDIS_URL else "PostgresCounters"
CACHES = {
    "default": {"BACKEND": f"apps.core.database.counters.{_counters}", "LOCATION": REDIS_URL},
    # The memory of one web process: the exhausted limits (core.limits).
    "process": {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "OPTIONS": {"MAX_ENTRIES": 10_000},
    },
}
# django-ratelimit knows few caches. Ours count atomically: tests/core/test_counters.py.
SILENCED_SYSTEM_CHECKS = ["django_ratelimit.W001"]

# Minutes of a session without a bar that is due, after which users are told (feed.stale).
FEED_STALE_MINUTES = env_count("FEED_STALE_MINUTES", default=5, least=1, most=1_440)

# Webhooks.

# For development: literal addresses that webhooks may call although they are not public.
WEBHOOK_ALLOW_CIDRS = env_networks("WEBHOOK_ALLOW_CIDRS", default="")
WEBHOOK_ALLOW_HTTP = env_flag("WEBHOOK_ALLOW_HTTP", default=False)
TELEGRAM_API_URL = os.environ.get("TELEGRAM_API_URL", "").strip() or "https://api.telegram.org"


class MailServer(NamedTuple):
    """A mail server; without a host there is none.

    TLS begins at once, by STARTTLS, or not at all.
    """

    host: str = ""
    port: int = 0
    user: str = ""
    password: str = ""
    tls: bool = False
    starttls: bool = False


MAIL_PORTS = {"smtps": 465, "smtp+starttls": 587, "smtp": 25}


def mail_server(url: str) -> MailServer:
    """Parse `smtps://user:password@host:port`, `smtp+starttls://` or, unencrypted, `smtp://`."""
    if not url:
        return MailServer()
    parts = urlsplit(url)
    if parts.scheme not in MAIL_PORTS or not parts.hostname:
        raise ImproperlyConfigured(
            "EMAIL_URL: use smtps://user:password@host, or smtp+starttls:// or smtp://"
        )
    return MailServer(
        host=parts.hostname,
        port=parts.port or MAIL_PORTS[parts.scheme],
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        tls=parts.scheme == "smtps",
        starttls=parts.scheme == "smtp+starttls",
    )


# Notices by e-mail; without a server they go to the console.
_mail = mail_server(os.environ.get("EMAIL_URL", "").strip())
EMAIL_BACKEND = f"django.core.mail.backends.{'smtp' if _mail.host else 'console'}.EmailBackend"
EMAIL_HOST, EMAIL_PORT = _mail.host, _mail.port
EMAIL_HOST_USER, EMAIL_HOST_PASSWORD = _mail.user, _mail.password
EMAIL_USE_TLS, EMAIL_USE_SSL = _mail.starttls, _mail.tls
EMAIL_TIMEOUT = 10
DEFAULT_FROM_EMAIL = os.environ.get("EMAIL_FROM", "").strip() or "algotrade@localhost"

# HTTP.

REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": ["apps.accounts.calls.authentication.CallerAuthentication"],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_PARSER_CLASSES": ["apps.core.api.parsers.StrictJsonParser"],
    "DEFAULT_RENDERER_CLASSES": ["apps.core.api.renderers.JsonRenderer"],
    "DEFAULT_CONTENT_NEGOTIATION_CLASS": "apps.core.api.renderers.Negotiation",
    "EXCEPTION_HANDLER": "apps.core.api.exceptions.answer_exception",
    "DEFAULT_SCHEMA_CLASS": "apps.core.api.resources.schema.ApiSchema",
    "DEFAULT_METADATA_CLASS": None,
    "URL_FORMAT_OVERRIDE": None,
    "UNAUTHENTICATED_USER": "django.contrib.auth.models.AnonymousUser",
}

SPECTACULAR_SETTINGS = {
    "TITLE": "algotrade",
    "VERSION": VERSION,
    "DESCRIPTION": "Algorithmic trading in India: describe an algorithm in five steps, without "
    "code, backtest it on history, and let it trade on paper. Every refusal is one envelope, "
    "`Error`; every list that has pages is `data` and `pagination`; moments are ISO 8601 in UTC "
    "with Z, dates and hours of the market are those of Asia/Kolkata. An unknown address is a 404, "
    "a wrong method a 405, both in the envelope.",
    "OAS_VERSION": "3.1.1",
    "COMPONENT_SPLIT_PATCH": False,
    "ENUM_GENERATE_CHOICE_DESCRIPTION": False,
    "SORT_OPERATION_PARAMETERS": False,
    "TAGS": [
        {
            "name": "account",
            "description": "Signing up, in and out; one's profile, password, second factor,"
            " sessions, keys and data.",
        },
        {"name": "algorithms", "description": "What an algorithm is made of, and how it does."},
        {"name": "backtests", "description": "What would have happened."},
        {
            "name": "market",
            "description": "History, bars as they close, sessions and charges.",
        },
        {"name": "symbols", "description": "What can be traded."},
        {
            "name": "trading",
            "description": "Running algorithms on paper; the account, the stream of events, and the"
            " switch that stops everything.",
        },
        {
            "name": "webhooks",
            "description": "Being told of events, by signed HTTP requests or by e-mail.",
        },
    ],
    "POSTPROCESSING_HOOKS": [
        "apps.algorithms.serializers.schemas.add_steps",
        "apps.webhooks.guide.messages.add_messages",
        "apps.core.api.resources.schema.add_shared_components",
        "apps.core.api.resources.schema.drop_enum_ids",
    ],
    "SERVE_AUTHENTICATION": [],
    "SERVE_PERMISSIONS": [],
    # The page's own files come from the service itself, never from elsewhere.
    "SWAGGER_UI_DIST": "SIDECAR",
    "SWAGGER_UI_FAVICON_HREF": "SIDECAR",
    # Without the list of all schemas: each call shows its own.
    "SWAGGER_UI_SETTINGS": {"deepLinking": True, "defaultModelsExpandDepth": -1},
}

CORS_ALLOWED_ORIGINS = env_list(
    "CORS_ALLOWED_ORIGINS", default="http://localhost:3000,http://localhost:5173"
)
CORS_ALLOW_CREDENTIALS = True
CORS_ALLOW_METHODS = ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"]
CORS_ALLOW_HEADERS = [
    "content-type",
    "authorization",
    "x-request-id",
    *env_list("CORS_EXTRA_HEADERS", default=""),
]
CORS_EXPOSE_HEADERS = [
    "X-Request-ID",
    "X-RateLimit-Limit",
    "X-RateLimit-Remaining",
    "X-RateLimit-Reset",
    "Retry-After",
    "Idempotent-Replayed",
    "X-Total-Count",
    "Link",
]
CORS_URLS_REGEX = r"^/api/"

SECURE_CONTENT_TYPE_NOSNIFF = True
# Not no-referrer, as under /api: browsers would then send the admin's forms with Origin: null.
SECURE_REFERRER_POLICY = "same-origin"
SESSION_ENGINE = "apps.core.database.sessions"
SESSION_COOKIE_SECURE = True
SESSION_COOKIE_SAMESITE = "Strict"
SESSION_COOKIE_AGE = 7 * 24 * 3600
CSRF_COOKIE_SECURE = True
# The service's own origins behind a proxy that ends TLS. Origins of web applications count only for
# the API (apps.accounts.calls.cookies).
CSRF_TRUSTED_ORIGINS = [f"https://{host}" for host in ALLOWED_HOSTS]
LOGIN_REDIRECT_URL = "/admin/"  # after a login to the admin with a `next` outside of it
X_FRAME_OPTIONS = "DENY"
# TLS ends at the proxy in front of the service; the proxy also redirects and sets HSTS.
SILENCED_SYSTEM_CHECKS += ["security.W004", "security.W008"]

# The admin's own files, served from the packages they come in.
STATIC_URL = "/static/"
# Styles and scripts of the console that reports include too.
STATICFILES_DIRS = [("shared", BASE_DIR / "apps/backtests/analysis/report/assets")]
WHITENOISE_USE_FINDERS = True
WHITENOISE_AUTOREFRESH = False
USE_I18N = False
FORMAT_MODULE_PATH = ["config.formats"]
USE_TZ = True
TIME_ZONE = "UTC"

# Logs.

LOGGING: dict[str, Any] = {
    "version": 1,
    "disable_existing_loggers": False,
    "filters": {
        "requestId": {"()": "apps.core.requests.request_id.AddRequestId"},
        "noOutage": {"()": "apps.core.database.failures.IsNoOutage"},
    },
    "formatters": {
        "json": {
            "()": "apps.core.requests.log_lines.LogFormatter",
            "format": "%(asctime)s %(levelname)s %(name)s %(message)s %(requestId)s",
            "rename_fields": {"asctime": "time", "levelname": "level", "name": "logger"},
        }
    },
    "handlers": {
        "stderr": {"class": "logging.StreamHandler", "formatter": "json", "filters": ["requestId"]}
    },
    "root": {"handlers": ["stderr"], "level": "INFO"},
    "loggers": {
        "django": {"level": "WARNING"},
        # The envelope logs every request once; Django would warn of a 4xx a second time.
        "django.request": {"level": "ERROR", "filters": ["noOutage"]},
        "django.security.DisallowedHost": {"level": "CRITICAL"},
        "procrastinate": {"level": "WARNING"},
        # It warns about requests of clients.
        "uvicorn": {"level": "ERROR"},
    },
}
