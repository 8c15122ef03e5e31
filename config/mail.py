"""Reading the address of a mail server."""

from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured


class MailServer(NamedTuple):
    """Without a host there is none. TLS from the start, by STARTTLS, or not at all."""

    host: str = ""
    port: int = 0
    user: str = ""
    password: str = ""
    tls: bool = False
    starttls: bool = False


_PORTS = {"smtps": 465, "smtp+starttls": 587, "smtp": 25}


def mail_server(url: str) -> MailServer:
    """`smtps://user:password@host:port`; `smtp+starttls://` and, unencrypted, `smtp://` too.

    Raises ImproperlyConfigured.
    """
    if not url:
        return MailServer()
    parts = urlsplit(url)
    if parts.scheme not in _PORTS or not parts.hostname:
        raise ImproperlyConfigured(
            "EMAIL_URL: use smtps://user:password@host, or smtp+starttls:// or smtp://"
        )
    return MailServer(
        host=parts.hostname,
        port=parts.port or _PORTS[parts.scheme],
        user=unquote(parts.username or ""),
        password=unquote(parts.password or ""),
        tls=parts.scheme == "smtps",
        starttls=parts.scheme == "smtp+starttls",
    )
