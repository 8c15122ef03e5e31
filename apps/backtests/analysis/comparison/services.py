"""Compare two backtests: their metrics, the differences in their steps, and their returns."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

from apps.accounts.models import User
from apps.backtests.models import Backtest
from apps.backtests.running import results
from apps.engine.language import Change, summarize
from apps.engine.results import METRICS, Array, PairedReturns

IdPair = tuple[str, str]


class MetricPair(NamedTuple):
    """A metric of both; `difference` is the second less the first, if both have it."""

    name: str
    first: float | None
    second: float | None

    @property
    def difference(self) -> float | None:
        return None if self.first is None or self.second is None else self.second - self.first


@dataclass(frozen=True, slots=True)
class BacktestComparison:
    """Two completed backtests of one user, in the order of the request.

    `curves` are their CURVE records. `returns` is None if they have too few common days. `verdict`
    is a sentence about them, and `not_examined` lists the omitted comparisons.
    """

    backtests: tuple[Backtest, Backtest]
    curves: tuple[Array, Array]
    metrics: tuple[MetricPair, ...]
    changes: tuple[Change, ...]
    returns: PairedReturns | None
    verdict: str
    not_examined: tuple[str, ...]


def compare_backtests(*, owner: User, ids: IdPair) -> BacktestComparison:
    """Compare two backtests. Raises BacktestNotFound, NotCompleted."""
    first, second = (results.fetch_completed(owner=owner, backtest_id=pk) for pk in ids)
    curves = results.load_curve(first), results.load_curve(second)
    capitals = float(first.initial_capital), float(second.initial_capital)
    returns = PairedReturns.of(curves, capitals, seed=second.seed)
    return BacktestComparison(
        backtests=(first, second),
        curves=curves,
        metrics=paired_metrics(first, second.performance or {}),
        changes=Change.between(summarize(first.configuration), summarize(second.configuration)),
        returns=returns,
        verdict=_verdict(returns),
        not_examined=_not_examined(first, second),
    )


def paired_metrics(first: Backtest, other: Mapping[str, Any]) -> tuple[MetricPair, ...]:
    """Return the metrics that are single numbers, beside those of another performance, in the order
    of the table of metrics. Results of earlier releases have fewer.
    """
    own = first.performance or {}
    return tuple(
        MetricPair(name, own[name], other[name])
        for name in METRICS
        if name in own and name in other and not isinstance(own[name], dict)
    )


def _verdict(returns: PairedReturns | None) -> str:
    if returns is None:
        return (
            f"Nothing can be said: they have fewer than {PairedReturns.LEAST_DAYS} days in common."
        )
    share = f"{returns.probability:.1%} of {returns.paths:,} resampled histories"
    statement = f"The second one's mean daily return is higher in {share}"
    match returns.better:
        case None:
            return f"{statement}: not enough to say that either is better."
        case 1:
            return f"{statement}: enough to say that the second was better in this history."
    return f"{statement}: enough to say that the first was better in this history."


def _not_examined(first: Backtest, second: Backtest) -> tuple[str, ...]:
    sentences = ["How many other configurations were tried before these two."]
    if (first.start, first.end) != (second.start, second.end):
        sentences.append("Days that only one of them has: their ranges differ.")
    if first.symbols != second.symbols:
        sentences.append("Whether the markets did the same: their symbols differ.")
    return tuple(sentences)
