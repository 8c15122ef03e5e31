"""Running algorithms, the paper account and the kill switch on the wire."""

from typing import Any

from rest_framework.serializers import BooleanField

from apps.algorithms.serializers import AlgorithmSerializer, IssueSerializer
from apps.core.api.resources import (
    AnswerSerializer,
    ChoiceField,
    FlagField,
    MomentField,
    NullableTextField,
    NumberField,
    StrictSerializer,
    TextField,
    example,
)
from apps.trading.activity.drift.serializers import DriftQuery, DriftSerializer
from apps.trading.activity.run_explanation.serializers import RunExplanationSerializer
from apps.trading.activity.serializers import (
    ExecutedTradeSerializer,
    OrderSerializer,
    PositionSerializer,
    SignalSerializer,
    StandingSerializer,
)
from apps.trading.models import MAX_REASON
from apps.trading.runs.services import StartResult

__all__ = [
    "AccountSerializer",
    "DriftQuery",
    "DriftSerializer",
    "EmergencySerializer",
    "ExecutedTradeSerializer",
    "KillSwitchSerializer",
    "OrderSerializer",
    "PositionSerializer",
    "RunExplanationSerializer",
    "SignalSerializer",
    "StandingSerializer",
    "StartedAlgorithmSerializer",
    "StopSerializer",
]


@example
class StopSerializer(StrictSerializer):
    closePositions = FlagField(
        default=True, help_text="Whether its positions are closed; they are unless it is false."
    )


@example
class EmergencySerializer(StrictSerializer):
    reason = TextField(
        required=False,
        allow_null=True,
        allow_blank=True,
        max_length=MAX_REASON,
        help_text="Why everything stops.",
    )
    closePositions = FlagField(default=False, help_text="Whether all positions are closed too.")


@example
class StartedAlgorithmSerializer(AlgorithmSerializer):
    """An algorithm after its start, with warnings."""

    warnings = IssueSerializer(many=True, help_text="Settings that look like mistakes.")

    def to_representation(self, instance: StartResult) -> dict[str, Any]:
        return {
            **AlgorithmSerializer.render(instance.algorithm),
            "warnings": [IssueSerializer.render(warning) for warning in instance.warnings],
        }


@example
class AccountSerializer(AnswerSerializer):
    """The paper account, in rupees."""

    balance = NumberField(help_text="The money in it.")
    reserved = NumberField(help_text="The part reserved by runs.")
    available = NumberField(help_text="The part available to new runs.")
    equity = NumberField(help_text="Its value with all positions at their last prices.")
    currency = ChoiceField(choices=("INR",))


@example
class KillSwitchSerializer(AnswerSerializer):
    """The kill switch of the caller."""

    active = BooleanField(help_text="Whether it is on.")
    since = MomentField(allow_null=True, help_text="Null while it is off.")
    reason = NullableTextField(help_text="The reason as given; null without one.")
