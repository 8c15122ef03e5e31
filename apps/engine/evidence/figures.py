"""The figures of each section of evidence, as they are stored and on the wire.

Their JSON schema is a part of the document of the API.
"""

from __future__ import annotations

from typing import Annotated, Any, Final, TypeAlias

from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from apps.engine.results.wire_performance import ChargesByKind, record_type
from apps.engine.results.wire_records import Timestamp
from apps.engine.studies.figures import OverfittingFigures, Percentiles

_Rupees: TypeAlias = Annotated[float, Field(description="Rupees.")]
_Share: TypeAlias = Annotated[float, Field(description="A share of 1.")]
_Ratio: TypeAlias = Annotated[float, Field(description="A daily ratio, not annualised.")]
_Count: TypeAlias = Annotated[int, Field(ge=0)]


class CostOfTrade(TypedDict):
    """The cost of a trade on average; null without trades."""

    rupees: _Rupees | None
    basisPoints: Annotated[float | None, Field(description="Of the value at the entry.")]


class NetProfitAtCosts(TypedDict):
    """The net profit at other costs."""

    factor: Annotated[float, Field(description="Of slippage and charges.")]
    netProfit: _Rupees


class CostsFigures(TypedDict):
    """From the prices of the signals to the net profit."""

    grossProfitAtSignalPrices: Annotated[_Rupees, Field(description="Rupees, without any costs.")]
    slippage: _Rupees
    grossProfit: Annotated[_Rupees, Field(description="Rupees, before charges.")]
    chargesByKind: ChargesByKind
    charges: _Rupees
    netProfit: _Rupees
    costOfTrade: CostOfTrade
    breakEvenCostOfTrade: Annotated[
        CostOfTrade, Field(description="The cost at which nothing is left.")
    ]
    netProfitAtCosts: list[NetProfitAtCosts]
    tradesTurnedToLoss: Annotated[_Count, Field(description="Gains that charges made losses.")]
    shareTurnedToLoss: Annotated[_Share | None, Field(description="Of all trades, 0 to 1.")]


class ChargesWithTotal(ChargesByKind):
    """Charges in rupees, with their sum."""

    total: _Rupees


class ChargesAsOfFigures(TypedDict):
    """The same trades by the charges of another date."""

    date: Annotated[str, Field(json_schema_extra={"format": "date"})]
    fills: _Count
    paid: ChargesWithTotal
    asOf: ChargesWithTotal
    difference: Annotated[_Rupees, Field(description="Rupees, above 0 if more would be paid.")]
    netProfit: _Rupees
    netProfitAsOf: _Rupees
    withoutRates: Annotated[list[str], Field(description="Symbols without rates on that date.")]


class UndecidedBars(TypedDict):
    """Bars that reached two prices, of which only one can have come first."""

    stopAndTarget: _Count
    entryAndStop: _Count
    entryAndTarget: _Count


class NetProfitByOrder(TypedDict):
    """The net profit by the order of prices within undecided bars."""

    worst: _Rupees
    rule: Annotated[_Rupees, Field(description="Rupees, by the rule of the engine.")]
    best: _Rupees
    resolved: Annotated[_Rupees, Field(description="Rupees, by finer candles where they are held.")]


class GapsBeyondLevels(TypedDict):
    """Prices that opened beyond a level."""

    stops: _Count
    lostBeyondStops: _Rupees
    targets: _Count
    entries: _Count


class LateFills(TypedDict):
    """Fills long after the decision."""

    afterMoreBarsThan: _Count
    entries: _Count
    exits: _Count


class FillsFigures(TypedDict):
    """How far the result rests on the order of prices within bars, on gaps and on delays."""

    undecidedBars: UndecidedBars
    shareDecidedByFinerCandles: Annotated[_Share | None, Field(description="Null without any.")]
    netProfit: NetProfitByOrder
    gaps: GapsBeyondLevels
    late: LateFills


class VolumeOfFills(TypedDict):
    """The quantities of fills beside the volumes of their bars."""

    fills: Annotated[_Count, Field(description="Fills in bars with a volume.")]
    percentOfBar: Annotated[Percentiles | None, Field(description="Null without volumes.")]
    largerThanPercent: float
    larger: Annotated[_Count, Field(description="Fills above it.")]


class TradabilityFigures(TypedDict):
    """Trades that are impossible, or large for their bars."""

    shortsOverNight: Annotated[_Count, Field(description="Shares held short over night.")]
    soldOptions: _Count
    volume: VolumeOfFills
    largestCapital: Annotated[
        _Rupees | None, Field(description="Rupees that the fills can carry; null without volumes.")
    ]
    failsFromVolumeShare: _Share
    failsFromShareOfFills: _Share


class PathFigures(TypedDict):
    """The days of the result drawn again, in blocks."""

    count: _Count
    netProfit: Annotated[Percentiles, Field(description="Rupees.")]
    maxDrawdown: Annotated[Percentiles, Field(description="Percent of the running peak.")]
    probabilityOfLoss: _Share


