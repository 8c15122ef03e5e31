"""The setting EMAIL_URL."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from config.mail import MailServer, mail_server


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
