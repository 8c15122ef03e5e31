"""The conditions of an algorithm at a candle and their outcome, on the wire: for backtests and
trading alike.
"""

import math
from collections.abc import Sequence
from typing import Any, Final

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.serializers import BooleanField, CharField, IntegerField

from apps.core.api.resources import (
    MOMENT_EXAMPLE,
    ChoiceField,
    DocumentSerializer,
    MomentField,
    NumberField,
    ref,
)
from apps.core.times import moment, wire_time
from apps.engine import Finding, Levels, RankedSymbol, SideFound

EXPLAINED_SIDES: Final = ("long", "short")
_OPERATORS: Final = ("AND", "OR")

# The messages of the outcome at a candle, by its reason.
OUTCOME_MESSAGES: Final = {
    "entered": "A position was opened at the open of the next candle.",
    "no_signal": "The conditions of no side are true.",
    "not_ranked": "Its symbol had no place up to entryConditions.rank.top at this candle, or no"
    " ranking was made.",
    "both_sides": "The conditions of both sides are true, so no side enters (engine rule 12).",
    "unknown_ranges": "An average true range or a level that size or exits need is not known.",
    "position_held": "A position of this symbol was held; whether it was added to is not recorded.",
    "daily_loss_limit": "The loss of the day had reached maxDailyLoss.",
    "daily_profit_limit": "The profit of the day had reached maxDailyProfit.",
    "entry_limit": "As many positions as maxEntriesPerDay or maxEntriesPerSymbol allows had been"
    " opened on that day.",
    "cooldown": "The symbol was in the cooldown after an exit.",
    "level_beyond_entry": "The fill was at or beyond the level of the stop or of the target.",
    "outside_session": "The next candle starts at or after the square-off.",
    "after_session": "Its session had no candle left to enter an intraday position in.",
    "position_limit": "maxOpenPositions were held, or maxPositionSize left less than a lot.",
    "insufficient_cash": "Free cash did not pay for one lot and its charges.",
    "below_one_lot": "Its size came to less than one lot.",
    "limit_not_reached": "The next candle did not reach the price of the order.",
    "circuit": "The next candle was locked at a limit of the day, where nobody trades against it.",
    "end_of_data": "It is the last candle of the range.",
    "ruined": "Equity had fallen to zero and the simulation had ended.",
    "not_traded": "The order was not filled, for one of the possible reasons.",
}

HELD: Final = "held"
# The message about a position, keyed by its event in the candle.
POSITION_MESSAGES: Final = {
    HELD: "It was held to the end of this candle.",
    "stop_loss": "Prices reached its stop in this candle, or opened beyond it.",
    "take_profit": "Prices reached its target in this candle, or opened beyond it.",
    "trailing_stop": "Prices reached its trailing stop in this candle, or opened beyond it.",
    "opposite_signal": "The opposite signal at the last candle before closed it at this open.",
    "signal": "The conditions of exits were true at the last candle before: closed at this open.",
    "square_off": "It was squared off, for the session was to end.",
    "max_holding": "It had lived through maxHoldingCandles, and was closed at this open.",
    "daily_loss_limit": "The loss of the day had reached maxDailyLoss: closed at this open.",
    "daily_profit_limit": "The profit of the day had reached maxDailyProfit: closed at this open.",
    "stopped": "It was asked to be closed, and was at this open.",
    "expiry": "The contract settled: by the close of its index, or at its own last close.",
    "expiry_close": "It was closed in the last session of a contract that is then delivered.",
    "end_of_data": "The simulation ended, and it was closed at its last close.",
}


EXPLAINED_CANDLE_EXAMPLE: Final[dict[str, Any]] = {
    "symbol": "NSE:RELIANCE",
    "timeframe": "5m",
    "candle": {
        "time": MOMENT_EXAMPLE,
        "open": 1400,
        "high": 1404.5,
        "low": 1399,
        "close": 1403,
        "volume": 12000,
    },
    "confirmationCandles": 1,
    "sides": [
        {
            "side": "long",
            "logicalOperator": "AND",
            "signal": False,
            "conditions": [
                {
                    "condition": "entryConditions.conditions[0]",
                    "text": "RSI(14) above 50",
                    "holds": False,
                    "confirmed": False,
                    "operands": [{"name": "RSI(14)", "value": 48.2, "before": 46.9}],
                    "parts": [],
                }
            ],
        }
    ],
}


