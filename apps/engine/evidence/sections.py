"""The parts of evidence: sections, and their checks. It compiles nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, Generic, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from apps.engine.kernel.reasons import CHARGE_KINDS
from apps.engine.results.wire_performance import ChargesByKind
from apps.engine.units import Unit, rounded

SECTION_TITLES: Final = {
    "costs": "Costs",
    "chargesAsOf": "Charges by date",
    "fills": "Fills",
    "tradability": "Tradability",
    "significance": "Luck",
    "multipleTesting": "Overfitting",
    "timing": "Timing",
    "lookAhead": "Look-ahead",
    "regimes": "Market conditions",
    "sensitivity": "Parameters",
}
"""The names of the sections for people, keyed by those on the wire."""


class CheckStatus(StrEnum):
    """The status of a check.

    `unknown`: too little data; `not_judged`: the prices are not those of a market.
    """

    PASS = "pass"
    DOUBT = "doubt"
    FAIL = "fail"
    UNKNOWN = "unknown"
    NOT_JUDGED = "not_judged"


@dataclass(frozen=True, slots=True)
class EvidenceCheck:
    """A check by its name on the wire, its status, and the reason in a sentence."""

    name: str
    status: CheckStatus
    reason: str


SectionFigures = TypeVar("SectionFigures", bound=Mapping[str, object])


@dataclass(frozen=True, slots=True)
class EvidenceSection(Generic[SectionFigures]):
    """A section by its name on the wire: its figures, their conclusion in a sentence, and
    the aspects not examined, in sentences.
    """

    name: str
    figures: SectionFigures
    sentence: str
    not_looked_at: Sequence[str]
    check: EvidenceCheck | None = None

    def as_json(self) -> dict[str, object]:
        """Return the section in wire form, under its name."""
        return {
            "sentence": self.sentence,
            "figures": dict(self.figures),
            "notLookedAt": list(self.not_looked_at),
        }


def graded(value: float | None, passes_from: float, doubt_from: float) -> CheckStatus:
    """Return the status of a check of a figure that should be high."""
    if value is None:
        return CheckStatus.UNKNOWN
    if value >= passes_from:
        return CheckStatus.PASS
    return CheckStatus.DOUBT if value >= doubt_from else CheckStatus.FAIL


def rounded_figure(value: float | None, unit: Unit) -> float | None:
    """Return a figure with the decimals of its unit, if known."""
    return None if value is None else rounded(value, unit)


def percent_text(share: float) -> str:
    """Return a share of 1 as people write it; nearly all is never written as all."""
    if 0.999 < share < 1:
        return "over 99.9%"
    if 0 < share < 0.001:
        return "under 0.1%"
    return f"{share * 100:.1f}%"


def charges_by_kind(rupees: NDArray[np.float64]) -> ChargesByKind:
    """Return charges, in the order of CHARGE_KINDS, by their names."""
    paid = [rounded(value, Unit.RUPEES) for value in rupees.tolist()]
    return cast(ChargesByKind, dict(zip(CHARGE_KINDS, paid, strict=True)))
