"""The table of event types and their data."""

import json
from typing import Any

import pytest
from django.core import mail

from apps.accounts.models import User
from apps.algorithms.models import Algorithm
from apps.trading import services
from apps.webhooks import event_types
from apps.webhooks.event_types import EVENT_SCHEMAS, EventType
from apps.webhooks.events import notices
from apps.webhooks.models import Event
from tests import make
from tests.openapi import document, long_numbers
from tests.trading.algorithm_states import algorithm_in
from tests.trading.live.market_day import started
from tests.trading.live.test_effects import Market, always_in
from tests.webhooks.events import emit


def test_every_type_is_in_the_table_with_valid_data_and_in_the_document() -> None:
    assert set(EVENT_SCHEMAS) == set(EventType)
    callbacks = document()["paths"]["/api/webhooks"]["post"]["callbacks"]
    assert set(callbacks) == set(EventType)
    for type, kind in EVENT_SCHEMAS.items():
        event_types.validate_data(type, kind.example)
        message = callbacks[type]["{$request.body#/url}"]["post"]["requestBody"]["content"]
        assert message["application/json"]["example"]["data"] == kind.example


def test_invalid_data_are_not_written(alice: User) -> None:
    shown = EVENT_SCHEMAS[EventType.ALGORITHM_STARTED].example
    change: Any
    for change in ({"steps": {}}, {"algorithmId": 7}, {"runId": "x"}):
        with pytest.raises(ValueError, match="1 validation error"):
            event_types.validate_data(EventType.ALGORITHM_STARTED, {**shown, **change})
    with pytest.raises(ValueError, match="1 validation error"):
        emit(alice, data={**shown, "steps": {}})


def test_a_body_is_the_same_bytes_each_time() -> None:
    fields = {"id": "a", "type": "trade.executed", "created_at": make.NOW, "sequence": 7}
    body = event_types.render_body(**fields, data={"b": 1, "a": None})  # type: ignore[arg-type]
    assert body == event_types.render_body(**fields, data={"a": None, "b": 1})  # type: ignore[arg-type]
    assert body == (
        b'{"createdAt":"2026-11-02T04:00:00.000Z","data":{"a":null,"b":1},"id":"a","sequence":7,'
        b'"type":"trade.executed"}'
    )


def test_every_event_of_an_algorithm_carries_its_name(alice: User) -> None:
    """The name is the name at that time: a delivered event is not rewritten."""
    for type, kind in EVENT_SCHEMAS.items():
        assert ("algorithmName" in kind.example) == ("algorithmId" in kind.example), type
    algorithm = algorithm_in(alice, "active")
    Algorithm.objects.filter(pk=algorithm.pk).update(name="Called\nanew")
    services.pause(owner=alice, algorithm_id=algorithm.pk, now=make.NOW)
    first, second = Event.objects.order_by("sequence")
    assert first.data["algorithmName"] == algorithm.name != "Called\nanew"
    assert second.data["algorithmName"] == "Called\nanew"
    User.objects.update(email_verified=True)
    notices.update_notices(owner=alice, events=[EventType.ALGORITHM_PAUSED], now=make.NOW)
    notices.send_mail_of(event_id=second.pk)
    (sent,) = mail.outbox
    assert sent.subject == "Called anew paused."


def test_a_fill_and_a_daily_loss_carry_the_name(alice: User) -> None:
    market = Market([101, 101, 101, 80, 80])
    run = started(alice, always_in())
    market.go(5)
    data = {event.type: event.data for event in Event.objects.all()}
    name = run.algorithm.name
    assert data["trade.executed"]["algorithmName"] == name
    assert data["risk.daily_loss_limit_reached"]["algorithmName"] == name


@pytest.mark.parametrize("type", [EventType.TRADE_EXECUTED, EventType.PERFORMANCE_ALERT])
def test_numbers_have_the_decimals_of_their_units(type: EventType) -> None:
    data = {
        name: value + 0.1 + 0.2 if isinstance(value, float) else value
        for name, value in EVENT_SCHEMAS[type].example.items()
    }
    assert long_numbers(data | {"price": 0.1 + 0.2})
    body = event_types.render_body(id="a", type=type, created_at=make.NOW, sequence=7, data=data)
    assert long_numbers(json.loads(body)) == []
