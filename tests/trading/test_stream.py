"""The notifications for event streams: changes of an account, and new bars."""

from collections.abc import Iterator
from decimal import Decimal
from itertools import takewhile

import psycopg
import pytest
from django.db import connection

from apps.accounts.models import User
from apps.market.feeds import clock
from apps.trading.activity.event_stream.services import CHANNELS, hints
from apps.trading.models import Account, Run, Signal
from apps.webhooks.event_types import EventType
from tests import make
from tests.trading.algorithm_states import add_order, hold, start, stopped_algorithm
from tests.webhooks.events import emit

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def listener() -> Iterator[psycopg.Connection]:
    """Return a connection that listens as each web process does."""
    settings = connection.settings_dict
    with psycopg.connect(
        host=settings["HOST"],
        port=settings["PORT"],
        user=settings["USER"],
        password=settings["PASSWORD"],
        dbname=settings["NAME"],
        autocommit=True,
    ) as listening:
        for channel in (*CHANNELS, "end_of_notices"):
            listening.execute(f"LISTEN {channel}")
        yield listening


@pytest.fixture
def run(alice: User) -> Run:
    return start(stopped_algorithm(alice))


def notices(listener: psycopg.Connection) -> set[tuple[str, str]]:
    """Return the notifications since the last call, in order."""
    with connection.cursor() as cursor:
        cursor.execute("NOTIFY end_of_notices")
    before_end = takewhile(lambda notice: notice.channel != "end_of_notices", listener.notifies())
    return {(notice.channel, notice.payload) for notice in before_end}


def test_each_change_of_an_account_notifies_its_owner(
    run: Run, alice: User, bob: User, listener: psycopg.Connection
) -> None:
    account = {("account_changed", alice.pk)}
    order, position = add_order(run), hold(run)
    assert notices(listener) == account
    run.orders.filter(pk=order.pk).update(cancel_requested_at=make.NOW)
    assert notices(listener) == account
    run.positions.filter(pk=position.pk).update(unrealised=Decimal(7))
    assert notices(listener) == account
    Signal.objects.create(
        run=run,
        algorithm=run.algorithm,
        symbol="NSE:NIFTY",
        bar_time=make.NOW,
        side="long",
        action="entry",
        followed=True,
    )
    assert notices(listener) == account
    Account.objects.filter(pk=alice.pk).update(balance=2_000_000)
    assert notices(listener) == account
    run.orders.filter(pk="0").update(cancel_requested_at=make.NOW)
    assert notices(listener) == set()


def test_an_event_notifies_of_its_owner(alice: User, listener: psycopg.Connection) -> None:
    emit(alice, type=EventType.ALGORITHM_STARTED)
    assert notices(listener) == {("events_written", alice.pk)}


def test_new_bars_notify_of_their_symbol(alice: User, listener: psycopg.Connection) -> None:
    clock.move(int(make.NOW.timestamp()), symbols=["NSE:SBIN"], timeframe="1m", now=make.NOW)
    sent = notices(listener)
    assert sent
    assert sent <= set(hints(alice, ["NSE:SBIN"]))
    assert not sent & set(hints(alice, ["NSE:TCS"]))


def test_hints_have_no_id(alice: User) -> None:
    """A client continues after its last id, regardless of hints since."""
    messages = hints(alice, ["NSE:SBIN"])
    assert messages["account_changed", alice.pk] == b"event: account\ndata: {}\n\n"
    assert not [message for message in messages.values() if b"id:" in message]
