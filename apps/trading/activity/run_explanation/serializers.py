"""An explanation of a run's candle on the wire."""

from typing import Any, Final

from drf_spectacular.utils import extend_schema_field
from rest_framework.serializers import CharField

from apps.algorithms.serializers import (
    EXPLAINED_SIDES,
    HELD,
    OUTCOME_MESSAGES,
    POSITION_MESSAGES,
)
from apps.core.api.resources import (
    ChoiceField,
    DocumentSerializer,
    IdTextField,
    RecordSerializer,
    StrictSerializer,
    TextField,
    example,
)
from apps.engine import BarExplanation, PositionExplanation
from apps.engine.results import round_for_wire
from apps.market.serializers import RANGE_END
from apps.symbols.serializers import SymbolFilterField
from apps.trading.activity.run_explanation.services import (
    NOT_RECORDED,
    WAITING,
    HeldInCandle,
    RunExplanation,
)
from apps.trading.activity.serializers import (
    ExecutedTradeSerializer,
    OrderSerializer,
    PositionSerializer,
)

# The messages for outcomes that only trading has; a signal may record further reasons.
_MESSAGES: Final = {
    **OUTCOME_MESSAGES,
    WAITING: "Its order waits for the next candle.",
    NOT_RECORDED: "No signal was recorded here: the candles may have changed since.",
    "stopped": "The algorithm was stopped.",
    "error": "The algorithm was in error.",
    "kill_switch": "A kill switch was on.",
    "paused": "The algorithm was paused.",
    "stale_data": "Too many candles were missing before it.",
    "cancelled": "Its order was cancelled.",
    "price_band": "The order's price was too far from the last price.",
}


@extend_schema_field(RANGE_END)
class CandleMomentField(TextField):
    """A date or a timestamp."""


@example
class ExplainRunQuery(StrictSerializer):
    """The candle to explain."""

    symbol = SymbolFilterField(help_text="A symbol of the run.")
    at = CandleMomentField(exact=True, help_text="A moment inside the candle.")


class ExplainedRunEntrySerializer(DocumentSerializer):
    """The reason for an entry at the candle, or against it."""

    reason = CharField(
        help_text="`entered`, `waiting`, `no_signal`, or why it was not followed, as signals say."
    )
    message = CharField()
    side = ChoiceField(choices=EXPLAINED_SIDES, allow_null=True)
    order = OrderSerializer(allow_null=True, help_text="The order for the signal.")


class ExplainedRunPositionSerializer(RecordSerializer):
    """A position that was open in the candle, with the conditions of exits."""

    record = PositionExplanation
    reason = ChoiceField(
        choices=list(POSITION_MESSAGES),
        help_text="`held`, or the reason why it was closed in this candle.",
    )
    message = CharField()
    position = PositionSerializer(help_text="The position now, or at its close.")
    trade = ExecutedTradeSerializer(allow_null=True, help_text="Null unless it ended here.")


@example
class RunExplanationSerializer(RecordSerializer):
    """A candle of a run on paper, explained, as the run used it."""

    record = BarExplanation
    runId = IdTextField()
    entry = ExplainedRunEntrySerializer()
    positions = ExplainedRunPositionSerializer(
        many=True, help_text="Positions open in the candle, including one closed at its open."
    )

    def to_representation(self, instance: RunExplanation) -> dict[str, Any]:
        entry = instance.entry
        return {
            "runId": instance.run.pk,
            **round_for_wire(instance.bar),
            "entry": {
                "reason": entry.reason,
                "message": _MESSAGES.get(entry.reason, "The signal was not followed."),
                "side": entry.side,
                "order": entry.order and OrderSerializer.render(entry.order),
            },
            "positions": [_position(held) for held in instance.positions],
        }


def _position(held: HeldInCandle) -> dict[str, object]:
    reason = HELD if held.trade is None else held.trade.exit_reason
    return {
        "reason": reason,
        "message": POSITION_MESSAGES[reason],
        "position": PositionSerializer.render(held.position),
        "trade": held.trade and ExecutedTradeSerializer.render(held.trade),
        **round_for_wire(held.explanation),
    }
