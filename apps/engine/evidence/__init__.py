"""Evidence: checks of how far a result can be trusted.

Other apps import only these names. Modules that load the compiler are imported on first use.
"""

from typing import TYPE_CHECKING

from apps.engine.evidence.charges_as_of import charges_as_of_section
from apps.engine.evidence.figures import EvidenceSections, LookAheadCertificate
from apps.engine.evidence.resampling import growth_band
from apps.engine.evidence.sections import SECTION_TITLES, CheckStatus
from apps.engine.lazy import lazy_names

if TYPE_CHECKING:
    from apps.engine.evidence.document import evidence_document
    from apps.engine.evidence.inputs import EvidenceInput, JoinedTests, Trials
    from apps.engine.evidence.look_ahead import look_ahead_of
else:
    __getattr__ = lazy_names(
        __name__,
        {
            "document": ["evidence_document"],
            "inputs": ["EvidenceInput", "JoinedTests", "Trials"],
            "look_ahead": ["look_ahead_of"],
        },
    )

__all__ = [
    "SECTION_TITLES",
    "CheckStatus",
    "EvidenceInput",
    "EvidenceSections",
    "JoinedTests",
    "LookAheadCertificate",
    "Trials",
    "charges_as_of_section",
    "evidence_document",
    "growth_band",
    "look_ahead_of",
]
