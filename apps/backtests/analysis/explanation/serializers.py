"""An explanation on the wire."""

from typing import Any

from rest_framework.serializers import CharField

from apps.algorithms.serializers import (
    HELD,
    OUTCOME_MESSAGES,
    POSITION_MESSAGES,
)
from apps.backtests.analysis.explanation.services import ExplainedPosition, Explanation
from apps.backtests.serializers import BacktestSymbolField, RangeEndField, TradeSerializer
from apps.core.api.resources import (
    ChoiceField,
    RecordSerializer,
    StrictSerializer,
    example,
)
from apps.engine import BarExplanation, EntryExplanation, PositionExplanation
from apps.engine.results import round_for_wire


@example
class ExplainQuery(StrictSerializer):
    """The candle to explain."""

    symbol = BacktestSymbolField(exact=True, help_text="A symbol of the backtest.")
    at = RangeEndField(exact=True, help_text="A moment inside the candle.")


class ExplainedEntrySerializer(RecordSerializer):
    record = EntryExplanation
    message = CharField()
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
        reason = instance.entry["reason"]
        explanation = {
            **instance.bar,
            "entry": {
                "reason": reason,
                "message": OUTCOME_MESSAGES[reason],
                **instance.entry,
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
