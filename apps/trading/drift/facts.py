"""What happened to a run in a session, as facts that two tellings of it can be compared by."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import Final, NamedTuple

from apps.trading.step_result import EntryBlock


class DifferenceKind(StrEnum):
    """What a difference is of.

    `data`: a candle came late, was changed, or never came. `risk`: the owner, an operator or a
    limit stepped in, which nobody does in a backtest, or had done so earlier in the session.
    """

    DATA = "data"
    SIGNAL = "signal"
    FILL = "fill"
    CHARGE = "charge"
    RISK = "risk"


INTERVENTIONS: Final = frozenset(EntryBlock) | {"daily_loss_limit", "price_band", "cancelled"}


class CandleRecord(NamedTuple):
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


class SignalOutcome(NamedTuple):
    """Whether a signal was followed, and why not; None for both while that is open."""

    followed: bool | None
    reason: str | None


class FillKey(NamedTuple):
    """`number` tells those of one bar, symbol and side apart, in their order."""

    time: int
    symbol: str
    side: str
    number: int


class FillRecord(NamedTuple):
    """One fill; `reason` of an exit."""

    quantity: int
    price: Decimal
    reason: str
    charges: Decimal


@dataclass(slots=True)
class SessionRecord:
    """Of one run and session. Times are starts of bars, epoch seconds.

    `undecided` are entry signals of a last close that what was held then ignores, unless the next
    session's open closes that: only that session tells whether there was a signal (engine rule 7).
    """

    bars: dict[tuple[int, str], CandleRecord] = field(default_factory=dict)
    signals: dict[SignalKey, SignalOutcome] = field(default_factory=dict)
    fills: dict[FillKey, FillRecord] = field(default_factory=dict)
    undecided: frozenset[SignalKey] = frozenset()
    _seen: Counter[tuple[int, str, str]] = field(default_factory=Counter)

    def add_fill(self, time: int, symbol: str, side: str, execution: FillRecord) -> None:
        """The next one of its bar, symbol and side."""
        self._seen[time, symbol, side] += 1
        self.fills[FillKey(time, symbol, side, self._seen[time, symbol, side])] = execution


class Difference(NamedTuple):
    """What the backtester says, and what was done on paper; None where one of them has nothing.
    `reason` says of `risk` how somebody stepped in.
    """

    kind: DifferenceKind
    time: int
    symbol: str
    what: str
    expected: Mapping[str, object] | None
    actual: Mapping[str, object] | None
    reason: str | None = None


def differences(expected: SessionRecord, actual: SessionRecord) -> list[Difference]:
    """All of them, in the order of time.

    Once somebody has stepped in, the run goes on with other positions and other money than its
    backtest: signals and fills that differ from there on are told with that reason.
    """
    found = [*_of_bars(expected, actual), *_of_signals(expected, actual)]
    found += _of_fills(expected, actual)
    found.sort(key=lambda one: (one.time, list(DifferenceKind).index(one.kind), one.symbol))
    first = next((one for one in found if one.kind is DifferenceKind.RISK), None)
    return [one if first is None else _after(first, one) for one in found]


def _after(first: Difference, one: Difference) -> Difference:
    """As it is to be told when somebody has stepped in with `first`."""
    follows = one.time >= first.time and one.kind in (DifferenceKind.SIGNAL, DifferenceKind.FILL)
    return one._replace(kind=DifferenceKind.RISK, reason=first.reason) if follows else one


def _of_bars(expected: SessionRecord, actual: SessionRecord) -> Iterator[Difference]:
    for time, symbol in sorted({*expected.bars, *actual.bars}):
        one, other = expected.bars.get((time, symbol)), actual.bars.get((time, symbol))
        if one != other:
            yield Difference(
                DifferenceKind.DATA, time, symbol, "candle", _shown(one), _shown(other)
            )


def _of_signals(expected: SessionRecord, actual: SessionRecord) -> Iterator[Difference]:
    for key in sorted({*expected.signals, *actual.signals} - expected.undecided):
        one, other = expected.signals.get(key), actual.signals.get(key)
        settled = one is None or other is None or one.followed is not None
        if settled and one != other:
            reason = _intervention(one, other)
            kind, what = (
                DifferenceKind.RISK if reason else DifferenceKind.SIGNAL,
                f"{key.action} {key.side}",
            )
            yield Difference(kind, key.time, key.symbol, what, _shown(one), _shown(other), reason)


def _of_fills(expected: SessionRecord, actual: SessionRecord) -> Iterator[Difference]:
    for key in sorted({*expected.fills, *actual.fills}):
        one, other = expected.fills.get(key), actual.fills.get(key)
        if one != other:
            kind, reason = _kind_of(one, other)
            what = key.side
            yield Difference(kind, key.time, key.symbol, what, _shown(one), _shown(other), reason)


def _kind_of(one: FillRecord | None, other: FillRecord | None) -> tuple[DifferenceKind, str | None]:
    """And how somebody stepped in, if it is that."""
    if one is not None and other is not None and one._replace(charges=other.charges) == other:
        return DifferenceKind.CHARGE, None
    reason = _intervention(one, other)
    return (DifferenceKind.RISK if reason else DifferenceKind.FILL), reason


def _intervention(
    one: SignalOutcome | FillRecord | None, other: SignalOutcome | FillRecord | None
) -> str | None:
    """What the paper's telling says of it counts before the backtest's."""
    reasons = [fact.reason for fact in (other, one) if fact is not None]
    return next((reason for reason in reasons if reason in INTERVENTIONS), None)


def _shown(fact: CandleRecord | SignalOutcome | FillRecord | None) -> Mapping[str, object] | None:
    """As JSON; rupees as text."""
    if fact is None:
        return None
    return {
        name: str(value) if isinstance(value, Decimal) else value
        for name, value in fact._asdict().items()
    }
