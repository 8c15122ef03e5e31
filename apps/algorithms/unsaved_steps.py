"""Steps in an editor that are not saved yet: one row for each algorithm, deleted after a month."""

import json
from datetime import datetime, timedelta
from typing import Final

from django.db import transaction

from apps.algorithms.configuration import Configuration
from apps.algorithms.models import Algorithm, UnsavedSteps
from apps.core.database import delete_in_batches
from apps.core.errors import Fault, InvalidInput

_KEPT: Final = timedelta(days=30)
MOST_CHARACTERS: Final = 128 * 1024


def unsaved_steps(algorithm: Algorithm) -> UnsavedSteps | None:
    """Return the unsaved steps of the owner's algorithm, if they differ from the saved ones."""
    row = UnsavedSteps.objects.filter(algorithm=algorithm).first()
    return row if row and row.configuration != algorithm.configuration else None


@transaction.atomic
def keep_unsaved_steps(
    algorithm: Algorithm,
    *,
    configuration: Configuration,
    version: int,
    editor: str,
    now: datetime,
) -> UnsavedSteps | None:
    """Replace the unsaved steps, and return the replaced ones; steps equal to the saved ones are
    deleted.

    `version` is the version from which the editor began. Raises InvalidInput.
    """
    if len(json.dumps(configuration)) > MOST_CHARACTERS:
        raise InvalidInput(Fault("", "These steps are too long to be kept or saved."))
    before = UnsavedSteps.objects.select_for_update().filter(algorithm=algorithm).first()
    if configuration == algorithm.configuration:
        drop_unsaved_steps(algorithm)
    elif before is None or before.configuration != configuration or before.editor != editor:
        values = {
            "configuration": configuration,
            "version": version,
            "editor": editor,
            "changed_at": now,
        }
        UnsavedSteps.objects.update_or_create(algorithm=algorithm, defaults=values)
    return before


def drop_unsaved_steps(algorithm: Algorithm) -> None:
    UnsavedSteps.objects.filter(algorithm=algorithm).delete()


def purge(*, now: datetime) -> int:
    """Delete the unsaved steps that nobody has changed for a month; return their number."""
    return delete_in_batches(UnsavedSteps.objects.filter(changed_at__lt=now - _KEPT))
