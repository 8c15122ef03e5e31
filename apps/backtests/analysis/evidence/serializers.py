"""Evidence on the wire."""

from typing import Any, Final

from rest_framework import serializers
from rest_framework.serializers import CharField

from apps.backtests.analysis.evidence.services import RequestedEvidence
from apps.backtests.models import EvidenceStatus
from apps.backtests.serializers import EngineNotesField
from apps.core.api.resources import (
    MOMENT_EXAMPLE,
    AnswerSerializer,
    ChoiceField,
    FlagField,
    MomentField,
    ObjectField,
    QueryDateField,
    StrictSerializer,
    example,
)
from apps.engine.evidence import CheckStatus

_SENTENCE: Final = "At twice the slippage and charges the result still makes money."


@example({"asOf": "2026-11-24"})
class EvidenceQuery(StrictSerializer):
    """The date of the charges."""

    asOf = QueryDateField(
        required=False,
        help_text="The date of the charges in `chargesAsOf`; by default today.",
    )


class EvidenceErrorSerializer(AnswerSerializer):
    """The reason why there is no evidence."""

    code = CharField()
    message = CharField()


class EvidenceVerdictSerializer(AnswerSerializer):
    """The checks together."""

    passes = FlagField(
        help_text="No check fails; tradability, significance, multipleTesting and timing pass; and"
        " of fills, regimes and sensitivity one at most is in doubt. It is not said that the"
        " strategy will earn money."
    )
    sentence = CharField(help_text="Made of the checks that do not pass.")


class EvidenceCheckSerializer(AnswerSerializer):
    name = CharField(help_text="The section that it is of.")
    status = ChoiceField(
        choices=CheckStatus,
        help_text="`unknown`: there is too little to say. `not_judged`: candles are a generated"
        " sample.",
    )
    reason = CharField(help_text="Why, in a sentence.")


class EvidenceSectionSerializer(AnswerSerializer):
    """The findings of a section, and the aspects it did not examine."""

    sentence = CharField(help_text="The conclusion from the figures.")
    figures = ObjectField(
        help_text="Keyed by name; rupees, percent and ratios according to the name."
    )
    notLookedAt = serializers.ListField(child=CharField())


@example(
    {
        "status": "ready",
        "requestedAt": MOMENT_EXAMPLE,
        "completedAt": MOMENT_EXAMPLE,
        "error": None,
        "verdict": {
            "passes": False,
            "sentence": "What is in doubt: By its 57 days alone, the Sharpe ratio is above 0 with a"
            " probability of 81.0 %; 176 days like these are needed for 95.0 %.",
        },
        "checks": [{"name": "costs", "status": "pass", "reason": _SENTENCE}],
        "sections": {
            "costs": {
                "sentence": "At the prices of its signals the result makes ₹52,000; slippage takes"
                " ₹4,000 and charges ₹8,000. Charges turned 9 of 120 trades (7.5 %) from a gain"
                " into a loss.",
                "figures": {"slippage": 4_000, "charges": 8_000, "netProfit": 40_000},
                "notLookedAt": ["Interest, taxes on profits and the price of data."],
            }
        },
        "notes": [],
    }
)
class EvidenceSerializer(AnswerSerializer):
    """The evidence on the result of a backtest."""

    status = ChoiceField(
        choices=EvidenceStatus,
        help_text="`queued` and `running` continue; `ready` has a verdict, `failed` an `error`.",
    )
    requestedAt = MomentField()
    completedAt = MomentField(allow_null=True, help_text="When it was ready, or failed.")
    error = EvidenceErrorSerializer(allow_null=True, help_text="Null unless it failed.")
    verdict = EvidenceVerdictSerializer(allow_null=True, help_text="Null until it is ready.")
    checks = EvidenceCheckSerializer(many=True)
    sections = serializers.DictField(
        child=EvidenceSectionSerializer(),
        help_text="Keyed by name: costs, chargesAsOf, fills, tradability, significance,"
        " multipleTesting, timing, lookAhead, regimes, sensitivity; none until it is ready.",
    )

    notes = EngineNotesField(help_text="On the engine that made the result.")

    def to_representation(self, instance: RequestedEvidence) -> dict[str, Any]:
        evidence, document = instance.evidence, instance.document or {}
        answer: dict[str, Any] = super().to_representation(
            {
                "status": evidence.status,
                "requested_at": evidence.requested_at,
                "completed_at": evidence.completed_at,
                "error": evidence.error,
                "verdict": document.get("verdict"),
                "checks": document.get("checks", []),
                "sections": {},
                "notes": evidence.backtest,
            }
        )
        # The sections are JSON as they are answered: a hundred kilobytes need no serializer.
        return answer | {"sections": document.get("sections", {})}