class ExplainedOperandSerializer(DocumentSerializer):
    name = CharField()
    value = NumberField(
        allow_null=True, help_text="The value at this candle; null if not known yet."
    )
    before = NumberField(allow_null=True, help_text="The value at the candle before.")
    candleTime = MomentField(
        required=False, help_text="The start of the candle that it reads of another symbol."
    )


@extend_schema_field(
    {
        "type": "array",
        "items": ref("ExplainedCondition"),
        "description": "The conditions of the group.",
    }
)
class PartsField(serializers.Field[Any, Any, Any, Any]):
    """The conditions of a group."""


class ExplainedConditionSerializer(DocumentSerializer):
    """A condition, or a group of conditions, with the values that it read."""

    text = CharField()
    holds = BooleanField(help_text="Whether it is true at this candle.")
    confirmed = BooleanField(
        help_text="Whether it is true as long as confirmationCandles asks for; of exits as `holds`."
    )
    operands = ExplainedOperandSerializer(many=True, help_text="The values that it compares.")
    parts = PartsField()

    def to_representation(self, instance: Finding) -> dict[str, Any]:
        return {
            "text": instance.text,
            "holds": instance.holds,
            "confirmed": instance.confirmed,
            "operands": [
                {"name": operand.name, "value": operand.value, "before": operand.before}
                | _candle_time(operand.candle_time)
                for operand in instance.operands
            ],
            "parts": [self.to_representation(part) for part in instance.parts],
        }


def _candle_time(seconds: int | None) -> dict[str, Any]:
    return {} if seconds is None else {"candleTime": wire_time(moment(seconds))}


class ListedConditionSerializer(ExplainedConditionSerializer):
    """A condition with its path in the algorithm."""

    parts = ExplainedConditionSerializer(many=True, help_text="The conditions of the group.")  # type: ignore[assignment]

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        return {"condition": CharField(help_text="Its path."), **super().get_fields()}


class ConditionsSerializer(DocumentSerializer):
    """The conditions of entries, or of exits."""

    logicalOperator = ChoiceField(choices=_OPERATORS)
    signal = BooleanField(help_text="Whether the conditions together are true.")
    conditions = ListedConditionSerializer(many=True)


class ExplainedSideSerializer(ConditionsSerializer):
    """The conditions of entries on one side."""

    side = ChoiceField(choices=EXPLAINED_SIDES)


class ExplainedCandleSerializer(DocumentSerializer):
    time = MomentField()
    open = NumberField()
    high = NumberField()
    low = NumberField()
    close = NumberField()
    volume = NumberField()


class RankedSymbolSerializer(DocumentSerializer):
    """A symbol in the ranking of a candle."""

    symbol = CharField()
    rank = IntegerField(allow_null=True, help_text="Its place, from 1; null without a known value.")
    value = NumberField(allow_null=True, help_text="The value that it is ranked by.")


RANKING_HELP: Final = (
    "The symbols of the candle's row by their places; empty where nothing is ranked. Only for an"
    " algorithm with entryConditions.rank."
)


class ExitLevelsSerializer(DocumentSerializer):
    stopLoss = NumberField(allow_null=True, help_text="Rupees; null without one.")
    trailingStop = NumberField(allow_null=True, help_text="Rupees; null without one.")
    takeProfit = NumberField(allow_null=True, help_text="Rupees; null without one.")


def render_levels(levels: Levels | None) -> dict[str, float | None] | None:
    if levels is None:
        return None
    names = ("stopLoss", "trailingStop", "takeProfit")
    return {
        name: None if math.isnan(price) else price
        for name, price in zip(names, levels, strict=True)
    }


def render_conditions(side: SideFound, step: str) -> dict[str, object]:
    """Return the conditions of a step, evaluated."""
    return {
        "logicalOperator": side.operator,
        "signal": side.signal,
        "conditions": [
            {
                "condition": f"{step}.conditions[{index}]",
                **ExplainedConditionSerializer.render(finding),
            }
            for index, finding in side.findings
        ],
    }


def render_ranking(ranked: Sequence[RankedSymbol] | None) -> dict[str, object]:
    """Return the places of a ranking row; no field without a ranking."""
    return {} if ranked is None else {"ranking": [symbol._asdict() for symbol in ranked]}


def render_sides(sides: Sequence[SideFound]) -> list[dict[str, object]]:
    """Return the conditions of entries for each side."""
    return [{"side": side.side, **render_conditions(side, "entryConditions")} for side in sides]
