"""Clients of release 1.0 read today's events: every field that they know is there, unchanged."""

from typing import Any, Final

import pytest
from pydantic import ConfigDict, create_model

from apps.accounts.models import User
from apps.webhooks.event_types import EVENT_SCHEMAS, EventType
from apps.webhooks.models import Event
from tests.trading.live.market_day import started
from tests.trading.live.test_effects import Market, always_in

_STATUS: Final[dict[str, Any]] = {
    "algorithmId": str,
    "algorithmName": str,
    "runId": str | None,
    "status": str,
    "previousStatus": str,
    "reason": str,
}
_BACKTEST: Final[dict[str, Any]] = {
    "backtestId": str,
    "algorithmId": str,
    "algorithmName": str,
    "status": str,
    "error": dict[str, str] | None,
}
_LOSS: Final[dict[str, Any]] = {
    "algorithmId": str,
    "algorithmName": str,
    "runId": str,
    "day": str,
    "loss": float,
    "limit": float,
}
# The types of events of release 1.0, and the fields of their data.
KNOWN: Final[dict[str, dict[str, Any]]] = {
    "algorithm.started": _STATUS,
    "algorithm.stopped": _STATUS,
    "algorithm.paused": _STATUS,
    "algorithm.error": _STATUS,
    "trade.executed": {
        "algorithmId": str,
        "algorithmName": str,
        "runId": str,
        "orderId": str,
        "time": str,
        "symbol": str,
        "side": str,
        "quantity": int,
        "price": float,
        "reason": str,
    },
    "backtest.completed": _BACKTEST,
    "backtest.failed": _BACKTEST,
    "risk.daily_loss_limit_reached": _LOSS,
    "performance.alert": {
        "algorithmId": str,
        "algorithmName": str,
        "metric": str,
        "value": float,
        "threshold": float,
        "action": str,
    },
    "webhook.test": {"webhookId": str},
}


def read_as_before(type: str, data: object) -> dict[str, Any]:
    """Read data as a typed client of the release does, which ignores keys that it does not know."""
    fields = {name: (kind, ...) for name, kind in KNOWN[type].items()}
    client = create_model(type, __config__=ConfigDict(strict=True, extra="ignore"), **fields)  # type: ignore[call-overload]
    read: dict[str, Any] = client.model_validate(data).model_dump()
    return read


@pytest.mark.parametrize("type", KNOWN)
def test_a_client_of_the_first_release_reads_the_event(type: str) -> None:
    example = EVENT_SCHEMAS[EventType(type)].example
    assert read_as_before(type, example) == {name: example[name] for name in KNOWN[type]}


@pytest.mark.parametrize("type", KNOWN)
def test_fields_that_came_later_may_be_missing(type: str) -> None:
    """An event of an earlier release may be sent again after the upgrade."""
    example = EVENT_SCHEMAS[EventType(type)].example
    EVENT_SCHEMAS[EventType(type)].data.model_validate(
        {name: example[name] for name in KNOWN[type]}
    )


def test_a_client_of_the_first_release_reads_what_a_run_writes(alice: User) -> None:
    market = Market([101, 101, 101, 80, 80])
    started(alice, always_in())
    market.go(5)
    events = list(Event.objects.exclude(type="day.summary"))
    types = {event.type for event in events}
    assert types >= {"algorithm.started", "trade.executed", "risk.daily_loss_limit_reached"}
    for event in events:
        assert set(read_as_before(event.type, event.data)) == set(KNOWN[event.type])
