"""The tables of a result: returns by month, and all metrics."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from apps.backtests.analysis.report import formats
from apps.engine.results import METRICS, PeriodRow, Unit


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
    tables: dict[str, list[MetricRow]] = {metric.group: [] for metric in METRICS.values()}
    for name, metric in METRICS.items():
        if name in performance:
            value = _format_metric(performance[name], metric.unit)
            tables[metric.group].append(MetricRow(formats.humanize(name), value, metric.text))
    return tables


def _format_metric(value: object, unit: Unit) -> str:
    if isinstance(value, int | float):
        return formats.format_metric(value, unit)
    return formats.NO_VALUE
