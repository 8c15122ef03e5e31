"""API keys: make one with a password, and keep it in a file of the user alone."""

import json
import os
import stat
from collections.abc import Mapping, Sequence
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Final, NamedTuple

from .errors import NotLoggedIn
from .records import CreatedKey
from .transport import Transport

SCOPES: Final = ("read", "backtest", "trade")


class Login(NamedTuple):
    """A service and a key for it."""

    url: str
    key: str


def sign_up(url: str, email: str, password: str, *, name: str, **options: Any) -> CreatedKey:
    """Make an account, and an API key for it; options are those of `log_in`."""
    body = {"email": email, "password": password, "name": name}
    return _new_key(url, "/api/auth/signup", body, **options)


def log_in(
    url: str, email: str, password: str, *, code: str | None = None, **options: Any
) -> CreatedKey:
    """Make an API key with the password of an account, and the second factor if it has one.

    The key has `scopes`, by default all, and a `key_name`. Nothing else stays: the session ends.
    """
    body = {"email": email, "password": password} | ({"code": code} if code else {})
    return _new_key(url, "/api/auth/login", body, **options)


def _new_key(
    url: str,
    path: str,
    body: Mapping[str, str],
    *,
    scopes: Sequence[str] = SCOPES,
    key_name: str = "algotrade client",
    **options: Any,
) -> CreatedKey:
    with closing(Transport(url, **options)) as entry:
        token = entry.call("POST", path, body)["accessToken"]
    with closing(Transport(url, token, **options)) as session:
        wanted = {"name": key_name, "scopes": [*scopes]}
        key = CreatedKey.read(session.call("POST", "/api/auth/keys", wanted))
        session.call("POST", "/api/auth/logout")
        return key


def login_file() -> Path:
    """Return the path of the stored key, by the XDG rules."""
    folder = os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config"
    return Path(folder) / "algotrade" / "login.json"


def save_login(url: str, key: CreatedKey) -> Path:
    """Store a key in a file that only the user can read, in place of an earlier one."""
    path = login_file()
    path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    fresh = path.with_suffix(f".{os.getpid()}")
    with suppress(FileNotFoundError):
        fresh.unlink()
    content = {"url": url, "key": key.key, "id": key.id, "scopes": key.scopes}
    with open(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
        json.dump(content, file)
    fresh.replace(path)
    return path


def saved_login() -> Login:
    """Return ALGOTRADE_URL and ALGOTRADE_KEY, or the stored login. Raises NotLoggedIn."""
    url, key = os.environ.get("ALGOTRADE_URL"), os.environ.get("ALGOTRADE_KEY")
    if url and key:
        return Login(url, key)
    path = login_file()
    try:
        mode = path.stat().st_mode
        content = json.loads(path.read_text())
    except FileNotFoundError:
        raise NotLoggedIn("There is no stored key: run `algotrade login` first.") from None
    if stat.S_IMODE(mode) & 0o077:
        raise NotLoggedIn(f"Other users can read {path}: run `chmod 600 {path}` first.")
    return Login(content["url"], content["key"])
