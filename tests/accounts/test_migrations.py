"""Moving a database in which users are signed in from one release to the next."""

from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from apps.accounts.models import LoginSession, SessionEndReason
from tests import make

pytestmark = pytest.mark.slow


def migrate(name: str) -> Any:
    """The models as they stand after it."""
    return MigrationExecutor(connection).migrate([("accounts", name)]).apps


@pytest.mark.django_db(transaction=True)
def test_who_is_signed_in_logs_in_again() -> None:
    """No test transaction around it: the migration has to commit with rows of its own making."""
    owner = make.user()
    old = migrate("0001_initial")
    try:
        times = dict.fromkeys(("created_at", "last_used_at", "expires_at"), make.NOW)
        sessions = old.get_model("accounts", "Session").objects
        ids = {sessions.create(user_id=owner.pk, **times).pk for _ in range(2)}
    finally:
        call_command("migrate", verbosity=0)  # what depends on it was taken back too
    ended = LoginSession.objects.filter(end_reason=SessionEndReason.OPERATOR).exclude(ended_at=None)
    assert {session.pk for session in ended} == ids
