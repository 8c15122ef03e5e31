"""The settings from addresses in the environment."""

import runpy
from urllib.parse import quote

import pytest
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from django.db.backends.postgresql.base import DatabaseWrapper

from apps.accounts.models import User
from config.settings import (
    CONNECTION_OPTIONS,
    MailServer,
    database,
    mail_server,
    public_url,
)


def test_the_parts_of_a_mail_server() -> None:
    assert mail_server("") == MailServer()
    assert mail_server("smtps://a%40b:p%2Fw@mail.example.com") == MailServer(
        "mail.example.com", 465, "a@b", "p/w", tls=True
    )
    assert mail_server("smtp+starttls://mail.example.com:2525").starttls
    assert mail_server("smtp://localhost") == MailServer("localhost", 25)


@pytest.mark.parametrize("url", ["mail.example.com", "http://mail.example.com", "smtp://"])
def test_an_invalid_mail_server_is_refused(url: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="EMAIL_URL"):
        mail_server(url)


def test_request_headers_of_other_origins_can_be_added(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CORS_EXTRA_HEADERS", "If-Match, X-Mine")
    added = runpy.run_path(str(settings.BASE_DIR / "config/settings.py"))["CORS_ALLOW_HEADERS"]
    assert added == ["content-type", "authorization", "x-request-id", "If-Match", "X-Mine"]


def test_links_lead_to_the_public_url_or_the_first_allowed_host(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("PUBLIC_URL", raising=False)
    assert public_url("localhost", 8000) == "http://localhost:8000"
    assert public_url("trade.example.com", 8000) == "https://trade.example.com"
    monkeypatch.setenv("PUBLIC_URL", "https://people.example.com/")
    assert public_url("trade.example.com", 8000) == "https://people.example.com"


def test_the_parts_of_a_database(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(
        "DATABASE_URL", "postgres://a%40b:p%2Fw@db.example.com:6432/x?sslmode=require"
    )
    parts = database()
    assert (parts["HOST"], parts["PORT"], parts["NAME"]) == ("db.example.com", "6432", "x")
    assert (parts["USER"], parts["PASSWORD"]) == ("a@b", "p/w")
    assert parts["OPTIONS"] == {**CONNECTION_OPTIONS, "sslmode": "require"}
    monkeypatch.setenv("DATABASE_URL", "postgresql://me@/x?host=/run/postgresql&connect_timeout=9")
    parts = database()
    assert (parts["HOST"], parts["OPTIONS"]["connect_timeout"]) == ("/run/postgresql", "9")


def test_a_database_of_several_hosts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(
        "DATABASE_URL", "postgresql://me@a:5432,b:5433/x?target_session_attrs=read-write"
    )
    parts = database()
    assert (parts["HOST"], parts["PORT"]) == ("a,b", "5432,5433")
    assert parts["OPTIONS"]["target_session_attrs"] == "read-write"


@pytest.mark.django_db
def test_the_service_connects_to_the_writable_host(monkeypatch: pytest.MonkeyPatch) -> None:
    server = connection.get_connection_params()
    monkeypatch.setenv(
        "DATABASE_URL",
        f"postgresql://{server['user']}@127.0.0.1:1,{quote(server['host'], safe='')}:5432"
        f"/{server['dbname']}?target_session_attrs=read-write",
    )
    reached = DatabaseWrapper({**connection.settings_dict, **database()})
    with reached.cursor() as cursor:
        cursor.execute("SELECT 1")
        assert cursor.fetchone() == (1,)
    reached.close()


@pytest.mark.django_db
def test_repeated_statements_are_prepared() -> None:
    for number in range(7):
        assert list(User.objects.filter(name=f"prepared {number}")) == []
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT count(*) FROM pg_prepared_statements WHERE statement LIKE %s",
            ["%accounts_user%name%"],
        )
        assert cursor.fetchone() == (1,)


@pytest.mark.parametrize(
    "url", ["sqlite:///x", "postgresql://me@db", "postgresql://me@db:port/x", "db.example.com/x"]
)
def test_an_invalid_database_address_is_refused(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DATABASE_URL", url)
    with pytest.raises(ImproperlyConfigured, match="DATABASE_URL: use postgresql://"):
        database()
