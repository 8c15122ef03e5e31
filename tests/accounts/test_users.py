"""Users as rows, and the command that makes the first admin."""

import pytest
from django.contrib.auth.hashers import Argon2PasswordHasher
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.db import IntegrityError

from apps.accounts.credentials.passwords import LengthValidator, OwaspArgon2PasswordHasher
from apps.accounts.models import LoginSession, User
from tests import make


def create_superuser(monkeypatch: pytest.MonkeyPatch, email: str) -> None:
    monkeypatch.setenv("DJANGO_SUPERUSER_PASSWORD", make.PASSWORD)
    call_command("createsuperuser", "--noinput", "--email", email, "--name", "Ada", verbosity=0)


def test_createsuperuser_makes_an_admin(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    create_superuser(monkeypatch, "Ada@Example.com")
    ada = User.objects.get(email="ada@example.com")
    assert (ada.role, ada.name, ada.check_password(make.PASSWORD)) == ("admin", "Ada", True)


def test_createsuperuser_refuses_a_taken_address(
    alice: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(CommandError, match="already taken"):
        create_superuser(monkeypatch, "ALICE@example.com")


def test_createsuperuser_refuses_an_invalid_address(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises((CommandError, ValidationError), match="valid e-mail address"):
        create_superuser(monkeypatch, "ada@[127.0.0.1]")


def test_the_database_keeps_addresses_in_lower_case(alice: User) -> None:
    with pytest.raises(IntegrityError, match="email_is_stored_in_lower_case"):
        User.objects.filter(pk=alice.pk).update(email="Alice@example.com")


def test_the_database_wants_a_reason_for_every_end(alice: User) -> None:
    session = LoginSession(user=alice, created_at=make.NOW, last_used_at=make.NOW)
    session.expires_at = session.rotated_at = session.ended_at = make.NOW
    with pytest.raises(IntegrityError, match="an_ended_session_says_why"):
        session.save()


def test_a_hash_costs_as_much_as_owasp_recommends() -> None:
    hasher = OwaspArgon2PasswordHasher()
    encoded = hasher.encode("monsoon-2026", hasher.salt())
    assert encoded.startswith("argon2$argon2id$v=19$m=19456,t=2,p=1$")
    assert not hasher.must_update(encoded)


def test_a_hash_with_other_parameters_is_compared_and_due_to_be_replaced() -> None:
    """Earlier hashes were made with 7 MiB and five passes, by another library."""
    other = Argon2PasswordHasher()
    other.memory_cost, other.time_cost, other.parallelism = 7168, 5, 1
    encoded = other.encode("m\u00f6nsoon", other.salt())
    hasher = OwaspArgon2PasswordHasher()
    assert hasher.verify("m\u00f6nsoon", encoded)
    assert not hasher.verify("monsoon", encoded)
    assert hasher.must_update(encoded)


@pytest.mark.parametrize("password", ["x" * 8, "x" * 128])
def test_a_password_has_8_to_128_characters(password: str) -> None:
    LengthValidator().validate(password)


@pytest.mark.parametrize("password", ["", "x" * 7, "x" * 129])
def test_a_shorter_or_longer_password_is_refused(password: str) -> None:
    with pytest.raises(ValidationError, match="8 to 128"):
        LengthValidator().validate(password)
