"""Accounts on the wire: users, the tokens of a login, sessions, API keys, the second factor."""

from typing import Any, Final

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.serializers import BooleanField, CharField, IntegerField

from apps.accounts.credentials import email_addresses, passwords
from apps.accounts.credentials.api_keys import KeyScope
from apps.accounts.models import Role
from apps.accounts.own_data.activity import SECURITY_ACTIONS, ActivityDetails
from apps.core.api.resources import (
    AnswerSerializer,
    ChoiceField,
    ChoiceSetField,
    FlagField,
    IdTextField,
    MomentField,
    RecordField,
    SecretField,
    StrictSerializer,
    TextField,
    example,
)
from apps.core.audit import ActorKind
from apps.core.limits import Resource
from apps.core.requests import read_network

_MAX_NAME: Final = 100
MAX_CODE: Final = 40
MAX_NETWORKS: Final = 20
_SCOPES: Final = [scope.value for scope in KeyScope]
_SCOPES_HELP: Final = (
    "The permissions of the key; no scope includes another. `read`: every GET, and the check of a"
    " symbol; `backtest`: every other call under /api/backtests; `trade`: all others."
)


@extend_schema_field(
    {
        "type": "string",
        "format": "email",
        "pattern": "^[!-~]*$",
        "maxLength": email_addresses.MAX_ADDRESS_LENGTH,
    }
)
class AddressField(serializers.Field[str, str, str, Any]):
    """An e-mail address, exactly as sent: spaces around it are refused."""

    def to_internal_value(self, data: object) -> str:
        if not isinstance(data, str) or not email_addresses.is_valid(data):
            raise serializers.ValidationError("is not an e-mail address")
        return data


@extend_schema_field(
    {
        "type": "array",
        "items": {"type": "string", "maxLength": 43, "example": "203.0.113.0/24"},
        "maxItems": MAX_NETWORKS,
    }
)
class NetworkListField(serializers.Field[list[str], Any, Any, Any]):
    """Networks in CIDR notation; a single address is a network of one."""

    def to_internal_value(self, data: object) -> list[str]:
        if not isinstance(data, list) or len(data) > MAX_NETWORKS:
            raise serializers.ValidationError(f"must be a list of at most {MAX_NETWORKS} networks")
        errors: dict[str, list[str]] = {}
        networks = []
        for index, text in enumerate(data):
            try:
                networks.append(read_network(text if isinstance(text, str) else ""))
            except ValueError:
                errors[str(index)] = ["is not a network in CIDR notation, such as 203.0.113.0/24"]
        if errors:
            raise serializers.ValidationError(errors)
        return networks

    def to_representation(self, value: list[str]) -> list[str]:
        return value


class AccountBodySerializer(StrictSerializer):
    """The base of the account's bodies, which ignore unknown keys."""

    refuses_unknown = False


@example
class SignUpSerializer(AccountBodySerializer):
    email = AddressField(
        help_text="Such as name@example.com; no quoted name, no IP address after the @."
    )
    password = SecretField(
        min_length=passwords.MIN_PASSWORD_LENGTH,
        max_length=passwords.MAX_PASSWORD_LENGTH,
        help_text="Chosen by the user.",
    )
    name = TextField(max_length=_MAX_NAME, help_text="The user's name.")


@example
class LogInSerializer(AccountBodySerializer):
    """Any two non-empty strings: impossible pairs get the same answer as wrong ones."""

    email = SecretField(help_text="The address from sign-up; case does not count.")
    password = SecretField(help_text="The password of the account.")
    sessionCookie = FlagField(
        required=False, help_text="Whether a browser is signed in by a cookie, too."
    )
    code = SecretField(
        max_length=MAX_CODE,
        required=False,
        help_text="For an account with two-factor authentication: a one-time or recovery code.",
    )


@example
class ProfileChangeSerializer(AccountBodySerializer):
    name = TextField(max_length=_MAX_NAME, required=False, help_text="The user's name.")
    displayName = TextField(
        max_length=_MAX_NAME,
        required=False,
        allow_blank=True,
        help_text="The name that other users see with public templates.",
    )


@example
class ProofSerializer(AccountBodySerializer):
    password = SecretField(help_text="The account's password.")
    code = SecretField(
        max_length=MAX_CODE,
        required=False,
        help_text="For an account with two-factor authentication: a one-time or recovery code.",
    )


@example
class ResetRequestSerializer(AccountBodySerializer):
    email = AddressField(help_text="The address of the account.")


@example
class AddressChangeSerializer(AccountBodySerializer):
    email = AddressField(help_text="The new address.")


@example
class CodeSerializer(AccountBodySerializer):
    code = SecretField(max_length=MAX_CODE, help_text="The code that the authenticator shows.")


@example
class PasswordChangeSerializer(AccountBodySerializer):
    currentPassword = SecretField(help_text="The password until now.")
    newPassword = SecretField(
        min_length=passwords.MIN_PASSWORD_LENGTH,
        max_length=passwords.MAX_PASSWORD_LENGTH,
        help_text="The password from now on.",
    )


@example
class NewKeySerializer(AccountBodySerializer):
    name = TextField(max_length=_MAX_NAME, help_text="A name for the owner to recognise it.")
    scopes = ChoiceSetField(choices=_SCOPES, help_text=_SCOPES_HELP)
    expiresAt = MomentField(
        required=False,
        allow_null=True,
        help_text=(
            "A time in the future. Null: the key never expires. Absent: it expires in 90 days."
        ),
    )
    networks = NetworkListField(
        required=False, help_text="The networks that may use the key; empty or absent: all."
    )


