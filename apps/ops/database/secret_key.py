"""The SECRET_KEY of the database: every machine needs it to start, and it can be rotated."""

from collections.abc import Iterator
from datetime import datetime
from typing import Final, NamedTuple

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from django.db import transaction
from django.db.models import Model

from apps.accounts.models import SecondFactor
from apps.core import audit, database
from apps.core.models import IdempotencyKey, InstalledKey
from apps.webhooks.models import Endpoint

# The number of rows that one transaction re-encrypts.
_BATCH: Final = 500


class EncryptedColumn(NamedTuple):
    """A column with bytes from `encryption.encrypt`."""

    model: type[Model]
    name: str

    def __str__(self) -> str:
        return f"{self.model._meta.db_table}.{self.name}"


ENCRYPTED: Final = (
    EncryptedColumn(Endpoint, "secret"),
    EncryptedColumn(Endpoint, "previous_secret"),
    EncryptedColumn(SecondFactor, "secret"),
    EncryptedColumn(IdempotencyKey, "body"),
)


class ColumnRotation(NamedTuple):
    """The numbers of rotated and unreadable values of a column."""

    column: EncryptedColumn
    rotated: int
    unreadable: int


def require_known(*, now: datetime) -> None:
    """Raise ImproperlyConfigured if this machine cannot read the secrets of the database.

    The first machine to start decides the key.
    """
    own = database.key_fingerprint(settings.SECRET_KEY)
    installed, _ = InstalledKey.objects.get_or_create(
        id=InstalledKey.SINGLETON_ID, defaults={"fingerprint": own, "since": now}
    )
    known = {own, *map(database.key_fingerprint, settings.SECRET_KEY_FALLBACKS)}
    if installed.fingerprint not in known:
        raise ImproperlyConfigured(
            f"SECRET_KEY: this machine's key (fingerprint {own}) is not the one of the database"
            f" ({installed.fingerprint}): set the SECRET_KEY that the other machines have, or that"
            " a restored backup was made with; if the key was changed, add the old one to"
            " SECRET_KEY_FALLBACKS"
        )


def is_to_be_rotated() -> bool:
    """Return whether the secrets of the database are encrypted with a fallback key."""
    installed = InstalledKey.objects.first()
    own = database.key_fingerprint(settings.SECRET_KEY)
    return installed is not None and installed.fingerprint != own


def rotate(*, now: datetime) -> Iterator[ColumnRotation]:
    """Encrypt all secrets with the present SECRET_KEY, column by column; then record it as the
    database's key.

    It can be stopped at any point and started again. Raises ImproperlyConfigured.
    """
    require_known(now=now)
    for column in ENCRYPTED:
        yield _rotate_column(column)
    with transaction.atomic():
        installed = InstalledKey.objects.select_for_update().get()
        before, after = installed.fingerprint, database.key_fingerprint(settings.SECRET_KEY)
        if before != after:
            installed.fingerprint, installed.since = after, now
            installed.save()
            audit.record(
                audit.Action.SECRET_KEY_ROTATED,
                None,
                actor=audit.command_line(),
                now=now,
                fingerprint=[before, after],
            )


def _rotate_column(column: EncryptedColumn) -> ColumnRotation:
    rotated = unreadable = 0
    last: object = None
    rows = column.model._default_manager.filter(**{f"{column.name}__isnull": False}).order_by("pk")
    while True:
        with transaction.atomic():
            later = rows if last is None else rows.filter(pk__gt=last)
            batch = list(later.select_for_update()[:_BATCH])
            if not batch:
                return ColumnRotation(column, rotated, unreadable)
            for row in batch:
                data = bytes(getattr(row, column.name))
                if database.is_of_current_key(data):
                    continue
                try:
                    renewed = database.encrypt(database.decrypt(data))
                except database.DecryptionFailed:
                    unreadable += 1
                    continue
                setattr(row, column.name, renewed)
                row.save(update_fields=[column.name])
                rotated += 1
            last = batch[-1].pk