class NetProfitWithoutBest(TypedDict):
    """The result without its best trades."""

    trades: _Count
    netProfit: _Rupees


class SignificanceFigures(TypedDict):
    """Whether the result alone is more than luck."""

    days: _Count
    paths: Annotated[PathFigures | None, Field(description="Null for too few days.")]
    probabilisticSharpeRatio: Annotated[
        _Share | None, Field(description="The probability of a Sharpe ratio above 0.")
    ]
    minimumTrackRecordDays: Annotated[
        int | None, Field(description="Days like these for `passesFrom`; null if none suffice.")
    ]
    withoutBestTrades: list[NetProfitWithoutBest]
    passesFrom: _Share
    doubtFrom: _Share


class OverfittingOfTheStudy(OverfittingFigures):
    """The overfitting of the study that chose the configuration."""

    passesUpTo: _Share
    countsFromSets: Annotated[_Count, Field(description="Smaller studies are not judged.")]


class MultipleTestingFigures(TypedDict):
    """Whether the result is more than the best of everything that was tried."""

    trials: Annotated[_Count, Field(description="Configurations that were tried.")]
    deviationOfRatios: Annotated[_Ratio, Field(description="Of the daily Sharpe ratios tried.")]
    expectedMaximum: Annotated[_Ratio, Field(description="The best ratio by luck alone.")]
    sharpeRatioDaily: _Ratio | None
    deflatedSharpeRatio: Annotated[
        _Share | None, Field(description="The probability of a ratio above `expectedMaximum`.")
    ]
    passesFrom: _Share
    doubtFrom: _Share
    overfitting: Annotated[
        OverfittingOfTheStudy | None, Field(description="Null where it is not known.")
    ]


class PermutationFigures(TypedDict):
    """The positions of the result at random times."""

    count: _Count
    grossProfit: _Rupees
    permuted: Annotated[Percentiles, Field(description="Gross profits, in rupees.")]
    pValue: _Share


class AlphaFigures(TypedDict):
    """The daily returns beside those of the market."""

    percentADay: Annotated[float, Field(description="Percent a day beyond the market.")]
    beta: float
    tValue: float
    pValue: _Share


class TimingFigures(TypedDict):
    """Whether the times of the trades earn more than the market gave to everybody."""

    permutations: PermutationFigures | None
    alpha: AlphaFigures | None
    trials: _Count
    expectedMaximum: _Ratio
    pValue: Annotated[_Share | None, Field(description="Of both tests, adjusted for the trials.")]
    passesUpTo: _Share
    doubtUpTo: _Share


class LookAheadCertificate(TypedDict):
    """Decisions beside those on shorter and shuffled histories."""

    engineVersion: int
    cuts: Annotated[_Count, Field(description="Histories that were cut short.")]
    futures: Annotated[_Count, Field(description="Futures that were shuffled.")]
    decisions: Annotated[_Count, Field(description="Entries decided before the last cut.")]
    changed: Annotated[
        _Count,
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
        list[Timestamp],
        Field(description="The cuts before which a decision changed."),
    ]


class RegimeFigures(TypedDict):
    """The trades of one regime."""

    regime: str
    trades: _Count
    netProfit: _Rupees
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
    netProfit: Annotated[_Rupees | None, Field(description="Null if it cannot run.")]


class SensitivityFigures(TypedDict):
    """The result with slightly different numbers in the steps."""

    netProfit: _Rupees
    numbers: Annotated[_Count, Field(description="Numbers of the steps.")]
    changedNumbers: _Count
    neighbours: Annotated[_Count, Field(description="Changes that were tried.")]
    invalid: Annotated[_Count, Field(description="Of these, no strategy that can run.")]
    distinct: Annotated[_Count, Field(description="Of these, with another net profit.")]
    profitable: Annotated[_Share | None, Field(description="Of the distinct ones.")]
    worst: _Rupees | None
    median: _Rupees | None
    cliff: Annotated[
        NeighbourFigures | None,
        Field(description="The small change that takes most of the net profit, if there is one."),
    ]
    changes: list[NeighbourFigures]
    passesFrom: _Share
    doubtFrom: _Share


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


def _section(figures: type[Any]) -> type[BaseModel]:
    name = figures.__name__.removesuffix("Figures") + "Section"
    fields = {
        "sentence": (Annotated[str, Field(description="The conclusion from the figures.")], ...),
        "figures": (figures, ...),
        "notLookedAt": (
            Annotated[list[str], Field(description="The aspects that it did not examine.")],
            ...,
        ),
    }
    return record_type(name, "A section with its figures.", fields)


EvidenceSections: Final = record_type(
    "EvidenceSections",
    "The sections keyed by name; none until the evidence is ready.",
    {name: (_section(figures), None) for name, figures in FIGURES.items()},
)
