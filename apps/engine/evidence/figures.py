"""The figures of each section of evidence, as they are stored and on the wire.

Their JSON schema is a part of the document of the API.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, TypeAlias

from pydantic import Field
from typing_extensions import TypedDict

from apps.engine.studies.figures import OverfittingFigures, Percentiles

Rupees: TypeAlias = Annotated[float, Field(description="Rupees.")]
Share: TypeAlias = Annotated[float, Field(description="A share of 1.")]
Ratio: TypeAlias = Annotated[float, Field(description="A daily ratio, not annualised.")]
Count: TypeAlias = Annotated[int, Field(ge=0)]


class ChargesByKind(TypedDict):
    """Charges in rupees."""

    brokerage: Rupees
    transactionTax: Rupees
    exchangeFee: Rupees
    ipft: Rupees
    sebiFee: Rupees
    stampDuty: Rupees
    gst: Rupees
    depositoryCharge: Rupees


class CostOfTrade(TypedDict):
    """The cost of a trade on average; null without trades."""

    rupees: Rupees | None
    basisPoints: Annotated[float | None, Field(description="Of the value at the entry.")]


class NetProfitAtCosts(TypedDict):
    """The net profit at other costs."""

    factor: Annotated[float, Field(description="Of slippage and charges.")]
    netProfit: Rupees


class CostsFigures(TypedDict):
    """From the prices of the signals to the net profit."""

    grossProfitAtSignalPrices: Annotated[Rupees, Field(description="Rupees, without any costs.")]
    slippage: Rupees
    grossProfit: Annotated[Rupees, Field(description="Rupees, before charges.")]
    chargesByKind: ChargesByKind
    charges: Rupees
    netProfit: Rupees
    costOfTrade: CostOfTrade
    breakEvenCostOfTrade: Annotated[
        CostOfTrade, Field(description="The cost at which nothing is left.")
    ]
    netProfitAtCosts: list[NetProfitAtCosts]
    tradesTurnedToLoss: Annotated[Count, Field(description="Gains that charges made losses.")]
    shareTurnedToLoss: Annotated[Share | None, Field(description="Of all trades, 0 to 1.")]


class ChargesWithTotal(ChargesByKind):
    """Charges in rupees, with their sum."""

    total: Rupees


class ChargesAsOfFigures(TypedDict):
    """The same trades by the charges of another date."""

    date: Annotated[str, Field(json_schema_extra={"format": "date"})]
    fills: Count
    paid: ChargesWithTotal
    asOf: ChargesWithTotal
    difference: Annotated[Rupees, Field(description="Rupees, above 0 if more would be paid.")]
    netProfit: Rupees
    netProfitAsOf: Rupees
    withoutRates: Annotated[list[str], Field(description="Symbols without rates on that date.")]


class UndecidedBars(TypedDict):
    """Bars that reached two prices, of which only one can have come first."""

    stopAndTarget: Count
    entryAndStop: Count
    entryAndTarget: Count


class NetProfitByOrder(TypedDict):
    """The net profit by the order of prices within undecided bars."""

    worst: Rupees
    rule: Annotated[Rupees, Field(description="Rupees, by the rule of the engine.")]
    best: Rupees
    resolved: Annotated[Rupees, Field(description="Rupees, by finer candles where they are held.")]


class Gaps(TypedDict):
    """Prices that opened beyond a level."""

    stops: Count
    lostBeyondStops: Rupees
    targets: Count
    entries: Count


class LateFills(TypedDict):
    """Fills long after the decision."""

    afterMoreBarsThan: Count
    entries: Count
    exits: Count


class FillsFigures(TypedDict):
    """How far the result rests on the order of prices within bars, on gaps and on delays."""

    undecidedBars: UndecidedBars
    shareDecidedByFinerCandles: Annotated[Share | None, Field(description="Null without any.")]
    netProfit: NetProfitByOrder
    gaps: Gaps
    late: LateFills


class VolumeOfFills(TypedDict):
    """The quantities of fills beside the volumes of their bars."""

    fills: Annotated[Count, Field(description="Fills in bars with a volume.")]
    percentOfBar: Annotated[Percentiles | None, Field(description="Null without volumes.")]
    largerThanPercent: float
    larger: Annotated[Count, Field(description="Fills above it.")]


class TradabilityFigures(TypedDict):
    """Trades that are impossible, or large for their bars."""

    shortsOverNight: Annotated[Count, Field(description="Shares held short over night.")]
    soldOptions: Count
    volume: VolumeOfFills
    largestCapital: Annotated[
        Rupees | None, Field(description="Rupees that the fills can carry; null without volumes.")
    ]
    failsFromVolumeShare: Share
    failsFromShareOfFills: Share


class ResampledPaths(TypedDict):
    """The days of the result drawn again, in blocks."""

    count: Count
    netProfit: Annotated[Percentiles, Field(description="Rupees.")]
    maxDrawdown: Annotated[Percentiles, Field(description="Percent of the running peak.")]
    probabilityOfLoss: Share


class NetProfitWithoutBest(TypedDict):
    """The result without its best trades."""

    trades: Count
    netProfit: Rupees


class SignificanceFigures(TypedDict):
    """Whether the result alone is more than luck."""

    days: Count
    paths: Annotated[ResampledPaths | None, Field(description="Null for too few days.")]
    probabilisticSharpeRatio: Annotated[
        Share | None, Field(description="The probability of a Sharpe ratio above 0.")
    ]
    minimumTrackRecordDays: Annotated[
        int | None, Field(description="Days like these for `passesFrom`; null if none suffice.")
    ]
    withoutBestTrades: list[NetProfitWithoutBest]
    passesFrom: Share
    doubtFrom: Share


class OverfittingOfTheStudy(OverfittingFigures):
    """The overfitting of the study that chose the configuration."""

    passesUpTo: Share
    countsFromSets: Annotated[Count, Field(description="Smaller studies are not judged.")]


class MultipleTestingFigures(TypedDict):
    """Whether the result is more than the best of everything that was tried."""

    trials: Annotated[Count, Field(description="Configurations that were tried.")]
    deviationOfRatios: Annotated[Ratio, Field(description="Of the daily Sharpe ratios tried.")]
    expectedMaximum: Annotated[Ratio, Field(description="The best ratio by luck alone.")]
    sharpeRatioDaily: Ratio | None
    deflatedSharpeRatio: Annotated[
        Share | None, Field(description="The probability of a ratio above `expectedMaximum`.")
    ]
    passesFrom: Share
    doubtFrom: Share
    overfitting: Annotated[
        OverfittingOfTheStudy | None, Field(description="Null where it is not known.")
    ]


class PermutationTest(TypedDict):
    """The positions of the result at random times."""

    count: Count
    grossProfit: Rupees
    permuted: Annotated[Percentiles, Field(description="Gross profits, in rupees.")]
    pValue: Share


class AlphaTest(TypedDict):
    """The daily returns beside those of the market."""

    percentADay: Annotated[float, Field(description="Percent a day beyond the market.")]
    beta: float
    tValue: float
    pValue: Share


class TimingFigures(TypedDict):
    """Whether the times of the trades earn more than the market gave to everybody."""

    permutations: PermutationTest | None
    alpha: AlphaTest | None
    trials: Count
    expectedMaximum: Ratio
    pValue: Annotated[Share | None, Field(description="Of both tests, adjusted for the trials.")]
    passesUpTo: Share
    doubtUpTo: Share


class LookAheadCertificate(TypedDict):
    """Decisions beside those on shorter and shuffled histories."""

    engineVersion: int
    cuts: Annotated[Count, Field(description="Histories that were cut short.")]
    futures: Annotated[Count, Field(description="Futures that were shuffled.")]
    decisions: Annotated[Count, Field(description="Entries decided before the last cut.")]
    changed: Annotated[
        Count,
        Field(
            description="Moments with earlier decisions that changed when later bars were removed"
            " or shuffled."
        ),
    ]
    hash: Annotated[str, Field(pattern="^[0-9a-f]{64}$", description="Of the decisions.")]


class LookAheadFigures(TypedDict):
    """Whether decisions stay the same without later bars."""

    certificate: LookAheadCertificate
    changedBefore: Annotated[
        list[Annotated[str, Field(json_schema_extra={"format": "date-time"})]],
        Field(description="The cuts before which a decision changed."),
    ]


class RegimeFigures(TypedDict):
    """The trades of one regime."""

    regime: str
    trades: Count
    netProfit: Rupees
    winRate: Annotated[float, Field(description="Percent of its trades.")]


class RulesRegimeFigures(RegimeFigures):
    """The trades since a change of the market's rules, named by its date."""

    changed: Annotated[list[str], Field(description="The rules that changed.")]


