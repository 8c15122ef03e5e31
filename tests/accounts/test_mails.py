"""The content of mails, as text and as HTML, and their look in a browser."""

from datetime import timedelta
from pathlib import Path

import pytest
from django.core import mail
from django.core.mail import EmailMultiAlternatives

from apps.accounts import mails
from apps.accounts.mails import MailKind
from apps.accounts.models import LinkPurpose, User
from apps.core.times import indian_time
from tests import make
from tests.browser import console_of, program, tab

LONG = "a.very.long.name.of.somebody@" + "a-long-domain-name." * 6 + "example.com"
FACTS = {
    "name": "Alice <Trader>",
    "at": indian_time(make.NOW),
    "address": "203.0.113.7",
    "new_email": LONG,
    "key_name": "n" * 100,
    "reason": "an operator ended it",
    "user_agent": "Mozilla/5.0 (X11; Linux x86_64) " + "AppleWebKit/537.36" * 9,
    "erase_at": indian_time(make.NOW + timedelta(days=7)),
    "expires_at": indian_time(make.NOW + timedelta(days=7)),
    "number": "30",
}


def sent(user: User, kind: MailKind) -> EmailMultiAlternatives:
    """Return the mail of this kind, with a link if it has one."""
    link_id = None
    if kind.value in LinkPurpose.values:
        purpose = LinkPurpose(kind.value)
        mails.send_link(user, purpose, email=user.email, now=make.NOW, new_email=LONG)
        link_id = user.email_links.latest("pk").pk
    mail.outbox.clear()
    mails.send_mail_now(kind=kind, to=user.email, facts=FACTS, link_id=link_id, now=make.NOW)
    (message,) = mail.outbox
    assert isinstance(message, EmailMultiAlternatives)
    return message


@pytest.mark.parametrize("kind", MailKind)
def test_the_text_and_the_html_of_a_mail_say_the_same(alice: User, kind: MailKind) -> None:
    alice.name, alice.email_verified = "Alice <Trader>", True
    alice.save()
    message = sent(alice, kind)
    text, html = str(message.body), str(message.alternatives[0][0])
    subject, words, button, by_service = mails.TEXTS[kind]
    assert (message.subject, message.to) == (subject, [alice.email])
    assert "Hello Alice <Trader>," in text
    assert "Hello Alice &lt;Trader&gt;," in html
    assert words.format_map(FACTS) in text
    assert f"<title>{subject}</title>" in html
    for form in (text, html):
        assert "{" not in form
        assert "None" not in form
        if button:
            (link,) = alice.email_links.all()
            assert mails.url_of(link) in form
            assert f"until {indian_time(link.expires_at)}" in form
        elif not by_service:
            assert "2 November 2026, 09:30 IST" in form


@pytest.mark.slow
@pytest.mark.skipif(program() is None, reason="no Chromium on this machine")
@pytest.mark.parametrize("width", [390, 700])
@pytest.mark.parametrize("kind", MailKind)
def test_mails_fit_on_a_phone(alice: User, tmp_path: Path, kind: MailKind, width: int) -> None:
    file = tmp_path / "mail.html"
    file.write_text(str(sent(alice, kind).alternatives[0][0]))
    with tab(width, 800) as page:
        console = console_of(page)
        page.goto(file.as_uri())
        page.screenshot(path=tmp_path / "mail.png", full_page=True)
        assert page.evaluate("document.documentElement.scrollWidth") == width
        right = page.evaluate("document.querySelector('div').getBoundingClientRect().right")
        assert right <= width
        assert console == []
