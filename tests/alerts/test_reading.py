"""Readers and receipts at the same time: what was read is never changed by what comes later."""

import json
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import connection

from apps.accounts.models import User
from apps.alerts import services
from apps.alerts.models import AlertFormat
from apps.core import database
from tests import make

SENDERS = 4
SECONDS = 2.0


@pytest.mark.django_db(transaction=True)
def test_what_was_read_up_to_a_moment_stays_so() -> None:
    """The reader's clock is up to a second and a half ahead of the senders'."""
    owner: User = make.user("alice")
    _, secret = services.create_hook(
        owner=owner, name="mine", format=AlertFormat.JSON, networks=[], now=make.NOW
    )
    ends = time.monotonic() + SECONDS

    def send(sender: int) -> int:
        sent = 0
        while time.monotonic() < ends:
            body = json.dumps({"name": "breakout", "id": f"{sender}-{sent}"}).encode()
            services.receive_message(
                secret=secret, body=body, address="127.0.0.1", now=database.now()
            )
            sent += 1
        connection.close()
        return sent

    def read(until: int) -> list[int]:
        times = services.alert_times(
            owner_id=owner.pk, names=["breakout"], symbols=["NSE:INFY"], until=until
        )
        return list(times["NSE:INFY"]["breakout"])

    with ThreadPoolExecutor(SENDERS) as pool:
        senders = [pool.submit(send, number) for number in range(SENDERS)]
        at_first = []
        while time.monotonic() < ends:
            until = int(time.time() + 1.5)
            services.close_reading(owner_ids=[owner.pk], until=until)
            at_first.append((until, read(until)))
        sent = sum(sender.result() for sender in senders)
    assert len({len(times) for _, times in at_first}) > 1
    assert [(until, read(until)) for until, _ in at_first] == at_first
    assert len(read(int(time.time()) + 60)) == sent