class RegimesFigures(TypedDict):
    """The result by kinds of market."""

    trend: list[RegimeFigures]
    volatility: list[RegimeFigures]
    gap: list[RegimeFigures]
    expiry: list[RegimeFigures]
    month: list[RegimeFigures]
    weekday: list[RegimeFigures]
    hour: list[RegimeFigures]
    rulesSince: list[RulesRegimeFigures]


class NeighbourFigures(TypedDict):
    """The result with one number changed."""

    path: Annotated[str | None, Field(description="The number, by its dotted path.")]
    value: float | None
    change: Annotated[float | None, Field(description="A share of the number, signed.")]
    netProfit: Annotated[Rupees | None, Field(description="Null if it cannot run.")]


class SensitivityFigures(TypedDict):
    """The result with slightly different numbers in the steps."""

    netProfit: Rupees
    numbers: Annotated[Count, Field(description="Numbers of the steps.")]
    changedNumbers: Count
    neighbours: Annotated[Count, Field(description="Changes that were tried.")]
    invalid: Annotated[Count, Field(description="Of these, no strategy that can run.")]
    distinct: Annotated[Count, Field(description="Of these, with another net profit.")]
    profitable: Annotated[Share | None, Field(description="Of the distinct ones.")]
    worst: Rupees | None
    median: Rupees | None
    cliff: Annotated[
        NeighbourFigures | None,
        Field(description="The small change that takes most of the net profit, if there is one."),
    ]
    changes: list[NeighbourFigures]
    passesFrom: Share
    doubtFrom: Share


FIGURES: Final[dict[str, type[Any]]] = {
    "costs": CostsFigures,
    "chargesAsOf": ChargesAsOfFigures,
    "fills": FillsFigures,
    "tradability": TradabilityFigures,
    "significance": SignificanceFigures,
    "multipleTesting": MultipleTestingFigures,
    "timing": TimingFigures,
    "lookAhead": LookAheadFigures,
    "regimes": RegimesFigures,
    "sensitivity": SensitivityFigures,
}
"""The type of the figures of each section, by its name on the wire."""
