"""The tables of a report: breakdowns, the histogram of returns and all metrics.

Amounts are rupees, profits net of charges.
"""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from apps.backtests.analysis.report import formats
from apps.engine.results import METRIC_GROUPS, Bin, BreakdownRow, PeriodRow, Unit

# Labels below a histogram, from its lowest edge to its highest.
HISTOGRAM_LABELS: Final = 5


class GroupBar(NamedTuple):
    """A group of trades, and its profit in percent of the largest profit or loss of the table."""

    group: BreakdownRow
    percent: float

    @property
    def width(self) -> float:
        return abs(self.percent)


def group_bars(groups: Sequence[BreakdownRow]) -> list[GroupBar]:
    largest = max([abs(group["netProfit"]) for group in groups], default=0.0) or 1.0
    return [GroupBar(group, group["netProfit"] / largest * 100) for group in groups]


class HistogramBar(NamedTuple):
    """A bin of trades by their return, and its height in percent of the highest."""

    bin: Bin
    height: float

    @property
    def top(self) -> float:
        return 100 - self.height


class Histogram(NamedTuple):
    """Bars from the lowest return to the highest, and returns at equal distances below them."""

    bars: list[HistogramBar]
    labels: list[float]


def histogram(bins: Sequence[Bin]) -> Histogram | None:
    """Return the bars, or None without trades."""
    if not bins:
        return None
    highest, low, high = max(b.trades for b in bins), bins[0].low, bins[-1].high
    step = (high - low) / (HISTOGRAM_LABELS - 1)
    return Histogram(
        [HistogramBar(b, b.trades / highest * 100) for b in bins],
        [low + number * step for number in range(HISTOGRAM_LABELS)],
    )


class YearRow(NamedTuple):
    """The returns of twelve months in percent, None for months without a bar, and of the year."""

    year: str
    months: list[float | None]
    total: float


def monthly_returns(months: Sequence[PeriodRow], years: Sequence[PeriodRow]) -> list[YearRow]:
    """Return one row of monthly returns for each year."""
    returns = {month["name"]: month["returnPercentage"] for month in months}
    return [
        YearRow(
            year["name"],
            [returns.get(f"{year['name']}-{number:02}") for number in range(1, 13)],
            year["returnPercentage"],
        )
        for year in years
    ]


class MetricRow(NamedTuple):
    """A metric with its formatted value and its meaning."""

    name: str
    value: str
    text: str


def all_metrics(performance: Mapping[str, object]) -> dict[str, list[MetricRow]]:
    """Return every metric of the result, in the order of the tables of metrics."""
    return {
        title: [
            MetricRow(
                formats.humanize(name), _format_metric(performance[name], metric.unit), metric.text
            )
            for name, metric in metrics.items()
            if name in performance
        ]
        for title, metrics in METRIC_GROUPS.items()
    }


def _format_metric(value: object, unit: Unit) -> str:
    if isinstance(value, int | float):
        return formats.format_metric(value, unit)
    return formats.NO_VALUE
