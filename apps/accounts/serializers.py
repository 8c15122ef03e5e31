"""Accounts on the wire: users, the tokens of a login, sessions and API keys."""

from typing import Any, Final

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.serializers import BooleanField, CharField, IntegerField

from apps.accounts import email_addresses, passwords
from apps.accounts.api_keys import KeyScope
from apps.accounts.models import Role
from apps.core.api.schema import ID_EXAMPLE, MOMENT_EXAMPLE, example
from apps.core.api.serializers import (
    AnswerSerializer,
    ChoiceField,
    ChoiceSetField,
    FlagField,
    IdField,
    MomentField,
    SecretField,
    StrictSerializer,
    TextField,
)

_MAX_NAME: Final = 100
_SCOPES: Final = [scope.value for scope in KeyScope]
_PASSWORD: Final = "a long password"
_CREDENTIALS: Final = {"email": "trader@example.com", "password": _PASSWORD}
_USER: Final = {
    "id": ID_EXAMPLE,
    "email": "trader@example.com",
    "name": "A Trader",
    "emailVerified": False,
}
_ACCESS: Final = {"accessToken": "eyJhbGciOiJIUzI1NiJ9.e30.c2lnbmF0dXJl", "expiresIn": 900}
_KEY: Final = {
    "id": ID_EXAMPLE,
    "name": "Night runner",
    "scopes": ["read"],
    "lastFour": "x7Qk",
    "createdAt": MOMENT_EXAMPLE,
    "lastUsedAt": None,
    "expiresAt": None,
}


@extend_schema_field(
    {
        "type": "string",
        "format": "email",
        "pattern": "^[!-~]*$",
        "maxLength": email_addresses.MAX_ADDRESS_LENGTH,
    }
)
class AddressField(serializers.Field[str, str, str, Any]):
    """An e-mail address, exactly as sent: blanks around it are refused."""

    def to_internal_value(self, data: object) -> str:
        if not isinstance(data, str) or not email_addresses.is_valid(data):
            raise serializers.ValidationError("is not an e-mail address")
        return data


class AccountBodySerializer(StrictSerializer):
    """The base of the account's bodies, which ignore keys that they do not know."""

    refuses_unknown = False


@example({**_CREDENTIALS, "name": "A Trader"})
class SignUpSerializer(AccountBodySerializer):
    email = AddressField(help_text="Without a quoted name or a bare IP address.")
    password = SecretField(
        min_length=passwords.MIN_PASSWORD_LENGTH,
        max_length=passwords.MAX_PASSWORD_LENGTH,
        help_text="Chosen by the user.",
    )
    name = TextField(max_length=_MAX_NAME, help_text="What to call the user.")


@example(_CREDENTIALS, **{"From a browser": {**_CREDENTIALS, "sessionCookie": True}})
class LogInSerializer(AccountBodySerializer):
    """Any two strings that are not empty: a pair that cannot be right is wrong, not malformed."""

    email = SecretField(help_text="As at sign-up; case does not count.")
    password = SecretField(help_text="As chosen.")
    sessionCookie = FlagField(
        required=False, help_text="Whether a browser is signed in by a cookie, too."
    )


@example({"name": "A Trader"})
class ProfileChangeSerializer(AccountBodySerializer):
    name = TextField(max_length=_MAX_NAME, required=False, help_text="What to call the user.")


@example({"currentPassword": _PASSWORD, "newPassword": "a longer password"})
class PasswordChangeSerializer(AccountBodySerializer):
    currentPassword = SecretField(help_text="The password until now.")
    newPassword = SecretField(
        min_length=passwords.MIN_PASSWORD_LENGTH,
        max_length=passwords.MAX_PASSWORD_LENGTH,
        help_text="The password from now on.",
    )


@example(
    {"name": "Night runner", "scopes": ["read"]},
    **{"Until a day": {"name": "Trial", "scopes": ["read"], "expiresAt": "2027-01-31T18:30:00Z"}},
)
class NewKeySerializer(AccountBodySerializer):
    name = TextField(max_length=_MAX_NAME, help_text="For its owner to tell it from others.")
    scopes = ChoiceSetField(choices=_SCOPES, help_text="What it allows; no scope includes another.")
    expiresAt = MomentField(
        required=False, allow_null=True, help_text="In the future; null and absent: never."
    )


class IdentitySerializer(AnswerSerializer):
    """A user, as every answer shows one."""

    id = IdField()
    email = CharField()
    name = CharField()
    emailVerified = BooleanField()


class NewUserSerializer(IdentitySerializer):
    """A user who has just signed up."""

    createdAt = MomentField()


class KnownUserSerializer(IdentitySerializer):
    """A user who has logged in."""

    role = ChoiceField(choices=[role.value for role in Role])


@example({**_USER, "role": "user", "createdAt": MOMENT_EXAMPLE})
class ProfileSerializer(KnownUserSerializer):
    """The user who calls."""

    createdAt = MomentField()


class AccessSerializer(AnswerSerializer):
    """An access token."""

    accessToken = CharField()
    expiresIn = IntegerField(help_text="Seconds.")


@example({"success": True, "message": "Logged out."})
class DoneSerializer(AnswerSerializer):
    """That it is done."""

    success = BooleanField()
    message = CharField()


@example(
    {
        "success": True,
        "message": "Welcome.",
        "user": {**_USER, "createdAt": MOMENT_EXAMPLE},
        **_ACCESS,
    }
)
class SignedUpSerializer(DoneSerializer, AccessSerializer):
    """The new user and an access token."""

    user = NewUserSerializer()


@example({"success": True, "message": "Logged in.", "user": {**_USER, "role": "user"}, **_ACCESS})
class LoggedInSerializer(DoneSerializer, AccessSerializer):
    """The user and an access token."""

    user = KnownUserSerializer()


@example({"success": True, **_ACCESS})
class RenewedSerializer(AccessSerializer):
    """A new access token."""

    success = BooleanField()


@example(
    {
        "id": ID_EXAMPLE,
        "createdAt": MOMENT_EXAMPLE,
        "lastUsedAt": MOMENT_EXAMPLE,
        "address": "127.0.0.1",
        "userAgent": "curl/8.5.0",
        "current": True,
    }
)
class SessionSerializer(AnswerSerializer):
    """A login of the user's, from `services.live_sessions`."""

    id = IdField()
    createdAt = MomentField()
    lastUsedAt = MomentField()
    address = CharField()
    userAgent = CharField()
    current = BooleanField()


@example(_KEY)
class KeySerializer(AnswerSerializer):
    """An API key, without its text."""

    id = IdField()
    name = CharField()
    scopes = ChoiceSetField(choices=_SCOPES)
    lastFour = CharField()
    createdAt = MomentField()
    lastUsedAt = MomentField(allow_null=True)
    expiresAt = MomentField(allow_null=True)


@example({**_KEY, "key": "atk_examplexampleexamplexampleexamplex7Qk"})
class CreatedKeySerializer(KeySerializer):
    """An API key with its text."""

    key = CharField(help_text="The key itself, shown this once.")
