"""Changes in the form of the steps that are not saved yet; the newest of several tabs counts."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from apps.algorithms import services
from apps.algorithms.models import Algorithm
from apps.algorithms.services import Configuration


@dataclass(frozen=True, slots=True)
class UnsavedState:
    """The facts about unsaved steps that a page of the form shows and sends back."""

    editor: str  # id of the opened page
    version: int  # of the algorithm when the editor began
    after: str = ""  # id of the editor whose changes the page was opened with
    changed_at: datetime | None = None
    replaced_at: datetime | None = None  # time of other changes that these have replaced
    is_reopened: bool = False


def open_unsaved(algorithm: Algorithm) -> tuple[Configuration, UnsavedState]:
    """Return the steps to show, unsaved changes included."""
    editor, row = secrets.token_hex(12), services.unsaved_steps(algorithm)
    if row is None:
        return algorithm.configuration, UnsavedState(editor, algorithm.version)
    state = UnsavedState(
        editor, row.version, after=row.editor, changed_at=row.changed_at, is_reopened=True
    )
    return {**algorithm.configuration, **row.configuration}, state


def keep_unsaved(
    algorithm: Algorithm, form: Mapping[str, str], steps: Configuration, *, now: datetime
) -> UnsavedState:
    """Keep the steps of a form. Raises InvalidInput."""
    editor, number = form.get("editor", "")[:24], form.get("version", "")
    is_number = number.isascii() and number.isdigit() and len(number) < 10
    version = int(number) if is_number else algorithm.version
    before = services.keep_unsaved_steps(
        algorithm, configuration=steps, version=version, editor=editor, now=now
    )
    is_replaced = before is not None and (
        before.editor not in (editor, form.get("after")) and before.configuration != steps
    )
    return UnsavedState(
        editor,
        version,
        changed_at=None if steps == algorithm.configuration else now,
        replaced_at=before.changed_at if before and is_replaced else None,
    )
