"""Ended rows are deleted after a month, in batches."""

from datetime import timedelta

import pytest
from django.contrib.sessions.models import Session as BrowserSession

from apps.accounts.credentials.api_keys import KeyScope
from apps.accounts.login import services, tokens
from apps.accounts.models import ApiKey, LoginSession, SessionEndReason, User
from apps.accounts.own_data import retention
from tests import make

DAY = timedelta(days=1)


def session(user: User, *, opened: int, ended: int | None = None) -> LoginSession:
    """Return a session opened, and perhaps ended, this many days ago."""
    made = tokens.issue(user=user, now=make.NOW - opened * DAY, address=None, user_agent="").session
    if ended is not None:
        row = LoginSession.objects.filter(pk=made.pk)
        services.end(row, reason=SessionEndReason.LOGOUT, now=make.NOW - ended * DAY)
    return made


def key(user: User, *, expired: int | None = None, revoked: int | None = None) -> ApiKey:
    """Return a key that expired or was revoked this many days ago."""
    made, _ = services.create_key(
        user=user,
        name="A key",
        scopes=[KeyScope.READ],
        expires_at=None if expired is None else make.NOW - expired * DAY,
        now=make.NOW - 100 * DAY,
    )
    if revoked is not None:
        services.revoke_key(user=user, key_id=made.pk, now=make.NOW - revoked * DAY)
    return made


def test_sessions_go_a_month_after_their_end(alice: User) -> None:
    session(alice, opened=60)
    session(alice, opened=36, ended=31)
    kept = {
        session(alice, opened=1).pk,
        session(alice, opened=30).pk,
        session(alice, opened=34, ended=29).pk,
    }
    assert retention.purge(now=make.NOW) == 2
    assert set(LoginSession.objects.values_list("pk", flat=True)) == kept


def test_keys_go_a_month_after_their_last_use_is_over(alice: User) -> None:
    key(alice, expired=31)
    key(alice, revoked=31)
    kept = {key(alice).pk, key(alice, expired=29).pk, key(alice, revoked=29).pk}
    assert retention.purge(now=make.NOW) == 2
    assert set(ApiKey.objects.values_list("pk", flat=True)) == kept


def test_a_browsers_session_goes_when_it_expires(db: None) -> None:
    BrowserSession.objects.create(session_key="a" * 32, expire_date=make.NOW - DAY)
    BrowserSession.objects.create(session_key="b" * 32, expire_date=make.NOW + DAY)
    assert retention.purge(now=make.NOW) == 1
    assert BrowserSession.objects.get().session_key == "b" * 32


def test_many_go_batch_by_batch(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("apps.core.database.batches.BATCH", 2)
    for _ in range(5):
        session(alice, opened=60)
    assert retention.purge(now=make.NOW) == 5
    assert not LoginSession.objects.exists()
