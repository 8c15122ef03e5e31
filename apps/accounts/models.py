"""Users, their login sessions, and the API keys of their programs."""

import secrets
from datetime import datetime
from enum import StrEnum
from typing import ClassVar, Final

from django.contrib.auth.base_user import AbstractBaseUser, BaseUserManager
from django.contrib.auth.password_validation import validate_password
from django.db import models
from django.db.models import F, Q
from django.db.models.functions import Lower
from django.utils import timezone

from apps.accounts.credentials import email_addresses, passwords
from apps.accounts.credentials.api_keys import KeyScope
from apps.core.database import IdField
from apps.core.errors import Code, ServiceError


class Role(StrEnum):
    """The permissions of a user beyond their own resources, in rising order."""

    USER = "user"
    OPERATOR = "operator"
    ADMIN = "admin"


class UserManager(BaseUserManager["User"]):
    """The manager that Django requires, for `createsuperuser` and the admin's login."""

    def create_user(
        self, *, email: str, password: str | None, name: str, now: datetime, **flags: bool
    ) -> "User":
        user = self.model(
            email=email_addresses.normalize_address(email), name=name, created_at=now, **flags
        )
        user.set_password(password)
        user.save(force_insert=True)
        return user

    def create_superuser(self, *, email: str, name: str, password: str | None = None) -> "User":
        """Create an admin, for the command of the same name, which passes no clock.

        Raises ValidationError for a password that only ordinary users may have.
        """
        if password is not None:
            validate_password(password, self.model(email=email, name=name, is_staff=True))
        return self.create_user(
            email=email,
            password=password,
            name=name,
            now=timezone.now(),
            is_staff=True,
            is_superuser=True,
        )

    def get_by_natural_key(self, username: str | None) -> "User":
        """Return the user with this address. Raises DoesNotExist."""
        return self.get(email=email_addresses.normalize_address(username or ""))

    def locked(self, user_id: str) -> "User | None":
        """Lock the user's row until this transaction ends."""
        return self.select_for_update(no_key=True).filter(pk=user_id).first()


class User(AbstractBaseUser):
    """A person, identified by an e-mail address.

    Staff are operators: all pages of the admin are open to them, and each page limits its changes.
    """

    last_login = None  # each login is a LoginSession

    id = IdField()
    email = models.CharField(
        max_length=email_addresses.MAX_ADDRESS_LENGTH,
        unique=True,
        validators=[email_addresses.validate_address],
    )
    name = models.CharField(max_length=100)
    display_name = models.CharField(
        max_length=100, blank=True, help_text="what others see beside public templates"
    )
    email_verified = models.BooleanField(default=False)
    is_active = models.BooleanField(default=True)
    is_staff = models.BooleanField(default=False)
    is_superuser = models.BooleanField(default=False)
    password_fits_operators = models.BooleanField(
        default=False,
        db_default=False,
        editable=False,
        help_text="whether the password meets the rules for operators",
    )
    created_at = models.DateTimeField()
    erase_at = models.DateTimeField(
        null=True,
        editable=False,
        db_index=True,
        help_text="of a closed account: when its personal data are erased",
    )

    USERNAME_FIELD = "email"
    REQUIRED_FIELDS = ["name"]

    objects: ClassVar[UserManager] = UserManager()

    class Meta:
        constraints = [
            # With the unique column beside it: addresses compare without case.
            models.CheckConstraint(
                condition=Q(email=Lower(F("email"))), name="email_is_stored_in_lower_case"
            ),
        ]

    @property
    def role(self) -> Role:
        if self.is_superuser:
            return Role.ADMIN
        return Role.OPERATOR if self.is_staff else Role.USER

    def set_password(self, raw_password: str | None) -> None:
        """Hash the password, and store whether it meets the rules for operators."""
        super().set_password(raw_password)
        self.password_fits_operators = raw_password is not None and passwords.is_fit_for_operators(
            raw_password, self
        )

    def has_perm(self, perm: str, obj: object = None) -> bool:
        return self.is_active and self.is_staff

    def has_module_perms(self, app_label: str) -> bool:
        return self.is_active and self.is_staff


