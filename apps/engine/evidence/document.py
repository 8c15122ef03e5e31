"""The whole evidence on a result, as one JSON document."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from apps.engine.evidence.assessment import assess
from apps.engine.evidence.costs import costs_section
from apps.engine.evidence.inputs import EvidenceInput
from apps.engine.evidence.look_ahead import look_ahead_section
from apps.engine.evidence.multiple_testing import multiple_testing_section
from apps.engine.evidence.regimes import regimes_section
from apps.engine.evidence.sections import EvidenceSection, section_json
from apps.engine.evidence.sensitivity import sensitivity_section
from apps.engine.evidence.significance import significance_section

SECTIONS: Final[tuple[Callable[[EvidenceInput], EvidenceSection], ...]] = (
    costs_section,
    significance_section,
    multiple_testing_section,
    look_ahead_section,
    regimes_section,
    sensitivity_section,
)


def evidence_document(evidence: EvidenceInput) -> dict[str, object]:
    """Return the verdict, the checks behind it, and the sections by their names. Raises
    EngineError.
    """
    sections = [section_of(evidence) for section_of in SECTIONS]
    verdict = assess([section.check for section in sections if section.check])
    return {
        "verdict": {"passes": verdict.passes, "sentence": verdict.sentence},
        "checks": [
            {"name": check.name, "status": check.status.value, "reason": check.reason}
            for check in verdict.checks
        ],
        "sections": {section.name: section_json(section) for section in sections},
    }
