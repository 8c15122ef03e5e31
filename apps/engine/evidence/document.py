"""The complete evidence on a result, as one JSON document, with the verdict first."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, NamedTuple

from apps.engine.evidence.costs import COSTS, costs_section
from apps.engine.evidence.fills import FILLS, fills_section
from apps.engine.evidence.inputs import EvidenceInput
from apps.engine.evidence.look_ahead import LOOK_AHEAD, look_ahead_section
from apps.engine.evidence.multiple_testing import MULTIPLE_TESTING, multiple_testing_section
from apps.engine.evidence.regimes import REGIMES, regimes_section
from apps.engine.evidence.sections import (
    SECTION_TITLES,
    CheckStatus,
    EvidenceCheck,
    EvidenceSection,
)
from apps.engine.evidence.sensitivity import SENSITIVITY, sensitivity_section
from apps.engine.evidence.significance import SIGNIFICANCE, significance_section
from apps.engine.evidence.timing import TIMING, timing_section
from apps.engine.evidence.tradability import TRADABILITY, tradability_section

SECTIONS: Final[Mapping[str, Callable[[EvidenceInput], EvidenceSection[Any]]]] = {
    COSTS: costs_section,
    FILLS: fills_section,
    TRADABILITY: tradability_section,
    SIGNIFICANCE: significance_section,
    MULTIPLE_TESTING: multiple_testing_section,
    TIMING: timing_section,
    LOOK_AHEAD: look_ahead_section,
    REGIMES: regimes_section,
    SENSITIVITY: sensitivity_section,
}
NEEDED: Final = frozenset({TRADABILITY, SIGNIFICANCE, MULTIPLE_TESTING, TIMING})
"""Checks that a result passes by; of the others none may fail."""
ROBUSTNESS: Final = frozenset({FILLS, REGIMES, SENSITIVITY})
MOST_DOUBTED: Final = 1
"""How many checks of ROBUSTNESS may be in doubt for a result to pass."""
_OPENINGS: Final = {
    CheckStatus.FAIL: "Failed",
    CheckStatus.DOUBT: "In doubt",
    CheckStatus.UNKNOWN: "Too little data",
}


class Assessment(NamedTuple):
    """Whether a result passes, the leading sentence, and the checks behind it.

    It assesses effects of chance and hindsight in the range, never the future.
    """

    passes: bool
    sentence: str
    checks: tuple[EvidenceCheck, ...]


def assess(checks: Sequence[EvidenceCheck]) -> Assessment:
    """Return the verdict on the checks of all sections.

    A missing required check counts as not passed.
    """
    passed, failed, doubted = (
        {check.name for check in checks if check.status == status}
        for status in (CheckStatus.PASS, CheckStatus.FAIL, CheckStatus.DOUBT)
    )
    is_robust = len(doubted & ROBUSTNESS) <= MOST_DOUBTED
    passes = not failed and passed >= NEEDED and is_robust
    parts = []
    for status, opening in _OPENINGS.items():
        titles = [SECTION_TITLES[check.name] for check in checks if check.status == status]
        if titles:
            parts.append(f"{opening}: {', '.join(titles).lower()}.")
    if passes:
        parts = [*(parts or ["Every check holds."]), "It is no promise of profit."]
    return Assessment(passes, " ".join(parts), tuple(checks))


def evidence_document(evidence: EvidenceInput, *, not_judged: str = "") -> dict[str, object]:
    """Return the verdict, the checks behind it, and the sections keyed by name.

    `not_judged` is the reason if prices do not come from a market: such results are not judged, and
    do not pass. Raises EngineError.
    """
    sections = [section_of(evidence) for section_of in SECTIONS.values()]
    checks = [section.check for section in sections if section.check]
    if not_judged:
        sections = [replace(section, sentence=not_judged) for section in sections]
        unjudged = (EvidenceCheck(row.name, CheckStatus.NOT_JUDGED, not_judged) for row in checks)
        verdict = Assessment(False, not_judged, tuple(unjudged))
    else:
        verdict = assess(checks)
    return {
        "verdict": {"passes": verdict.passes, "sentence": verdict.sentence},
        "checks": [
            {"name": check.name, "status": check.status.value, "reason": check.reason}
            for check in verdict.checks
        ],
        "sections": {section.name: section.as_json() for section in sections},
    }
