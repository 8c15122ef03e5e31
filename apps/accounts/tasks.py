"""The jobs of this app, as the workers find them."""

from django.utils import timezone
from procrastinate import RetryStrategy
from procrastinate.contrib.django import app

from apps.accounts import email_links, exports, mails

RETRY = RetryStrategy(max_attempts=6, exponential_wait=5)


@app.task(name=mails.MAIL_JOB, queue=mails.MAIL_QUEUE, retry=RETRY)
def mail(kind: str, to: str, facts: dict[str, str], link_id: str | None) -> None:
    mails.send(kind=mails.MailKind(kind), to=to, facts=facts, link_id=link_id)


@app.task(name=email_links.RESET_JOB, queue=mails.MAIL_QUEUE, retry=RETRY)
def reset(email: str) -> None:
    email_links.send_reset(email=email, now=timezone.now())


@app.task(name=exports.EXPORT_JOB, queue=exports.EXPORT_QUEUE, retry=RETRY)
def export(export_id: str) -> None:
    exports.make(export_id=export_id, now=timezone.now())
