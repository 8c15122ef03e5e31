"""An explanation on the wire."""

from typing import Any

from rest_framework import serializers
from rest_framework.serializers import CharField

from apps.algorithms.serializers import (
    EXPLAINED_SIDES,
    HELD,
    OUTCOME_MESSAGES,
    POSITION_MESSAGES,
)
from apps.backtests.analysis.explanation.services import ExplainedPosition, Explanation
from apps.backtests.serializers import BacktestSymbolField, RangeEndField, TradeSerializer
from apps.core.api.resources import (
    ChoiceField,
    DocumentSerializer,
    RecordSerializer,
    StrictSerializer,
    example,
)
from apps.engine import OUTCOMES, BarExplanation, PositionExplanation
from apps.engine.results import REJECTIONS, round_for_wire


@example
class ExplainQuery(StrictSerializer):
    """The candle to explain."""

    symbol = BacktestSymbolField(exact=True, help_text="A symbol of the backtest.")
    at = RangeEndField(exact=True, help_text="A moment inside the candle.")


class ExplainedEntrySerializer(DocumentSerializer):
    """The reason for an entry at the candle, or against it."""

    reason = ChoiceField(choices=OUTCOMES, help_text="The outcome; `message` is the same in words.")
    message = CharField()
    side = ChoiceField(
        choices=EXPLAINED_SIDES, allow_null=True, help_text="Null without a signal of one side."
    )
    possibleReasons = serializers.ListField(
        child=ChoiceField(choices=REJECTIONS),
        help_text="For `not_traded`: the possible reasons; the result does not distinguish them.",
    )
    trade = TradeSerializer(
        allow_null=True, help_text="The trade that was opened, or that blocked the entry."
    )


class ExplainedPositionSerializer(RecordSerializer):
    """A position that was open in the candle, with the conditions of exits."""

    record = PositionExplanation
    reason = ChoiceField(
        choices=list(POSITION_MESSAGES),
        help_text="`held`, or the reason why it was closed in this candle.",
    )
    message = CharField()
    trade = TradeSerializer()


@example
class ExplanationSerializer(RecordSerializer):
    """A candle, explained."""

    record = BarExplanation
    entry = ExplainedEntrySerializer()
    positions = ExplainedPositionSerializer(
        many=True, help_text="Positions open in the candle, including one closed at its open."
    )

    def to_representation(self, instance: Explanation) -> dict[str, Any]:
        outcome = instance.outcome
        explanation = {
            **instance.bar,
            "entry": {
                "reason": outcome.reason,
                "message": OUTCOME_MESSAGES[outcome.reason],
                "side": outcome.side,
                "possibleReasons": list(outcome.possible),
                "trade": instance.trade,
            },
            "positions": [_position(position) for position in instance.positions],
        }
        return dict(round_for_wire(explanation))


def _position(position: ExplainedPosition) -> dict[str, object]:
    reason = position.trade["exitReason"] if position.has_ended else HELD
    return {
        "reason": reason,
        "message": POSITION_MESSAGES[reason],
        "trade": position.trade,
        **position.explanation,
    }
