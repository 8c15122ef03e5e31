"""Evidence on the wire."""

from typing import Any

from rest_framework.serializers import CharField

from apps.backtests.analysis.evidence.services import RequestedEvidence
from apps.backtests.models import EvidenceStatus
from apps.backtests.serializers import EngineNotesField
from apps.core.api.resources import (
    AnswerSerializer,
    ChoiceField,
    FlagField,
    MomentField,
    QueryDateField,
    RecordField,
    StrictSerializer,
    example,
)
from apps.engine.evidence import CheckStatus, EvidenceSections


@example
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
        " of fills, regimes and sensitivity one at most is in doubt. It is no promise of profit."
    )
    sentence = CharField(help_text="Names the checks that do not pass.")


class EvidenceCheckSerializer(AnswerSerializer):
    name = CharField(help_text="The section that it is of.")
    status = ChoiceField(
        choices=CheckStatus,
        help_text="`unknown`: too little data. `not_judged`: the candles are a generated sample.",
    )
    reason = CharField(help_text="Why, in a sentence.")


@example
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
    sections = RecordField(EvidenceSections, help_text="None until it is ready.")

    notes = EngineNotesField(help_text="On the engine that made the result.")

    def to_representation(self, instance: RequestedEvidence) -> dict[str, Any]:
        evidence, document = instance.evidence, instance.document or {}
        return super().to_representation(
            {
                "status": evidence.status,
                "requested_at": evidence.requested_at,
                "completed_at": evidence.completed_at,
                "error": evidence.error,
                "verdict": document.get("verdict"),
                "checks": document.get("checks", []),
                "sections": document.get("sections", {}),
                "notes": evidence.backtest,
            }
        )
