"""The jobs of this app, for the workers."""

from procrastinate import JobContext, RetryStrategy
from procrastinate.contrib.django import app

from apps.core import database, jobs
from apps.webhooks.events import notices, outbox
from apps.webhooks.sending import dispatch, http, linking
from apps.webhooks.sending.address_guard import configured_exemptions
from apps.webhooks.sending.http import SendResult
from apps.webhooks.sending.kinds import Message


@app.task(name=outbox.DISPATCH_JOB, queue=outbox.DISPATCH_QUEUE, pass_context=True)
def dispatch_deliveries(context: JobContext) -> None:
    dispatch.Dispatcher(send=_send, clock=database.now).run(stopping=context.should_abort)


def _send(message: Message) -> SendResult:
    return http.send(
        message.url,
        body=message.body,
        headers=message.headers,
        exemptions=configured_exemptions(),
        read=message.read,
    )


@app.task(name=linking.LINK_JOB, queue=linking.LINK_QUEUE, pass_context=True)
def link_chats(context: JobContext) -> None:
    linking.work(ask=_ask, clock=database.now, stopping=context.should_abort)


def _ask(url: str, body: bytes) -> SendResult:
    headers = {"content-type": "application/json"}
    return http.send(
        url, body=body, headers=headers, exemptions=configured_exemptions(), read=[200]
    )


@app.task(
    name=outbox.MAIL_JOB,
    queue=outbox.MAIL_QUEUE,
    retry=RetryStrategy(max_attempts=6, exponential_wait=5),
)
def mail(event_id: str) -> None:
    arguments = {"event_id": event_id}
    if jobs.postpones(outbox.MAIL_JOB, queue=outbox.MAIL_QUEUE, arguments=arguments):
        return
    notices.send_mail_of(event_id=event_id)
