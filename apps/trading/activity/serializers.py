"""Positions, orders, trades and signals on the wire; prices and money in rupees."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, Final, Literal

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.serializers import BooleanField, CharField, FloatField, IntegerField

from apps.algorithms.models import AlgorithmStatus
from apps.algorithms.serializers import STATUS_HELP
from apps.core.api.resources import (
    AnswerSerializer,
    ArrowRenderer,
    ChoiceField,
    IdTextField,
    MomentField,
    NullableTextField,
    StrictSerializer,
    TableRenderer,
    example,
)
from apps.core.times import INDIA
from apps.engine.results import CHARGE_KINDS, EXIT_REASON_HELP, EXIT_REASONS, Unit, round_for_wire
from apps.symbols.serializers import SymbolFilterField
from apps.trading.models import Intent, OrderStatus, Position, Trade

_SIDES: Final = ("long", "short")
# The sort fields of each list, the default first, and their columns.
POSITION_SORTS: Final = {
    "openedAt": "opened_at",
    "symbol": "symbol",
    "unrealisedProfit": "unrealised",
}
ORDER_SORTS: Final = {"placedAt": "placed_at", "symbol": "symbol"}
TRADE_SORTS: Final = {"exitTime": "exit_time", "symbol": "symbol", "profit": "profit"}
SIGNAL_SORTS: Final = {"time": "bar_time", "symbol": "symbol"}


def _sort_field(sorts: Mapping[str, str]) -> ChoiceField:
    return ChoiceField(
        choices=list(sorts), default=next(iter(sorts)), help_text="The field to sort by."
    )


class ActivityQuery(StrictSerializer):
    """The filters that all lists share."""

    symbol = SymbolFilterField(required=False, help_text="Only this symbol.")
    order = ChoiceField(choices=("asc", "desc"), default="desc", help_text="The direction.")


class PositionsQuery(ActivityQuery):
    """The filters and the order of a list of positions."""

    status = ChoiceField(choices=("open", "closed"), required=False, help_text="Only this status.")
    sort = _sort_field(POSITION_SORTS)


class OrdersQuery(ActivityQuery):
    """The filters and the order of a list of orders."""

    status = ChoiceField(
        choices=OrderStatus,
        required=False,
        help_text="Only this status.",
    )
    sort = _sort_field(ORDER_SORTS)


class ExecutedTradesQuery(ActivityQuery):
    """The filters and the order of a list of trades."""

    sort = _sort_field(TRADE_SORTS)


class SignalsQuery(ActivityQuery):
    """The filters and the order of a list of signals."""

    followed = ChoiceField(
        choices=("true", "false"),
        required=False,
        help_text="Only signals that were, or were not, followed.",
    )
    sort = _sort_field(SIGNAL_SORTS)


@extend_schema_field(
    {
        "type": "object",
        "properties": {kind: {"type": "number"} for kind in CHARGE_KINDS},
        "required": list(CHARGE_KINDS),
    }
)
class ChargesByKindField(serializers.Field[Any, Any, Any, Any]):
    """The charges of a fill by kind; 0 for kinds that are newer than the fill."""

    def to_representation(self, value: Mapping[str, str]) -> dict[str, float]:
        return {kind: float(value.get(kind, 0)) for kind in CHARGE_KINDS}


class IndiaDateField(serializers.DateField):
    """The date in Asia/Kolkata of a moment."""

    def to_representation(self, value: Any) -> str:
        moment: datetime = value
        return moment.astimezone(INDIA).date().isoformat()


@example
class PositionSerializer(AnswerSerializer):
    """A position of a run in one symbol, open or closed."""

    runId = IdTextField()
    symbol = CharField()
    status = serializers.SerializerMethodField()
    side = serializers.SerializerMethodField()
    quantity = serializers.SerializerMethodField(help_text="Above 0 on both sides.")
    entryPrice = FloatField(help_text="The average of its entries.")
    lastPrice = FloatField(
        source="mark", allow_null=True, help_text="The last close; of a closed one, its exit."
    )
    unrealisedProfit = FloatField(
        source="unrealised", help_text="The profit at the last price, before charges."
    )
    stopLoss = FloatField(source="stop", allow_null=True, help_text="Rupees; null without one.")
    takeProfit = FloatField(source="target", allow_null=True, help_text="Rupees; null without one.")
    openedAt = MomentField(help_text="Start of the bar of its entry.")
    closedAt = MomentField(
        allow_null=True, help_text="Start of the bar of its exit; null while it is open."
    )
    closeRequestedAt = MomentField(
        allow_null=True, help_text="When its owner asked for it to be closed."
    )

    def get_status(self, position: Position) -> Literal["open", "closed"]:
        return "closed" if position.closed_at else "open"

    def get_side(self, position: Position) -> Literal["long", "short"]:
        return "long" if position.quantity > 0 else "short"

    def get_quantity(self, position: Position) -> int:
        return abs(position.quantity)


@example
class OrderSerializer(AnswerSerializer):
    """An order, with its fill if it was filled."""

    id = IdTextField(help_text="The client order id.")
    runId = IdTextField()
    symbol = CharField()
    side = ChoiceField(choices=("buy", "sell"))
    intent = ChoiceField(
        choices=Intent,
        help_text="`entry` opens a position, `add` adds to one (pyramiding), `exit` closes it.",
    )
    type = ChoiceField(choices=("market", "limit", "stop"))
    price = FloatField(
        allow_null=True,
        help_text="The price of a limit or stop order; null for a market order, or if unknown.",
    )
    quantity = IntegerField(
        allow_null=True, help_text="Null of an entry until it is filled: it is sized then."
    )
    status = ChoiceField(
        choices=OrderStatus,
        help_text="`open`: it waits for a bar that fills it; `filled`, `cancelled` and `rejected`"
        " are the ends.",
    )
    reason = NullableTextField(help_text="The reason of an exit, or of a missing fill.")
    barTime = MomentField(help_text="Start of the bar that made it.")
    placedAt = MomentField(
        help_text="The market's time: the close of that bar, or later if there were many orders."
    )
    endedAt = MomentField(
        allow_null=True, help_text="The market's time: the close of the bar that ended it."
    )
    cancelRequestedAt = MomentField(
        allow_null=True, help_text="When its owner asked for it to be cancelled."
    )
    fillPrice = FloatField(
        source="fill.price", allow_null=True, help_text="Rupees; null unless it was filled."
    )
    charges = FloatField(
        source="fill.charges", allow_null=True, help_text="Rupees; null unless it was filled."
    )
    chargesByKind = ChargesByKindField(source="fill.charges_by_kind", allow_null=True)


@example
class ExecutedTradeSerializer(AnswerSerializer):
    """A position from its entry to its exit."""

    id = IdTextField()
    runId = IdTextField()
    symbol = CharField()
    side = ChoiceField(choices=_SIDES)
    quantity = IntegerField(help_text="Units, not lots.")
    entryTime = MomentField(help_text="Start of the bar of the first entry.")
    entryDate = IndiaDateField(source="entry_time", help_text="The date in Asia/Kolkata.")
    entryPrice = FloatField(help_text="Rupees; of several entries the average.")
    exitTime = MomentField(help_text="Start of the bar of the exit.")
    exitDate = IndiaDateField(source="exit_time", help_text="The date in Asia/Kolkata.")
    exitPrice = FloatField()
    exitReason = ChoiceField(
        choices=[reason for reason in EXIT_REASONS if reason], help_text=EXIT_REASON_HELP
    )
    grossProfit = FloatField(
        help_text="Before charges; includes fractions of shares left over by a split and settled"
        " in cash."
    )
    charges = FloatField()
    profit = FloatField(help_text="Net of charges.")
    returnPercentage = FloatField(help_text="Percent of the value at entry, after charges.")
    bars = IntegerField(
        min_value=0,
        help_text=("The number of bars in the position, including the bar of its entry."),
    )

    def to_representation(self, instance: Trade) -> dict[str, Any]:
        percentage = round_for_wire(instance.return_percentage, Unit.PERCENT)
        return {**super().to_representation(instance), "returnPercentage": percentage}


@example
class SignalSerializer(AnswerSerializer):
    """The result of a run's conditions at the close of a bar."""

    runId = IdTextField()
    symbol = CharField()
    time = MomentField(
        source="bar_time", help_text="Start of the bar; the signal came at its close."
    )
    side = ChoiceField(choices=_SIDES)
    action = ChoiceField(choices=("entry", "exit"))
    followed = BooleanField(help_text="Whether it was executed, or its order still waits.")
    reason = NullableTextField(help_text="The reason why it was not followed; null if it was.")


@example
class StandingSerializer(AnswerSerializer):
    """The present state of an algorithm, in rupees."""

    algorithmId = IdTextField()
    name = CharField()
    status = ChoiceField(choices=AlgorithmStatus, help_text=STATUS_HELP)
    profitToday = FloatField(
        allow_null=True,
        help_text="The gain of its equity since its run entered today's session, open positions and"
        " charges included; null before.",
    )
    netProfit = FloatField(help_text="The result of its closed trades, after charges.")
    openPositions = IntegerField(min_value=0, help_text="How many it holds.")
    unrealisedProfit = FloatField(
        source="unrealised",
        help_text="The result of its open positions at their last prices, before charges.",
    )
    lastSignal = SignalSerializer(allow_null=True, help_text="Null before the first.")


class OrderTable(TableRenderer):
    """Orders as CSV."""

    rows = {"data": OrderSerializer}
    omitted = ("cancelRequestedAt", "chargesByKind")


class OrderArrow(ArrowRenderer, OrderTable):
    """Orders as Arrow."""


class TradeTable(TableRenderer):
    """Trades as CSV."""

    rows = {"data": ExecutedTradeSerializer}


class TradeArrow(ArrowRenderer, TradeTable):
    """Trades as Arrow."""
