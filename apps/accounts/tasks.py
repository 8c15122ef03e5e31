"""The jobs of this app, for the workers."""

from django.utils import timezone
from procrastinate import RetryStrategy
from procrastinate.contrib.django import app
from procrastinate.types import JSONValue

from apps.accounts import mails
from apps.accounts.login import email_links
from apps.accounts.own_data import exports
from apps.core import jobs

_RETRY = RetryStrategy(max_attempts=6, exponential_wait=5)


@app.task(name=mails.ACCOUNT_MAIL_JOB, queue=mails.ACCOUNT_MAIL_QUEUE, retry=_RETRY)
def send_account_mail(kind: str, to: str, facts: dict[str, str], link_id: str | None) -> None:
    arguments: dict[str, JSONValue] = {
        "kind": kind,
        "to": to,
        "facts": {**facts},
        "link_id": link_id,
    }
    queue = mails.ACCOUNT_MAIL_QUEUE
    if jobs.postpones(mails.ACCOUNT_MAIL_JOB, queue=queue, arguments=arguments):
        return
    mails.send_mail_now(
        kind=mails.MailKind(kind), to=to, facts=facts, link_id=link_id, now=timezone.now()
    )


@app.task(name=email_links.RESET_JOB, queue=mails.ACCOUNT_MAIL_QUEUE, retry=_RETRY)
def send_reset_link(email: str) -> None:
    email_links.send_reset(email=email, now=timezone.now())


@app.task(name=exports.EXPORT_JOB, queue=exports.EXPORT_QUEUE, retry=_RETRY)
def export_data(export_id: str) -> None:
    exports.make_archive(export_id=export_id, now=timezone.now())
