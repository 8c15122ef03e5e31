"""Evidence on the wire."""

from typing import Any, Final

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
    QueryDateField,
    RecordField,
    StrictSerializer,
    example,
)
from apps.engine.evidence import CheckStatus, EvidenceSections

_COSTS: Final = {
    "grossProfitAtSignalPrices": 52_000,
    "slippage": 4_000,
    "grossProfit": 48_000,
    "chargesByKind": {
        "brokerage": 4_800,
        "transactionTax": 1_500,
        "exchangeFee": 450,
        "ipft": 10,
        "sebiFee": 15,
        "stampDuty": 280,
        "gst": 945,
        "depositoryCharge": 0,
    },
    "charges": 8_000,
    "netProfit": 40_000,
    "costOfTrade": {"rupees": 100, "basisPoints": 10},
    "breakEvenCostOfTrade": {"rupees": 433.33, "basisPoints": 43.333},
    "netProfitAtCosts": [
        {"factor": 0, "netProfit": 52_000},
        {"factor": 1, "netProfit": 40_000},
        {"factor": 2, "netProfit": 28_000},
    ],
    "tradesTurnedToLoss": 9,
    "shareTurnedToLoss": 0.075,
}
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
                "figures": _COSTS,
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
