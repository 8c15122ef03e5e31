"""The chart of a backtest on the wire."""

from typing import Any, Final

from rest_framework.serializers import FloatField, IntegerField

from apps.backtests.analysis.chart.services import MOST_TRADES_DRAWN, Chart
from apps.backtests.serializers import BacktestSymbolField
from apps.core.api.resources import (
    ChoiceField,
    DocumentSerializer,
    MomentField,
    NumberField,
    QueryIntegerField,
    example,
)
from apps.market.serializers import CandlesSerializer, RangeQuery

MOST_CANDLES_DRAWN: Final = 3_000


@example
class ChartQuery(RangeQuery):
    """The candles of a chart, and their maximum number."""

    symbol = BacktestSymbolField(exact=True, help_text="A symbol of the backtest.")
    limit = QueryIntegerField(
        max_value=MOST_CANDLES_DRAWN,
        default=MOST_CANDLES_DRAWN,
        help_text="The maximum number of candles.",
    )


class ChartFillSerializer(DocumentSerializer):
    """An entry or an exit of a trade."""

    time = MomentField(help_text="Start of the backtest's bar that filled it.")
    side = ChoiceField(choices=("buy", "sell"))
    intent = ChoiceField(choices=("entry", "exit"))
    quantity = NumberField()
    price = FloatField(help_text="The average of several entries.")


@example
class ChartSerializer(CandlesSerializer):
    """Candles of a backtest with its fills.

    `timeframe` is longer than the backtest's own if its candles would exceed `limit`.
    """

    fills = ChartFillSerializer(many=True, help_text="The fills in the order of their times.")
    trades = IntegerField(min_value=0, help_text="The number of trades that touch the candles.")
    shownTrades = IntegerField(
        min_value=0,
        max_value=MOST_TRADES_DRAWN,
        help_text=(
            "The number of trades with fills here; if there are more, these have the largest"
            " results."
        ),
    )

    def to_representation(self, instance: Chart) -> dict[str, Any]:  # type: ignore[override]
        candles = {
            "symbol": instance.symbol,
            "timeframe": instance.timeframe,
            "priced": instance.priced,
        }
        return {
            **super().to_representation(candles),
            "fills": instance.fills,
            "trades": instance.trades,
            "shownTrades": instance.shown_trades,
        }
