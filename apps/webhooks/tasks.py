"""The jobs of this app, for the workers."""

from collections.abc import Mapping

from procrastinate import JobContext, RetryStrategy
from procrastinate.contrib.django import app

from apps.core import database, jobs
from apps.webhooks.events import notices, outbox
from apps.webhooks.sending import dispatch, http
from apps.webhooks.sending.address_guard import configured_exemptions
from apps.webhooks.sending.http import SendResult


@app.task(name=outbox.DISPATCH_JOB, queue=outbox.DISPATCH_QUEUE, pass_context=True)
def dispatch_deliveries(context: JobContext) -> None:
    dispatch.Dispatcher(send=_send, clock=database.now).run(stopping=context.should_abort)


def _send(url: str, body: bytes, headers: Mapping[str, str]) -> SendResult:
    exemptions = configured_exemptions()
    return http.send(url, body=body, headers=headers, exemptions=exemptions)


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
