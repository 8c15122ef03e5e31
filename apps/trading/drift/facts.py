"""What happened to a run in a session, as facts that two tellings of it can be compared by."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import Final, NamedTuple


class Kind(StrEnum):
    """What a difference is of.

    `data`: a candle came late, was changed, or never came. `risk`: the owner, an operator or a
    limit stepped in, which nobody does in a backtest.
    """

    DATA = "data"
    SIGNAL = "signal"
    FILL = "fill"
    CHARGE = "charge"
    RISK = "risk"


INTERVENTIONS: Final = frozenset(
    {"kill_switch", "stale_data", "daily_loss_limit", "price_band", "cancelled", "stopped"}
)


class Bar(NamedTuple):
    """A candle as it was used, or as it is stored."""

    open: float
    high: float
    low: float
    close: float
    volume: float


class SignalKey(NamedTuple):
    time: int
    symbol: str
    action: str
    side: str


class Verdict(NamedTuple):
    """Whether a signal was followed, and why not; None for both while that is open."""

    followed: bool | None
    reason: str | None


class FillKey(NamedTuple):
    """`number` tells those of one bar, symbol and side apart, in their order."""

    time: int
    symbol: str
    side: str
    number: int


class Execution(NamedTuple):
    """One fill; `reason` of an exit."""

    quantity: int
    price: Decimal
    reason: str
    charges: Decimal


@dataclass(slots=True)
class Facts:
    """Of one run and session. Times are starts of bars, epoch seconds."""

    bars: dict[tuple[int, str], Bar] = field(default_factory=dict)
    signals: dict[SignalKey, Verdict] = field(default_factory=dict)
    fills: dict[FillKey, Execution] = field(default_factory=dict)
    _seen: Counter[tuple[int, str, str]] = field(default_factory=Counter)

    def add_fill(self, time: int, symbol: str, side: str, execution: Execution) -> None:
        """The next one of its bar, symbol and side."""
        self._seen[time, symbol, side] += 1
        self.fills[FillKey(time, symbol, side, self._seen[time, symbol, side])] = execution


class Difference(NamedTuple):
    """What the backtester says, and what was done on paper; None where one of them has nothing."""

    kind: Kind
    time: int
    symbol: str
    what: str
    expected: Mapping[str, object] | None
    actual: Mapping[str, object] | None


def differences(expected: Facts, actual: Facts) -> list[Difference]:
    """All of them, in the order of time."""
    found = [*_of_bars(expected, actual), *_of_signals(expected, actual)]
    found += _of_fills(expected, actual)
    return sorted(found, key=lambda one: (one.time, list(Kind).index(one.kind), one.symbol))


def _of_bars(expected: Facts, actual: Facts) -> Iterator[Difference]:
    for time, symbol in sorted({*expected.bars, *actual.bars}):
        one, other = expected.bars.get((time, symbol)), actual.bars.get((time, symbol))
        if one != other:
            yield Difference(Kind.DATA, time, symbol, "candle", _shown(one), _shown(other))


def _of_signals(expected: Facts, actual: Facts) -> Iterator[Difference]:
    for key in sorted({*expected.signals, *actual.signals}):
        one, other = expected.signals.get(key), actual.signals.get(key)
        settled = one is None or other is None or one.followed is not None
        if settled and one != other:
            reasons = {verdict.reason for verdict in (one, other) if verdict is not None}
            kind = Kind.RISK if reasons & INTERVENTIONS else Kind.SIGNAL
            what = f"{key.action} {key.side}"
            yield Difference(kind, key.time, key.symbol, what, _shown(one), _shown(other))


def _of_fills(expected: Facts, actual: Facts) -> Iterator[Difference]:
    for key in sorted({*expected.fills, *actual.fills}):
        one, other = expected.fills.get(key), actual.fills.get(key)
        if one != other:
            kind = _kind_of(one, other)
            yield Difference(kind, key.time, key.symbol, key.side, _shown(one), _shown(other))


def _kind_of(one: Execution | None, other: Execution | None) -> Kind:
    reasons = {execution.reason for execution in (one, other) if execution is not None}
    if one is not None and other is not None and one._replace(charges=other.charges) == other:
        return Kind.CHARGE
    return Kind.RISK if reasons & INTERVENTIONS else Kind.FILL


def _shown(fact: Bar | Verdict | Execution | None) -> Mapping[str, object] | None:
    """As JSON; rupees as text."""
    if fact is None:
        return None
    return {
        name: str(value) if isinstance(value, Decimal) else value
        for name, value in fact._asdict().items()
    }
