"""Identifiers: 24 hexadecimal characters, time-ordered, as the interface's examples show them."""

import re
import secrets
import time
from typing import Final

from django.db import models

_FORM = re.compile(r"[0-9a-f]{24}")


def new_id() -> str:
    """Return an id: 8 digits of the second, then 64 random bits. It sorts by age and cannot be
    guessed.
    """
    return f"{int(time.time()):08x}{secrets.token_hex(8)}"


NEW_ID: Final = (
    "lpad(to_hex(extract(epoch FROM clock_timestamp())::bigint), 8, '0')"
    " || left(replace(gen_random_uuid()::text, '-', ''), 16)"
)
"""The same in SQL, where the database makes many rows of one statement; 60 bits are random."""


def is_id(text: str) -> bool:
    """Return whether the text has the form of an id, which may still belong to nothing."""
    return _FORM.fullmatch(text) is not None


class IdField(models.CharField):  # type: ignore[type-arg]  # at run time it takes no arguments
    """A primary key of 24 hexadecimal characters."""

    def __init__(self, **options: object) -> None:
        options.update(max_length=24, primary_key=True, default=new_id, editable=False)
        super().__init__(**options)  # type: ignore[arg-type]

    def deconstruct(self) -> tuple[str, str, list[object], dict[str, object]]:
        name, _, args, options = super().deconstruct()
        for fixed in ("max_length", "primary_key", "default", "editable"):
            options.pop(fixed, None)
        return name, "apps.core.database.IdField", list(args), dict(options)
