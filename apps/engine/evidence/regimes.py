"""A check that a result does not depend on one kind of market: its trades by the market's
behaviour.

A trade counts on the date of its entry, in Asia/Kolkata. The benchmark buys all symbols in equal
parts and holds them. Its trend on a date is its growth over the LOOK_BACK dates before, its
volatility the sample deviation of its daily returns over the same; the dates of the range are cut
into thirds by each. Both are known before the date opens. Rules divide the range at each date with
a change of charges, a contract (its lot, tick or margin) or the hours of the regular session.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from apps.engine.candles.candles import DAY, IST, Candles, ist_day
from apps.engine.evidence.figures import RegimeFigures, RegimesFigures, RulesRegimeFigures
from apps.engine.evidence.inputs import EvidenceInput
from apps.engine.evidence.sections import CheckStatus, EvidenceCheck, EvidenceSection
from apps.engine.results.breakdowns import HOURS, WEEKDAYS
from apps.engine.results.result_data import ResultData
from apps.engine.units import Unit, rounded

Floats = NDArray[np.float64]
Labels = NDArray[np.str_]

REGIMES: Final = "regimes"
RULES_SINCE: Final = "rulesSince"
LOOK_BACK: Final = 20
GAP_SHARE: Final = 0.01
"""An open so far from the symbol's last close, as a share of it, begins a gap day."""
LEAST_TRADES_OF_REGIMES: Final = 30
"""Fewer trades say nothing of regimes."""
_UNKNOWN: Final = "unknown"
_TRENDS: Final = ("falling", "level", "rising")
_VOLATILITIES: Final = ("low", "middle", "high")
_ORDER: Final = {
    name: number
    for names in (_TRENDS, _VOLATILITIES, map(str.capitalize, WEEKDAYS))
    for number, name in enumerate((*names, _UNKNOWN))
}
NAMED_REGIMES: Final = 3
"""The sentence names so many of the regimes that carry the result."""
_NAMES: Final = {
    ("gap", "up"): "gaps up",
    ("gap", "down"): "gaps down",
    ("gap", "none"): "days without a gap",
    ("expiry", "expiry"): "expiry days",
    ("expiry", "none"): "days without an expiry",
    ("trend", "falling"): "a falling market",
    ("trend", "level"): "a sideways market",
    ("trend", "rising"): "a rising market",
    **{("weekday", name): f"{name}s" for name in map(str.capitalize, WEEKDAYS)},
    **{("volatility", name): f"{name} volatility" for name in _VOLATILITIES},
}
_PREFIXES: Final = {
    "month": "the month ",
    "hour": "the hour from ",
    RULES_SINCE: "the rules since ",
}
_NOT_LOOKED_AT: Final = (
    "Other benchmarks than the symbols themselves.",
    f"The trend of the first {LOOK_BACK} days, which have no days before them.",
)


class MarketRegime(NamedTuple):
    """The trades of one regime; `net` in rupees, `won` a share of 1."""

    name: str
    trades: int
    net: float
    won: float

    @property
    def figures(self) -> RegimeFigures:
        return RegimeFigures(
            regime=self.name,
            trades=self.trades,
            netProfit=rounded(self.net, Unit.RUPEES),
            winRate=rounded(self.won * 100, Unit.PERCENT),
        )


def regimes_section(evidence: EvidenceInput) -> EvidenceSection[RegimesFigures]:
    """Return the trades and the net profit in each regime, and whether one carries the result: the
    others together make nothing, with half of the trades or more.
    """
    result = evidence.result
    kinds = {name: _regimes(labels_of(evidence), result.profit) for name, labels_of in _LABELS}
    carrying = [
        _NAMES.get((kind, regime.name)) or f"{_PREFIXES.get(kind, '')}{regime.name}"
        for kind, regimes in kinds.items()
        for regime in regimes
        if regime.name != _UNKNOWN
        and result.net - regime.net <= 0
        and regime.trades * 2 <= len(result.trades)
    ]
    status, sentence = _conclusion(carrying, result)
    changed = {str(np.datetime64(day, "D")): names for day, names in rule_changes(evidence).items()}
    rows = {kind: [regime.figures for regime in regimes] for kind, regimes in kinds.items()}
    figures = RegimesFigures(
        trend=rows["trend"],
        volatility=rows["volatility"],
        gap=rows["gap"],
        expiry=rows["expiry"],
        month=rows["month"],
        weekday=rows["weekday"],
        hour=rows["hour"],
        rulesSince=[
            RulesRegimeFigures(**row, changed=changed.get(row["regime"], []))
            for row in rows[RULES_SINCE]
        ],
    )
    return EvidenceSection(
        REGIMES, figures, sentence, _NOT_LOOKED_AT, EvidenceCheck(REGIMES, status, sentence)
    )


def _regimes(labels: Labels, profit: Floats) -> list[MarketRegime]:
    names = sorted(np.unique(labels).tolist(), key=lambda name: (_ORDER.get(name, 0), name))
    return [
        MarketRegime(name, len(own), float(own.sum()), float((own > 0).mean()))
        for name in names
        for own in [profit[labels == name]]
    ]


def _conclusion(carrying: Sequence[str], result: ResultData) -> tuple[CheckStatus, str]:
    if len(result.trades) < LEAST_TRADES_OF_REGIMES:
        return (
            CheckStatus.UNKNOWN,
            f"Too few trades to compare market conditions: it takes {LEAST_TRADES_OF_REGIMES}.",
        )
    if result.net <= 0:
        return CheckStatus.UNKNOWN, "No profit that one market condition could carry."
    if carrying:
        named = " or ".join(carrying[:NAMED_REGIMES])
        return CheckStatus.DOUBT, f"The profit is gone without {named}."
    return CheckStatus.PASS, "No single trend, volatility, month, weekday or hour makes the profit."


