"""The other steps: basicInfo, positionSizing, riskParameters and executionSettings."""

from __future__ import annotations

from typing import Annotated, Literal, TypeAlias
from unicodedata import category

from pydantic import AfterValidator, Field

from apps.engine.language.fields import (
    LARGEST,
    AtrPeriod,
    LargePercent,
    Maybe,
    Multiplier,
    Part,
    Percent,
    Ratio,
    Rupees,
    Whole,
    at_most,
    incomplete,
    refused,
)
from apps.engine.symbols import InvalidSymbol, parse


def _well_formed(symbol: str) -> str:
    try:
        parse(symbol)
    except InvalidSymbol as wrong:
        raise refused(f"is no symbol: {wrong.reason}") from None
    return symbol


def _some_and_distinct(symbols: tuple[str, ...]) -> tuple[str, ...]:
    if not symbols:
        raise incomplete("needs at least one symbol")
    twice = sorted({symbol for symbol in symbols if symbols.count(symbol) > 1})
    if twice:
        raise refused(f"names {', '.join(twice)} more than once")
    return symbols


class BasicInfo(Part):
    """What is traded, and on which candles."""

    strategyType: Literal[
        "scalping",
        "swing",
        "position",
        "arbitrage",
        "market_making",
        "momentum",
        "mean_reversion",
    ]
    timeframe: Literal["1m", "5m", "15m", "30m", "1h", "4h", "1d", "1w"]
    symbols: Annotated[
        tuple[Annotated[str, AfterValidator(_well_formed)], ...],
        Field(strict=False, max_length=50),
        at_most(50),
        AfterValidator(_some_and_distinct),
    ]


class Pyramiding(Part):
    """Whether new signals add to a position; `maxEntries` counts the first one."""

    enabled: bool = False
    maxEntries: Annotated[int, Field(ge=2, le=10), Whole] = 2


class _Sizing(Part):
    pyramiding: Pyramiding = Pyramiding()


class RiskBased(_Sizing):
    """As many as lose `riskPercentage` of equity at the stop."""

    method: Literal["risk_based"]
    riskPercentage: Percent


class FixedQuantity(_Sizing):
    """Always so many, rounded down to whole lots."""

    method: Literal["fixed_quantity"]
    quantity: Annotated[int, Field(ge=1, le=int(LARGEST)), Whole]


class FixedAmount(_Sizing):
    """As many as so many rupees buy."""

    method: Literal["fixed_amount"]
    amount: Rupees


class PercentageOfEquity(_Sizing):
    """As many as so much of the equity buys."""

    method: Literal["percentage_of_equity"]
    percentage: Percent


class VolatilityBased(_Sizing):
    """As many as lose `riskPercentage` of equity over `atrMultiplier` average true ranges."""

    method: Literal["volatility_based"]
    riskPercentage: Percent
    atrPeriod: AtrPeriod = 14
    atrMultiplier: Multiplier = 2.0


PositionSizing: TypeAlias = Annotated[
    RiskBased | FixedQuantity | FixedAmount | PercentageOfEquity | VolatilityBased,
    Field(discriminator="method"),
]


class RiskParameters(Part):
    """Limits over all symbols, in rupees; `stopLoss` and `takeProfit` in percent."""

    maxPositionSize: Rupees
    maxDailyLoss: Rupees
    maxOpenPositions: Annotated[int, Field(ge=1, le=50), Whole]
    stopLoss: Maybe[Percent] = None
    takeProfit: Maybe[LargePercent] = None
    riskRewardRatio: Maybe[Ratio] = None


def _without_control(text: str) -> str:
    """Neither control characters nor those that only steer how text is shown."""
    if any(category(character) in ("Cc", "Cf") for character in text):
        raise refused("holds a control character")
    return text


class ExecutionSettings(Part):
    """How orders are filled. `slippage` and `limitOffset` are in percent.

    A limit order for an entry stands `limitOffset` below the signal's close (above it for a short),
    a stop order above it (below); both live for the next candle. Market orders have no use for it.
    `productType` absent means intraday below 1d, else delivery or carryforward by the instrument;
    `charges` absent means the schedule of the instrument's segment. Bars outside of sessions, such
    as those of the pre-open or of a holiday, are left out of indicators and fills unless
    `includeOutOfSession` is true.
    """

    mode: Literal["paper", "live"]
    exchange: Literal["NSE", "BSE", "MCX", "NCDEX"]
    orderType: Literal["market", "limit", "stop"]
    broker: Maybe[Annotated[str, Field(max_length=50), AfterValidator(_without_control)]] = None
    limitOffset: Annotated[float, Field(ge=0, le=20)] = 0.0
    slippage: Annotated[float, Field(ge=0, le=5)] = 0.0
    productType: Maybe[Literal["intraday", "delivery", "carryforward"]] = None
    initialCapital: Rupees = 1_000_000.0
    charges: Maybe[Literal["none", "standard"]] = None
    includeOutOfSession: bool = False
