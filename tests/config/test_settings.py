"""What the settings make of the addresses in the environment."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from config.settings import MailServer, database, mail_server


def test_the_parts_of_a_mail_server() -> None:
    assert mail_server("") == MailServer()
    assert mail_server("smtps://a%40b:p%2Fw@mail.example.com") == MailServer(
        "mail.example.com", 465, "a@b", "p/w", tls=True
    )
    assert mail_server("smtp+starttls://mail.example.com:2525").starttls
    assert mail_server("smtp://localhost") == MailServer("localhost", 25)


@pytest.mark.parametrize("url", ["mail.example.com", "http://mail.example.com", "smtp://"])
def test_what_is_no_mail_server_is_refused(url: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="EMAIL_URL"):
        mail_server(url)


def test_the_parts_of_a_database(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(
        "DATABASE_URL", "postgres://a%40b:p%2Fw@db.example.com:6432/x?sslmode=require"
    )
    parts = database()
    assert (parts["HOST"], str(parts["PORT"]), parts["NAME"]) == ("db.example.com", "6432", "x")
    assert (parts["USER"], parts["PASSWORD"]) == ("a@b", "p/w")
    assert parts["OPTIONS"] == {"connect_timeout": 3, "sslmode": "require"}
    monkeypatch.setenv("DATABASE_URL", "postgresql://me@/x?host=/run/postgresql&connect_timeout=9")
    parts = database()
    assert (parts["HOST"], parts["OPTIONS"]) == ("/run/postgresql", {"connect_timeout": 9})


@pytest.mark.parametrize(
    "url", ["sqlite:///x", "postgresql://me@db", "postgresql://me@db:port/x", "db.example.com/x"]
)
def test_what_is_no_database_is_refused(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", url)
    with pytest.raises(ImproperlyConfigured, match="DATABASE_URL: use postgresql://"):
        database()
