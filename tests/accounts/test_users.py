"""Users as rows, and the command that makes the first admin."""

import pytest
from django.contrib.auth.hashers import Argon2PasswordHasher
from django.core.exceptions import ValidationError
from django.core.management import CommandError, call_command
from django.db import IntegrityError

from apps.accounts.hashers import LeanArgon2PasswordHasher
from apps.accounts.models import Session, User
from apps.accounts.passwords import LengthValidator
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


def test_createsuperuser_refuses_what_is_no_address(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises((CommandError, ValidationError), match="valid e-mail address"):
        create_superuser(monkeypatch, "ada@[127.0.0.1]")


def test_the_database_keeps_addresses_in_lower_case(alice: User) -> None:
    with pytest.raises(IntegrityError, match="email_is_stored_in_lower_case"):
        User.objects.filter(pk=alice.pk).update(email="Alice@example.com")


def test_the_database_wants_a_reason_for_every_end(alice: User) -> None:
    session = Session(user=alice, created_at=make.NOW, last_used_at=make.NOW)
    session.expires_at = session.rotated_at = session.ended_at = make.NOW
    with pytest.raises(IntegrityError, match="an_ended_session_says_why"):
        session.save()


def test_a_hash_costs_what_owasp_recommends() -> None:
    encoded = LeanArgon2PasswordHasher().encode("monsoon-2026", "0123456789abcdef")
    assert encoded.startswith("argon2$argon2id$v=19$m=7168,t=5,p=1$")


@pytest.mark.parametrize(("memory", "lanes"), [(7168, 1), (1024, 8)])
def test_a_hash_that_another_library_has_made_is_compared(memory: int, lanes: int) -> None:
    other = Argon2PasswordHasher()
    other.memory_cost, other.parallelism = memory, lanes
    encoded = other.encode("m\u00f6nsoon\0", other.salt())
    assert LeanArgon2PasswordHasher().verify("m\u00f6nsoon\0", encoded)
    assert not LeanArgon2PasswordHasher().verify("m\u00f6nsoon", encoded)
    assert other.verify("monsoon", LeanArgon2PasswordHasher().encode("monsoon", "0" * 16))


@pytest.mark.parametrize("password", ["x" * 8, "x" * 128])
def test_a_password_has_8_to_128_characters(password: str) -> None:
    LengthValidator().validate(password)


@pytest.mark.parametrize("password", ["", "x" * 7, "x" * 129])
def test_a_shorter_or_longer_one_is_refused(password: str) -> None:
    with pytest.raises(ValidationError, match="8 to 128"):
        LengthValidator().validate(password)
