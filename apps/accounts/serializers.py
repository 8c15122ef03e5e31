"""The bodies of the authentication calls, and the user as they answer it."""

from typing import Any

from rest_framework import serializers

from apps.accounts import addresses, passwords, tokens
from apps.accounts.models import User
from apps.core.input import Body, SecretField, TextField


class AddressField(serializers.Field[str, str, str, Any]):
    """An e-mail address, exactly as sent: blanks around it are refused."""

    def to_internal_value(self, data: object) -> str:
        if not isinstance(data, str) or not addresses.is_address(data):
            raise serializers.ValidationError("is not an e-mail address")
        return data


class SignUpBody(Body):
    email = AddressField()
    password = SecretField(min_length=passwords.LEAST, max_length=passwords.MOST)
    name = TextField(max_length=100)


class LogInBody(Body):
    """Any two strings that are not empty: a pair that cannot be right is wrong, not malformed."""

    email = SecretField()
    password = SecretField()


class ProfileBody(Body):
    name = TextField(max_length=100, required=False)


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
