"""The bodies of the authentication calls, and users, sessions and keys as they answer them."""

from collections.abc import Iterator
from typing import Any

from rest_framework import serializers

from apps.accounts import email_addresses, passwords, tokens
from apps.accounts.api_keys import KeyScope
from apps.accounts.models import ApiKey, LoginSession, User
from apps.core.api.serializers import (
    Body,
    FlagField,
    ListField,
    MomentField,
    SecretField,
    TextField,
)
from apps.core.errors import Fault, InvalidInput


class AddressField(serializers.Field[str, str, str, Any]):
    """An e-mail address, exactly as sent: blanks around it are refused."""

    def to_internal_value(self, data: object) -> str:
        if not isinstance(data, str) or not email_addresses.is_valid(data):
            raise serializers.ValidationError("is not an e-mail address")
        return data


class SignUpBody(Body):
    email = AddressField()
    password = SecretField(min_length=passwords.MIN_LENGTH, max_length=passwords.MAX_LENGTH)
    name = TextField(max_length=100)


class LogInBody(Body):
    """Any two strings that are not empty: a pair that cannot be right is wrong, not malformed."""

    email = SecretField()
    password = SecretField()
    sessionCookie = FlagField(required=False)


class ProfileBody(Body):
    name = TextField(max_length=100, required=False)


class PasswordBody(Body):
    currentPassword = SecretField()
    newPassword = SecretField(min_length=passwords.MIN_LENGTH, max_length=passwords.MAX_LENGTH)


class KeyBody(Body):
    name = TextField(max_length=100)
    scopes = ListField()
    expiresAt = MomentField(required=False, allow_null=True)


def key_in(data: Any) -> dict[str, Any]:
    """What `services.create_key` takes. Any: as with `Body.read`."""
    body = KeyBody.read(data)
    faults = list(_faults_of(body["scopes"]))
    if faults:
        raise InvalidInput(*faults)
    return {
        "name": body["name"],
        "allowed": [KeyScope(str(scope)) for scope in body["scopes"]],
        "expires_at": body.get("expiresAt"),
    }


def _faults_of(named: list[object]) -> Iterator[Fault]:
    known = [scope.value for scope in KeyScope]
    if not 1 <= len(named) <= len(known):
        yield Fault("scopes", f"must name 1 to {len(known)} scopes", named, known)
        return
    for place, scope in enumerate(named):
        if scope not in known:
            yield Fault(f"scopes[{place}]", "is not one of the allowed values", scope, known)
        elif scope in named[:place]:
            yield Fault(f"scopes[{place}]", "stands twice", scope, known)


def new_user_out(user: User) -> dict[str, object]:
    return {**_identity(user), "createdAt": user.created_at}


def known_user_out(user: User) -> dict[str, object]:
    return {**_identity(user), "role": user.role}


def profile_out(user: User) -> dict[str, object]:
    return {**_identity(user), "role": user.role, "createdAt": user.created_at}


def _identity(user: User) -> dict[str, object]:
    return {
        "id": user.pk,
        "email": user.email,
        "name": user.name,
        "emailVerified": user.email_verified,
    }


def access_out(access_token: str) -> dict[str, object]:
    return {
        "accessToken": access_token,
        "expiresIn": int(tokens.ACCESS_LIFETIME.total_seconds()),
    }


def session_out(session: LoginSession, current: LoginSession) -> dict[str, object]:
    return {
        "id": session.pk,
        "createdAt": session.created_at,
        "lastUsedAt": session.last_used_at,
        "address": session.address,
        "userAgent": session.user_agent,
        "current": session.pk == current.pk,
    }


def key_out(key: ApiKey) -> dict[str, object]:
    return {
        "id": key.pk,
        "name": key.name,
        "scopes": key.scopes,
        "lastFour": key.last_four,
        "createdAt": key.created_at,
        "lastUsedAt": key.last_used_at,
        "expiresAt": key.expires_at,
    }