class SessionEndReason(models.TextChoices):
    """The reason why a session ended early."""

    LOGOUT = "logout"
    REVOKED = "revoked"  # by the user, in the list of sessions
    PASSWORD = "password"  # the user has changed the password in another session
    LIMIT = "limit"  # the user has opened too many since
    REUSE = "reuse"  # a replaced refresh token was used again: two parties hold it
    OPERATOR = "operator"
    GUESSING = "guessing"  # too many wrong passwords were tried with its token
    CLOSED = "closed"  # the user has closed the account


class SessionEnded(ServiceError):
    code = Code.UNAUTHORIZED
    message = "This session has ended; log in again."


class SessionQuerySet(models.QuerySet["LoginSession"]):
    def live(self, *, now: datetime) -> "SessionQuerySet":
        return self.filter(ended_at=None, expires_at__gt=now)


def new_token_id() -> str:
    return secrets.token_hex(16)


class LoginSession(models.Model):
    """A login on a device. Both its tokens carry its id and are invalid once it ends.

    `token_id` and `rotated_at` are the id and the time of issue of the one valid refresh token,
    which can be signed again from them, byte for byte.
    """

    id = IdField()
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="sessions")
    created_at = models.DateTimeField()
    last_used_at = models.DateTimeField()
    expires_at = models.DateTimeField()
    token_id = models.CharField(max_length=32, default=new_token_id)
    previous_token_id = models.CharField(max_length=32, blank=True)
    rotated_at = models.DateTimeField()
    ended_at = models.DateTimeField(null=True)
    end_reason = models.CharField(max_length=20, choices=SessionEndReason, blank=True)
    # When its user last proved who they are, by logging in or by password and code.
    proved_at = models.DateTimeField(null=True)
    wrong_passwords = models.PositiveSmallIntegerField(default=0)
    address = models.GenericIPAddressField(null=True)
    user_agent = models.CharField(max_length=200, blank=True)
    ends_when_idle = models.BooleanField(
        default=False, db_default=False, help_text="whether each use moves `expires_at` on"
    )

    objects: ClassVar[models.Manager["LoginSession"]] = SessionQuerySet.as_manager()
    audited_as: Final = "session"

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(ended_at=None, end_reason="")
                | Q(ended_at__isnull=False) & ~Q(end_reason=""),
                name="an_ended_session_says_why",
            ),
        ]

    def is_live(self, *, now: datetime) -> bool:
        return self.ended_at is None and now < self.expires_at and self.user.is_active

    @staticmethod
    def live_ids(user_id: str, *, now: datetime) -> list[str]:
        """Return the ids of a user's live sessions, the newest first."""
        live = LoginSession.objects.filter(user_id=user_id, ended_at=None, expires_at__gt=now)
        return list(live.order_by("-created_at", "-pk").values_list("pk", flat=True))


class ApiKeyQuerySet(models.QuerySet["ApiKey"]):
    def usable(self, *, now: datetime) -> "ApiKeyQuerySet":
        return self.filter(Q(expires_at=None) | Q(expires_at__gt=now), revoked_at=None)


class ApiKey(models.Model):
    """A credential for a program that runs unattended. Its text is shown once and not stored."""

    id = IdField()
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="keys")
    name = models.CharField(max_length=100)
    scopes = models.JSONField()
    digest = models.CharField(max_length=64, unique=True)
    last_four = models.CharField(max_length=4)
    created_at = models.DateTimeField()
    last_used_at = models.DateTimeField(null=True)
    last_address = models.GenericIPAddressField(null=True)
    expires_at = models.DateTimeField(null=True)
    revoked_at = models.DateTimeField(null=True)
    networks = models.JSONField(default=list, help_text="from which it is accepted; none: from all")

    objects: ClassVar[models.Manager["ApiKey"]] = ApiKeyQuerySet.as_manager()

    class Meta:
        verbose_name = "API key"
        constraints = [
            models.CheckConstraint(
                condition=Q(scopes__contained_by=[scope.value for scope in KeyScope])
                & ~Q(scopes=[]),
                name="a_key_has_known_scopes",
            ),
        ]

    def is_expired(self, *, now: datetime) -> bool:
        return self.expires_at is not None and self.expires_at <= now


