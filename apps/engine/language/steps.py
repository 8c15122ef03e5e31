"""The other steps: basicInfo, positionSizing, riskParameters and executionSettings."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, Field

from apps.engine.candles.symbols import InvalidSymbol, Symbol
from apps.engine.language.fields import (
    LARGEST,
    AtrPeriod,
    LargePercent,
    Maybe,
    Multiplier,
    Percentage,
    Points,
    Ratio,
    Rupees,
    StrictModel,
    Whole,
    at_most,
    incomplete,
    refused,
    without_control,
)
from apps.engine.language.operands import Operand, PercentageOrOperand  # noqa: F401


def _well_formed(symbol: str) -> str:
    try:
        Symbol.parse(symbol)
    except InvalidSymbol as wrong:
        raise refused(f"is not a symbol: {wrong.reason}") from None
    return symbol


def _some_and_distinct(symbols: tuple[str, ...]) -> tuple[str, ...]:
    if not symbols:
        raise incomplete("needs at least one symbol")
    twice = sorted({symbol for symbol in symbols if symbols.count(symbol) > 1})
    if twice:
        raise refused(f"names {', '.join(twice)} more than once")
    return symbols


class BasicInfo(StrictModel):
    """The traded symbols, and the timeframe."""

    strategyType: Literal[
        "scalping", "swing", "position", "arbitrage", "market_making", "momentum", "mean_reversion"
    ] = Field(description="The kind of strategy. It is a label for searches and changes no trade.")
    timeframe: Literal["1m", "5m", "15m", "30m", "1h", "4h", "1d", "1w"] = Field(
        description="The length of a candle. Conditions are read at the close of each candle."
    )
    symbols: Annotated[
        tuple[Annotated[str, AfterValidator(_well_formed)], ...],
        Field(strict=False, max_length=50),
        at_most(50),
        AfterValidator(_some_and_distinct),
    ] = Field(
        description=(
            "The symbols to trade, each as EXCHANGE:SYMBOL, up to 50, none twice. If"
            " several signal at once, they are entered in the listed order."
        )
    )


class _Distance(StrictModel):
    """A distance from the last fill at which a close adds to a position."""

    direction: Literal["favour", "against"] = Field(
        description=(
            "`favour`: it adds when prices have gone so far with the position; `against`: when"
            " they have gone so far against it."
        )
    )


class PercentageDistance(_Distance):
    """Percent of the last fill."""

    type: Literal["percentage"]
    percentage: Percentage = Field(
        description="The distance in percent of the price of the last entry or add.",
        examples=[0.5],
    )


class PointsDistance(_Distance):
    """Rupees from the last fill."""

    type: Literal["points"]
    points: Points = Field(
        description="The distance from the price of the last entry or add, in rupees.",
        examples=[10],
    )


class AtrDistance(_Distance):
    """Average true ranges from the last fill, taken at the signal bar of the first entry."""

    type: Literal["atr"]
    atrPeriod: AtrPeriod = 14
    atrMultiplier: Multiplier = 2.0


AddDistance: TypeAlias = Annotated[
    PercentageDistance | PointsDistance | AtrDistance, Field(discriminator="type")
]


class Pyramiding(StrictModel):
    """Adding to a position, by new signals or by distance; `maxEntries` counts the first entry."""

    enabled: bool = Field(
        False,
        description=(
            "Whether a new signal in the position's direction, or the distance, adds to it."
        ),
    )
    maxEntries: Annotated[int, Field(ge=2, le=500), Whole] = Field(
        2,
        description=(
            "The maximum number of entries in one position, including the first: 2 to 500."
        ),
    )
    distance: Maybe[AddDistance] = Field(
        None,
        description=(
            "Adds each time a close is this far from the last fill; new signals then add"
            " nothing. Absent: new signals add."
        ),
        examples=[{"direction": "favour", "type": "atr", "atrPeriod": 20, "atrMultiplier": 0.5}],
    )


class _Sizing(StrictModel):
    pyramiding: Pyramiding = Field(
        default_factory=Pyramiding,
        json_schema_extra={"default": {"enabled": False, "maxEntries": 2}},
        description="Whether, and how often, entries may add to an open position.",
        examples=[{"enabled": True, "maxEntries": 3}],
    )


class RiskBased(_Sizing):
    """The quantity that loses `riskPercentage` of equity at the stop."""

    method: Literal["risk_based"]
    riskPercentage: Percentage = Field(
        description=(
            "The loss in percent of equity if the stop is hit; 1 means 1 %. It needs a"
            " stop loss, in exitConditions or riskParameters."
        )
    )


class FixedQuantity(_Sizing):
    """A fixed quantity, rounded down to whole lots."""

    method: Literal["fixed_quantity"]
    quantity: Annotated[int, Field(ge=1, le=int(LARGEST)), Whole] = Field(
        description="The units (shares, not lots) of each entry, rounded down to whole lots.",
        examples=[100],
    )


class FixedAmount(_Sizing):
    """The quantity for a fixed amount in rupees."""

    method: Literal["fixed_amount"]
    amount: Rupees = Field(
        description="The value of each entry in rupees; for a derivative its contract value.",
        examples=[100_000],
    )


class PercentageOfEquity(_Sizing):
    """The quantity for a percentage of equity."""

    method: Literal["percentage_of_equity"]
    percentage: PercentageOrOperand = Field(
        description=(
            "The value of each entry in percent of equity: a number, or an operand as read at"
            " the signal, of which more than 100 counts as 100."
        ),
        examples=[10],
    )


class VolatilityBased(_Sizing):
    """The quantity that loses `riskPercentage` of equity over `atrMultiplier` average true
    ranges.
    """

    method: Literal["volatility_based"]
    riskPercentage: Percentage = Field(
        description=(
            "The loss in percent of equity if the price moves by atrMultiplier average"
            " true ranges against the entry."
        ),
        examples=[1],
    )
    atrPeriod: AtrPeriod = 14
    atrMultiplier: Multiplier = Field(
        2.0, description="The move, in average true ranges (ATR), that loses riskPercentage."
    )


PositionSizing: TypeAlias = Annotated[
    RiskBased | FixedQuantity | FixedAmount | PercentageOfEquity | VolatilityBased,
    Field(discriminator="method"),
]


class Cooldown(StrictModel):
    """Candles of a symbol without an entry after one of its positions was closed."""

    candles: Annotated[int, Field(ge=1, le=1000), Whole] = Field(
        description=(
            "The number of the symbol's candles after the candle of the exit in which it is"
            " not entered again: 1 to 1000. Nights do not matter."
        ),
        examples=[6],
    )
    after: Maybe[Literal["exit", "loss"]] = Field(
        None,
        description=(
            "`exit`: after every exit; `loss`: only after a trade that lost money, charges"
            " included. Absent: `exit`."
        ),
        examples=["loss"],
    )


class RiskParameters(StrictModel):
    """Limits over all symbols, in rupees; `stopLoss` and `takeProfit` in percent."""

    maxPositionSize: Rupees = Field(
        description=(
            "The maximum value of one position in rupees; an entry is reduced to whole"
            " lots below it."
        ),
        examples=[500_000],
    )
    maxDailyLoss: Rupees = Field(
        description=(
            "The loss of a day in rupees that closes all positions at their next open and"
            " blocks entries until the next session."
        ),
        examples=[20_000],
    )
    maxOpenPositions: Annotated[int, Field(ge=1, le=50), Whole] = Field(
        description=(
            "The maximum number of positions open at the same time, over all symbols: 1 to 50."
        ),
        examples=[1],
    )
    stopLoss: Maybe[Percentage] = Field(
        None,
        description=(
            "The stop loss in percent of the entry price. If exitConditions has one too,"
            " the tighter of the two holds."
        ),
        examples=[1.5],
    )
    takeProfit: Maybe[LargePercent] = Field(
        None,
        description=(
            "The target in percent of the entry price; not used if exitConditions has one."
        ),
        examples=[3],
    )
    maxEntriesPerDay: Maybe[Annotated[int, Field(ge=1, le=1000), Whole]] = Field(
        None,
        description=(
            "The maximum number of positions opened on one date, over all symbols: 1 to 1000."
            " Adds do not count. Absent: no limit."
        ),
        examples=[3],
    )
    maxEntriesPerSymbol: Maybe[Annotated[int, Field(ge=1, le=1000), Whole]] = Field(
        None,
        description=(
            "The maximum number of positions opened on one date in one symbol: 1 to 1000."
            " Absent: no limit."
        ),
        examples=[1],
    )
    cooldown: Maybe[Cooldown] = Field(
        None,
        description="A pause in a symbol after an exit. Absent: none.",
        examples=[{"candles": 6, "after": "loss"}],
    )
    maxDailyProfit: Maybe[Rupees] = Field(
        None,
        description=(
            "The profit of a day in rupees that closes all positions at their next open and"
            " blocks entries until the next session. Absent: no limit."
        ),
        examples=[25_000],
    )
    riskRewardRatio: Maybe[Ratio] = Field(
        None,
        description=(
            "The minimum reward per unit of risk that the exits should offer. A lower one"
            " is a warning of the review, not an error."
        ),
        examples=[2],
    )


class ExecutionSettings(StrictModel):
    """The filling of orders.

    `slippage` and `limitOffset` are in percent. A limit order for an entry is `limitOffset` below
    the signal's close (above it for a short), a stop order above it (below); both are valid for the
    next candle. Market orders ignore it. If `productType` is absent, it is intraday below 1d, else
    delivery or carryforward by the instrument; if `charges` is absent, the schedule of the
    instrument's segment applies. Bars outside of sessions, such as those of the pre-open or of a
    holiday, are left out of indicators and fills unless `includeOutOfSession` is true.
    """

    mode: Literal["paper", "live"] = Field(
        description="Whether a start trades on the paper account or with a broker."
    )
    exchange: Literal["NSE", "BSE", "MCX", "NCDEX"] = Field(
        description="The main exchange. Each symbol is traded on the exchange in its name."
    )
    orderType: Literal["market", "limit", "stop"] = Field(
        description=(
            "The order of an entry: `market` fills at the next open; `limit` and `stop`"
            " wait for their price only during the next candle."
        )
    )
    broker: Maybe[Annotated[str, Field(max_length=50), AfterValidator(without_control)]] = Field(
        None,
        description="The broker's name. On paper it only selects the broker's charges.",
        examples=["zerodha"],
    )
    limitOffset: Annotated[float, Field(ge=0, le=20)] = Field(
        0.0,
        description=(
            "The distance of a limit or stop order from the signal's close, in percent: 0 to 20."
        ),
    )
    slippage: Annotated[float, Field(ge=0, le=5)] = Field(
        0.0,
        description=(
            "The percentage by which a market or stop fill is worse than its price: 0 to 5."
        ),
    )
    maxVolumeShare: Maybe[Percentage] = Field(
        None,
        description=(
            "The maximum share of the volume of its fill's candle that an entry may take,"
            " in percent: above 0 to 100. The remainder lapses. Absent: no limit."
        ),
        examples=[5],
    )
    productType: Maybe[Literal["intraday", "delivery", "carryforward"]] = Field(
        None,
        description=(
            "The product of the orders. `intraday` squares positions off before the"
            " session ends. Absent: `intraday` below 1d, else `delivery` or `carryforward`"
            " by the instrument."
        ),
    )
    initialCapital: Rupees = Field(
        1_000_000.0,
        description="The initial capital in rupees; a start reserves it on the paper account.",
    )
    charges: Maybe[Literal["none", "standard"]] = Field(
        None,
        description=(
            "Whether brokerage, taxes and fees are deducted: `none`, or `standard`, by the"
            " schedule of the instrument's segment. Absent: `standard`."
        ),
        examples=["standard"],
    )
    includeOutOfSession: bool = Field(
        False,
        description=(
            "Whether bars outside sessions, such as in the pre-open or on a holiday, count"
            " for indicators and fills."
        ),
    )