class IdentitySerializer(AnswerSerializer):
    """A user, as in every answer."""

    id = IdTextField()
    email = CharField()
    name = CharField()
    emailVerified = BooleanField()


class NewUserSerializer(IdentitySerializer):
    """A user who has just signed up."""

    createdAt = MomentField()


class KnownUserSerializer(IdentitySerializer):
    """A user who has logged in."""

    role = ChoiceField(
        choices=[role.value for role in Role],
        help_text="`operator`: may also send candles and files, and use the admin; `admin`: may"
        " also make operators.",
    )


@example
class ProfileSerializer(KnownUserSerializer):
    """The user who calls."""

    displayName = CharField(help_text="The name that other users see with public templates.")
    createdAt = MomentField()


class AccessSerializer(AnswerSerializer):
    """An access token."""

    accessToken = CharField()
    expiresIn = IntegerField(help_text="Seconds.")


@example
class DoneSerializer(AnswerSerializer):
    """A confirmation."""

    success = BooleanField()
    message = CharField()


@example
class SignedUpSerializer(DoneSerializer, AccessSerializer):
    """The new user and an access token."""

    user = NewUserSerializer()


@example
class LoggedInSerializer(DoneSerializer, AccessSerializer):
    """The user and an access token."""

    user = KnownUserSerializer()


@example
class PasswordChangedSerializer(DoneSerializer, AccessSerializer):
    """An access token of the session that replaces the caller's."""


@example
class TwoFactorSerializer(AnswerSerializer):
    """The state of two-factor authentication."""

    enabled = BooleanField()
    since = MomentField(allow_null=True, help_text="When it was turned on; null while it is off.")
    recoveryCodesLeft = IntegerField()


@example
class FactorSecretSerializer(AnswerSerializer):
    """A new secret, for an authenticator."""

    uri = CharField(help_text="The URI for the authenticator, usually shown as a QR code.")


@example
class RecoveryCodesSerializer(AnswerSerializer):
    """Recovery codes, each of which replaces a one-time code once. They are shown this once."""

    recoveryCodes = serializers.ListField(child=CharField())


@example
class ActivitySerializer(AnswerSerializer):
    """An event of the account's security."""

    at = MomentField()
    action = ChoiceField(choices=[action.value for action in SECURITY_ACTIONS])
    by = ChoiceField(
        choices=[kind.value for kind in ActorKind],
        source="actor_kind",
        help_text="`user`: also somebody who has not logged in; `operator`: in the user's place;"
        " `system`: the service itself; `command`: on the machine's command line.",
    )
    address = CharField(help_text="The address of the client; empty without one.")
    details = RecordField(ActivityDetails)


@example
class ExportSerializer(AnswerSerializer):
    """An archive of the user's data."""

    id = IdTextField()
    createdAt = MomentField()
    readyAt = MomentField(allow_null=True, help_text="Null while it is being made.")
    expiresAt = MomentField(
        help_text="24 hours after it is ready; until then, 24 hours after it was asked for."
    )
    archive = CharField(source="pk", help_text="The path of the call that fetches it.")

    def to_representation(self, instance: Any) -> dict[str, Any]:
        shown: dict[str, Any] = super().to_representation(instance)
        return {**shown, "archive": f"/api/auth/export/{instance.pk}/archive"}


class ResourceUsageSerializer(AnswerSerializer):
    """The limit and the use of one resource of the account."""

    resource = ChoiceField(
        choices=[resource.value for resource in Resource],
        help_text="The counted resource; `backtestBytes` counts the bytes of stored results,"
        " `alertBytes` those of alerts that came today.",
    )
    limit = IntegerField(help_text="How much of it the account may have.")
    used = IntegerField(help_text="How much of it the account has.")


@example
class LimitsSerializer(AnswerSerializer):
    """The limits of the account."""

    limits = ResourceUsageSerializer(many=True)


@example
class RenewedSerializer(AccessSerializer):
    """A new access token."""

    success = BooleanField()


@example
class SessionSerializer(AnswerSerializer):
    """A live login of the user."""

    id = IdTextField()
    createdAt = MomentField()
    lastUsedAt = MomentField(help_text="To a minute.")
    address = CharField(
        allow_null=True, help_text="The address of the client at login; null without one."
    )
    userAgent = CharField(help_text="The User-Agent of the client, the first 200 characters.")
    current = BooleanField(help_text="Whether it is the session of this call.")


@example
class KeySerializer(AnswerSerializer):
    """An API key, without its text."""

    id = IdTextField()
    name = CharField()
    scopes = ChoiceSetField(choices=_SCOPES, help_text=_SCOPES_HELP)
    lastFour = CharField(help_text="The last four characters of its text.")
    createdAt = MomentField()
    lastUsedAt = MomentField(allow_null=True, help_text="To a minute; null before its first use.")
    lastAddress = CharField(allow_null=True)
    expiresAt = MomentField(allow_null=True, help_text="Null: never.")
    networks = NetworkListField(help_text="The networks that may use it; empty: all.")


@example
class CreatedKeySerializer(KeySerializer):
    """An API key with its text."""

    key = CharField(help_text="The key itself, shown this once.")