class StreamSlot(models.Model):
    """A slot among the event streams of a session or a key, while it is renewed."""

    session = models.ForeignKey(LoginSession, models.CASCADE, null=True, related_name="streams")
    key = models.ForeignKey(ApiKey, models.CASCADE, null=True, related_name="streams")
    kept_until = models.DateTimeField()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(session=None, key__isnull=False) | Q(session__isnull=False, key=None),
                name="a_stream_is_of_a_session_or_a_key",
            ),
        ]

    def __str__(self) -> str:
        return f"Stream of {self.session_id or self.key_id}"


class LoginNetwork(models.Model):
    """A network from which a user has logged in.

    Strangers' guesses do not lock the user out there.
    """

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="networks")
    network = models.CharField(max_length=43)
    last_login_at = models.DateTimeField(db_index=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "network"], name="a_network_stands_once"),
        ]


class SecondFactor(models.Model):
    """The secret of a user's one-time codes (RFC 6238). It takes effect once it is confirmed."""

    user = models.OneToOneField(
        User, on_delete=models.CASCADE, primary_key=True, related_name="second_factor"
    )
    secret = models.BinaryField()  # encrypted
    created_at = models.DateTimeField()
    confirmed_at = models.DateTimeField(null=True)
    # The time step of the code that was used last: no code is accepted twice.
    last_step = models.BigIntegerField(default=0)


class RecoveryCode(models.Model):
    """A code that replaces a one-time code, once. Its text is shown once and not stored."""

    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="recovery_codes")
    digest = models.CharField(max_length=64)
    used_at = models.DateTimeField(null=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user", "digest"], name="a_recovery_code_stands_once"),
        ]


class LinkPurpose(models.TextChoices):
    """The purpose of a link in a mail."""

    VERIFY = "verify"  # the address is the user's
    RESET = "reset"  # a new password
    LEAVE_ADDRESS = "leave_address"  # the old address agrees to a new one
    TAKE_ADDRESS = "take_address"  # the new address is the user's


class EmailLink(models.Model):
    """A link in a mail, valid once. Its address is the signed id of this row."""

    id = IdField()
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="email_links")
    purpose = models.CharField(max_length=20, choices=LinkPurpose)
    email = models.CharField(
        max_length=email_addresses.MAX_ADDRESS_LENGTH, help_text="where it was sent"
    )
    new_email = models.CharField(max_length=email_addresses.MAX_ADDRESS_LENGTH, blank=True)
    created_at = models.DateTimeField()
    expires_at = models.DateTimeField(db_index=True)
    used_at = models.DateTimeField(null=True)


class DataExport(models.Model):
    """The archive of all data stored about a user, available to the user for a day."""

    id = IdField()
    user = models.ForeignKey(User, on_delete=models.CASCADE, related_name="exports")
    created_at = models.DateTimeField()
    ready_at = models.DateTimeField(null=True)
    expires_at = models.DateTimeField(db_index=True)
    size = models.BigIntegerField(default=0, db_default=0, help_text="Bytes of the archive")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["user"], name="a_user_has_one_export"),
        ]


class ExportChunk(models.Model):
    """A megabyte of an archive. Backups leave it out, and so does the archive itself."""

    is_copy_of_data: ClassVar = True

    export = models.ForeignKey(DataExport, on_delete=models.CASCADE, related_name="chunks")
    number = models.PositiveIntegerField()
    data = models.BinaryField()

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["export", "number"], name="a_chunk_stands_once"),
        ]

    def __str__(self) -> str:
        return f"chunk {self.number} of {self.export_id}"
