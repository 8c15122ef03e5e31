"""The table of what events tell."""

import pytest

from apps.accounts.models import User
from apps.webhooks import payloads
from apps.webhooks.event_types import EventType
from apps.webhooks.payloads import KINDS
from tests import make
from tests.documented import document
from tests.webhooks.events import emit


def test_every_type_is_in_the_table_with_data_that_fits_and_in_the_document() -> None:
    assert set(KINDS) == set(EventType)
    assert set(document()["webhooks"]) == set(EventType)
    for type, kind in KINDS.items():
        payloads.check(type, kind.shown)
        message = document()["webhooks"][type]["post"]["requestBody"]["content"]
        assert message["application/json"]["example"]["data"] == kind.shown


def test_what_does_not_fit_is_not_written(alice: User) -> None:
    shown = KINDS[EventType.ALGORITHM_STARTED].shown
    for change in ({"steps": {}}, {"algorithmId": 7}, {"runId": "x"}):
        with pytest.raises(ValueError, match="1 validation error"):
            payloads.check(EventType.ALGORITHM_STARTED, {**shown, **change})
    with pytest.raises(ValueError, match="1 validation error"):
        emit(alice, data={**shown, "steps": {}})


def test_a_body_is_the_same_bytes_each_time() -> None:
    told = {"id": "a", "type": "trade.executed", "created_at": make.NOW, "sequence": 7}
    body = payloads.body_of(**told, data={"b": 1, "a": None})  # type: ignore[arg-type]
    assert body == payloads.body_of(**told, data={"a": None, "b": 1})  # type: ignore[arg-type]
    assert body == (
        b'{"createdAt":"2026-11-02T04:00:00.000Z","data":{"a":null,"b":1},"id":"a","sequence":7,'
        b'"type":"trade.executed"}'
    )
