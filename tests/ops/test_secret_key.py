"""SECRET_KEY changes: nothing encrypted is lost, and no machine starts with a foreign key."""

from io import StringIO

import pytest
from django.apps import apps
from django.core.exceptions import ImproperlyConfigured
from django.core.management import call_command
from django.core.management.base import CommandError
from django.db import models
from django.utils import timezone
from pytest_django import Settings
from rest_framework_simplejwt.backends import TokenBackend
from rest_framework_simplejwt.tokens import AccessToken, RefreshToken

from apps.accounts.login import tokens, two_factor
from apps.accounts.models import SecondFactor, User
from apps.core.database import encryption
from apps.core.models import AuditRecord, IdempotencyKey, InstalledKey
from apps.ops.database import secret_key
from apps.webhooks.models import Endpoint
from config.settings import fallback_keys, token_key
from tests import make
from tests.accounts.authenticator import authenticator, code_of
from tests.webhooks.events import endpoint_of

OLD, NEW, STRANGE = ("old key " * 8, "new key " * 8, "strange " * 8)

pytestmark = pytest.mark.django_db


def use(settings: Settings, key: str, *fallbacks: str) -> None:
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = key, list(fallbacks)


@pytest.fixture
def encrypted(settings: Settings, alice: User) -> Endpoint:
    """Make a webhook, a second factor and a stored response under the old key."""
    use(settings, OLD)
    secret_key.require_known(now=make.NOW)
    two_factor.begin_two_factor(user=alice, now=make.NOW)
    IdempotencyKey.objects.create(
        user_id=alice.pk,
        method="POST",
        path="/",
        key="k",
        fingerprint="",
        status=201,
        body=encryption.encrypt(b"{}"),
        expires_at=make.NOW,
    )
    return endpoint_of(alice, secret=encryption.encrypt(b"whsec"))


def rotate() -> str:
    said = StringIO()
    call_command("rotate_secret_key", stdout=said)
    return said.getvalue()


def readable(alice: User, endpoint: Endpoint) -> bool:
    endpoint.refresh_from_db()
    stored = IdempotencyKey.objects.get()
    try:
        encryption.decrypt(bytes(stored.body or b""))
        two_factor.pending_uri(alice)
        return encryption.decrypt(bytes(endpoint.secret)) == b"whsec"
    except encryption.DecryptionFailed:
        return False


def test_encrypted_values_are_read_with_a_fallback_and_rotated_to_the_new_key(
    settings: Settings, alice: User, encrypted: Endpoint
) -> None:
    use(settings, NEW)
    assert not readable(alice, encrypted)
    use(settings, NEW, OLD)
    assert readable(alice, encrypted)
    secret_key.require_known(now=make.NOW)
    assert InstalledKey.objects.get().fingerprint == encryption.key_fingerprint(OLD)
    said = rotate()
    assert "webhooks_endpoint.secret           1 encrypted anew" in said
    assert InstalledKey.objects.get().fingerprint == encryption.key_fingerprint(NEW)
    use(settings, NEW)
    assert readable(alice, encrypted)
    assert AuditRecord.objects.get(action="secret_key_rotated").actor_kind == "command"
    assert "0 encrypted anew" in rotate()  # again: nothing is left to do
    use(settings, OLD)
    assert not readable(alice, encrypted)


def test_a_secret_that_no_key_reads_is_left_and_counted(
    settings: Settings, alice: User, encrypted: Endpoint
) -> None:
    Endpoint.objects.update(secret=b"of another service")
    use(settings, NEW, OLD)
    assert "webhooks_endpoint.secret           0 encrypted anew, 1 unreadable" in rotate()
    encrypted.refresh_from_db()
    assert bytes(encrypted.secret) == b"of another service"


def test_a_machine_with_a_strange_key_does_not_start_and_says_why(
    settings: Settings, encrypted: Endpoint
) -> None:
    use(settings, STRANGE)
    with pytest.raises(ImproperlyConfigured, match="SECRET_KEY") as error:
        secret_key.require_known(now=make.NOW)
    for key in (OLD, STRANGE):
        assert encryption.key_fingerprint(key) in str(error.value)
        assert key not in str(error.value)
    with pytest.raises(CommandError, match="SECRET_KEY_FALLBACKS"):
        rotate()


def test_the_first_start_records_its_key(settings: Settings) -> None:
    use(settings, NEW)
    secret_key.require_known(now=make.NOW)
    secret_key.require_known(now=make.NOW)
    assert InstalledKey.objects.get().fingerprint == encryption.key_fingerprint(NEW)


def test_every_column_that_is_encrypted_is_rotated() -> None:
    """These models have unencrypted columns of bytes too."""
    plain = set(
        """
        accounts.ExportChunk backtests.BacktestResult backtests.TradeBlock backtests.Evidence
        backtests.ReportPage backtests.StudyShard market.CandleChunk market.ReplacedChunk
        trading.BarRow trading.RunState trading.SessionStart
    """.split()
    )
    encrypted = {
        (model, field.name)
        for model in apps.get_models()
        for field in model._meta.get_fields()
        if isinstance(field, models.BinaryField) and model._meta.label not in plain
    }
    assert encrypted == {(column.model, column.name) for column in secret_key.ENCRYPTED}


def test_sessions_outlive_a_change_of_the_key(settings: Settings, alice: User) -> None:
    now = timezone.now()
    session = tokens.issue(user=alice, now=now, address=None, user_agent="").session
    for token_type in (AccessToken, RefreshToken):
        token = token_type.for_user(alice)
        claims = {**token.payload, "sub": alice.pk, "sid": session.pk}
        text = TokenBackend("HS256", token_key(OLD)).encode(claims)
        settings.TOKEN_KEY_FALLBACKS = [token_key(STRANGE)]
        with pytest.raises(tokens.InvalidToken):
            tokens.read(text, token_type)
        settings.TOKEN_KEY_FALLBACKS = [token_key(STRANGE), token_key(OLD)]
        assert tokens.read(text, token_type).session_id == session.pk
        expired = TokenBackend("HS256", token_key(OLD)).encode({**claims, "exp": 1_000_000_000})
        with pytest.raises(tokens.TokenExpired):
            tokens.read(expired, token_type)


def test_recovery_codes_work_while_the_old_key_is_a_fallback(
    settings: Settings, alice: User
) -> None:
    use(settings, OLD)
    now = timezone.now()
    totp = authenticator(two_factor.begin_two_factor(user=alice, now=now))
    codes = two_factor.confirm_two_factor(user=alice, code=code_of(totp, -1), now=now)
    use(settings, NEW, OLD)
    rotate()
    assert two_factor.take_code(alice, codes[0], now=now)
    assert not two_factor.take_code(alice, codes[0], now=now)
    assert SecondFactor.objects.exists()


@pytest.mark.parametrize("text", ["short", f"{OLD},short"])
def test_a_fallback_that_is_too_short_is_refused(
    text: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_KEY_FALLBACKS", text)
    with pytest.raises(ImproperlyConfigured, match="SECRET_KEY_FALLBACKS"):
        fallback_keys()
