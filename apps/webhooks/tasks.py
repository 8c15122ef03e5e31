"""The jobs of this app, as the workers find them."""

from collections.abc import Mapping

from django.utils import timezone
from procrastinate import JobContext, RetryStrategy
from procrastinate.contrib.django import app

from apps.webhooks import dispatch, notices, outbox, sending
from apps.webhooks.exemptions import configured
from apps.webhooks.sending import Answer


@app.task(name=outbox.DISPATCH_JOB, queue=outbox.DISPATCH_QUEUE, pass_context=True)
def take_turn(context: JobContext) -> None:
    dispatch.Turn(send=send, clock=timezone.now).run(stopping=context.should_abort)


def send(url: str, body: bytes, headers: Mapping[str, str]) -> Answer:
    return sending.send(url, body=body, headers=headers, exemptions=configured())


@app.task(
    name=outbox.MAIL_JOB,
    queue=outbox.MAIL_QUEUE,
    retry=RetryStrategy(max_attempts=6, exponential_wait=5),
)
def mail(event_id: str) -> None:
    notices.mail(event_id=event_id, now=timezone.now())