# The regime of each trade.


def _entry_days(result: ResultData) -> NDArray[np.int32]:
    return ist_day(np.ascontiguousarray(result.trades["entry_time"]))


def _by_trend(evidence: EvidenceInput) -> Labels:
    return _thirds(evidence.result, lambda windows: np.prod(1 + windows, axis=1), _TRENDS)


def _by_volatility(evidence: EvidenceInput) -> Labels:
    return _thirds(evidence.result, lambda windows: windows.std(axis=1, ddof=1), _VOLATILITIES)


def _thirds(result: ResultData, figure: Callable[[Floats], Floats], names: Sequence[str]) -> Labels:
    """Return the third of each entry's date, by a figure of the dates before."""
    worth, days = result.benchmark, ist_day(result.ends)
    labels = np.full(len(days), _UNKNOWN, "U16")
    if worth is not None and len(days) > LOOK_BACK:
        returns = worth[1:] / worth[:-1] - 1
        figures = figure(sliding_window_view(returns, LOOK_BACK)[:-1])
        thirds = np.searchsorted(np.quantile(figures, (1 / 3, 2 / 3)), figures, side="right")
        labels[LOOK_BACK:] = np.array(names)[thirds]
    return np.asarray(labels[np.searchsorted(days, _entry_days(result))])


def _by_gap(evidence: EvidenceInput) -> Labels:
    """Return whether the symbol of each trade opened higher or lower than its last close."""
    result = evidence.result
    labels, days = np.full(len(result.trades), "none", "U16"), _entry_days(result)
    for symbol, candles in enumerate(result.candles):
        own = np.flatnonzero(result.trades["symbol"] == symbol)
        dates, gaps = _gaps(candles)
        gap = gaps[np.searchsorted(dates, days[own])]
        labels[own[gap >= GAP_SHARE]], labels[own[gap <= -GAP_SHARE]] = "up", "down"
    return labels


def _gaps(candles: Candles) -> tuple[NDArray[np.int32], Floats]:
    """Return the dates of the candles, and the distance of each open from the last close, as a
    fraction.
    """
    dates, firsts = np.unique(ist_day(candles.time), return_index=True)
    gaps = np.zeros(len(dates))
    gaps[1:] = candles.open[firsts[1:]] / candles.close[firsts[1:] - 1] - 1
    return dates, gaps


def _by_expiry(evidence: EvidenceInput) -> Labels:
    """Return whether derivatives of the symbol's underlying expire on the date of each entry."""
    result, days = evidence.result, _entry_days(evidence.result)
    labels = np.full(len(days), _UNKNOWN, "U16")
    for number, symbol in enumerate(evidence.data.symbols):
        if expiries := evidence.expiries.get(symbol):
            own = result.trades["symbol"] == number
            labels[own] = np.where(np.isin(days[own], expiries), "expiry", "none")
    return labels


def _by_month(evidence: EvidenceInput) -> Labels:
    return np.datetime_as_string(_entry_days(evidence.result).astype("M8[D]"), unit="M")


def _by_weekday(evidence: EvidenceInput) -> Labels:
    weekdays = (_entry_days(evidence.result) + 3) % 7  # 1970-01-01: a Thursday
    return np.char.capitalize(WEEKDAYS)[weekdays]


def _by_hour(evidence: EvidenceInput) -> Labels:
    hours = (evidence.result.trades["entry_time"] + IST) % DAY // 3600
    return np.asarray(np.array(HOURS)[hours])


def _by_rules(evidence: EvidenceInput) -> Labels:
    """Return the date since when the charges, contracts and hours of each entry are in force."""
    changes = np.array(list(rule_changes(evidence)), np.int32)
    since = np.searchsorted(changes, _entry_days(evidence.result), side="right")
    names = ["always", *changes.astype("M8[D]").astype(str).tolist()]
    return np.array(names)[since]


def rule_changes(evidence: EvidenceInput) -> dict[int, list[str]]:
    """Return the days (since 1970 in Asia/Kolkata) with changes of rules, in order, each with its
    kinds: charges, contract or sessions.
    """
    changes = set[tuple[int, str]]()
    for segment in {row.segment for row in evidence.inputs.schedule}:
        rows = sorted(row for row in evidence.inputs.schedule if row.segment == segment)
        changes |= {(day, "charges") for day in _changes((row.first_day, row[2:]) for row in rows)}
    for history in evidence.inputs.histories:
        changes |= {(day, "contract") for day, _ in history.contract.later}
        hours = history.sessions.regimes if history.sessions else ()
        changes |= {
            (day, "sessions") for day in _changes((row.first_day, row[2:]) for row in hours)
        }
    days = sorted({day for day, _ in changes})
    return {day: sorted(name for first, name in changes if first == day) for day in days}


def _changes(rules: Iterable[tuple[int, object]]) -> Iterator[int]:
    """Yield the first days of dated rules that differ from the rule before, in order."""
    before = None
    for first_day, rule in rules:
        if rule != before:
            yield first_day
        before = rule


_LABELS: Final[tuple[tuple[str, Callable[[EvidenceInput], Labels]], ...]] = (
    ("trend", _by_trend),
    ("volatility", _by_volatility),
    ("gap", _by_gap),
    ("expiry", _by_expiry),
    ("month", _by_month),
    ("weekday", _by_weekday),
    ("hour", _by_hour),
    (RULES_SINCE, _by_rules),
)
