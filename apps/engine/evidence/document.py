"""The whole evidence on a result, as one JSON document."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Final

from apps.engine.evidence.assessment import assess
from apps.engine.evidence.costs import costs_section
from apps.engine.evidence.inputs import EvidenceInput
from apps.engine.evidence.look_ahead import look_ahead_section
from apps.engine.evidence.multiple_testing import multiple_testing_section
from apps.engine.evidence.regimes import regimes_section
from apps.engine.evidence.sections import CheckStatus, EvidenceCheck, EvidenceSection, section_json
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


CANDLES: Final = "candles"


def evidence_document(
    evidence: EvidenceInput, *, generated: Sequence[str] = ()
) -> dict[str, object]:
    """Return the verdict, the checks behind it, and the sections by their names.

    `generated` are the symbols whose candles are a sample and no market's: no result on those
    passes. Raises EngineError.
    """
    sections = [section_of(evidence) for section_of in SECTIONS]
    checks = [section.check for section in sections if section.check]
    verdict = assess([*_check_candles(generated), *checks])
    return {
        "verdict": {"passes": verdict.passes, "sentence": verdict.sentence},
        "checks": [
            {"name": check.name, "status": check.status.value, "reason": check.reason}
            for check in verdict.checks
        ],
        "sections": {section.name: section_json(section) for section in sections},
    }


def _check_candles(generated: Sequence[str]) -> Iterator[EvidenceCheck]:
    if generated:
        reason = f"The candles of {', '.join(generated)} are a generated sample, no market's."
        yield EvidenceCheck(CANDLES, CheckStatus.FAIL, reason)
