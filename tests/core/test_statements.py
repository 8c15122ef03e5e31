"""Queries that are written once and run with other arguments each time."""

from django.utils import timezone

from apps.core.models import IdempotencyKey
from apps.core.statements import Slot, mappings

PATH = "/50%s o'clock"


def test_what_is_the_same_at_each_run_stands_in_the_text(db: None) -> None:
    IdempotencyKey.objects.create(path=PATH, key="mine", expires_at=timezone.now())
    found = mappings(IdempotencyKey.objects.filter(path=PATH, key=Slot("key")).values("path"))
    assert found.parameters == ["key"]
    assert found.rows(key="mine") == [{"path": PATH}]
    assert found.rows(key="other") == []
