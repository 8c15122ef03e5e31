"""The verdict on a result: what its checks say together, in a sentence."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final, NamedTuple

from apps.engine.evidence.multiple_testing import MULTIPLE_TESTING
from apps.engine.evidence.sections import CheckStatus, EvidenceCheck
from apps.engine.evidence.significance import SIGNIFICANCE

NEEDED: Final = frozenset({SIGNIFICANCE, MULTIPLE_TESTING})
"""Checks that a result passes by; of the others none may fail."""
_OPENINGS: Final = {
    CheckStatus.FAIL: "What speaks against this result:",
    CheckStatus.DOUBT: "What is in doubt:",
    CheckStatus.UNKNOWN: "What is not known:",
}


class Assessment(NamedTuple):
    """Whether a result passes, the sentence to lead with, and the checks behind it.

    It says what chance and hindsight could have done in the range, never what comes after.
    """

    passes: bool
    sentence: str
    checks: tuple[EvidenceCheck, ...]


def assess(checks: Sequence[EvidenceCheck]) -> Assessment:
    """Return the verdict on the checks of all sections. A check that is needed and missing is one
    that does not pass.
    """
    passed = {check.name for check in checks if check.status == CheckStatus.PASS}
    failed = any(check.status == CheckStatus.FAIL for check in checks)
    parts = []
    for status, opening in _OPENINGS.items():
        reasons = [check.reason for check in checks if check.status == status]
        if reasons:
            parts.append(" ".join([opening, *reasons]))
    said = " ".join(parts) or "No check speaks against this result, in the range that was tested."
    return Assessment(not failed and passed >= NEEDED, said, tuple(checks))
