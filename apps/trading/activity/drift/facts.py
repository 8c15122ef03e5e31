"""What happened to a run in a session, and how its backtest and its paper trading differ."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from enum import StrEnum
from typing import Final, NamedTuple

from apps.trading.booking.step_result import EntryBlock


class DifferenceKind(StrEnum):
    """What differs.

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
    """`number` tells the fills of one bar, symbol and side apart, in their order."""

    time: int
    symbol: str
    side: str
    number: int


class FillRecord(NamedTuple):
    """One fill; only that of an exit has a `reason`."""

    quantity: int
    price: Decimal
    reason: str
    charges: Decimal


@dataclass(slots=True)
class SessionRecord:
    """What one run did in one session. Times are starts of bars, epoch seconds.

    `undecided` are entry signals of a last close that what was held then ignores, unless the next
    session's open closes that: only that session tells whether there was a signal (engine rule 7).
    """

    bars: dict[tuple[int, str], CandleRecord] = field(default_factory=dict)
    signals: dict[SignalKey, SignalOutcome] = field(default_factory=dict)
    fills: dict[FillKey, FillRecord] = field(default_factory=dict)
    undecided: frozenset[SignalKey] = frozenset()
    _seen: Counter[tuple[int, str, str]] = field(default_factory=Counter)

    def add_fill(self, time: int, symbol: str, side: str, execution: FillRecord) -> None:
        """Add the next fill of its bar, symbol and side."""
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
    """Return all differences, in the order of time.

    Once somebody has stepped in, the run goes on with other positions and other money than its
    backtest: signals and fills that differ from there on are given that reason.
    """
    unordered = [
        *_bar_differences(expected, actual),
        *_signal_differences(expected, actual),
        *_fill_differences(expected, actual),
    ]
    kinds = list(DifferenceKind)
    ordered = sorted(unordered, key=lambda d: (d.time, kinds.index(d.kind), d.symbol))
    first_risk = next((d for d in ordered if d.kind is DifferenceKind.RISK), None)
    if first_risk is None:
        return ordered
    return [_attribute(difference, to=first_risk) for difference in ordered]


def _attribute(difference: Difference, *, to: Difference) -> Difference:
    """Return the difference as a consequence of the intervention `to`, if it can be one."""
    follows = difference.time >= to.time
    if follows and difference.kind in (DifferenceKind.SIGNAL, DifferenceKind.FILL):
        return difference._replace(kind=DifferenceKind.RISK, reason=to.reason)
    return difference


def _bar_differences(expected: SessionRecord, actual: SessionRecord) -> Iterator[Difference]:
    for time, symbol in sorted({*expected.bars, *actual.bars}):
        stored, used = expected.bars.get((time, symbol)), actual.bars.get((time, symbol))
        if stored != used:
            yield Difference(
                DifferenceKind.DATA, time, symbol, "candle", _to_json(stored), _to_json(used)
            )


def _signal_differences(expected: SessionRecord, actual: SessionRecord) -> Iterator[Difference]:
    for key in sorted({*expected.signals, *actual.signals} - expected.undecided):
        simulated, paper = expected.signals.get(key), actual.signals.get(key)
        is_open = simulated is not None and paper is not None and simulated.followed is None
        if not is_open and simulated != paper:
            reason = _intervention(simulated, paper)
            yield Difference(
                DifferenceKind.RISK if reason else DifferenceKind.SIGNAL,
                key.time,
                key.symbol,
                f"{key.action} {key.side}",
                _to_json(simulated),
                _to_json(paper),
                reason,
            )


def _fill_differences(expected: SessionRecord, actual: SessionRecord) -> Iterator[Difference]:
    for key in sorted({*expected.fills, *actual.fills}):
        simulated, paper = expected.fills.get(key), actual.fills.get(key)
        if simulated == paper:
            continue
        reason = None
        if simulated and paper and simulated._replace(charges=paper.charges) == paper:
            kind = DifferenceKind.CHARGE
        else:
            reason = _intervention(simulated, paper)
            kind = DifferenceKind.RISK if reason else DifferenceKind.FILL
        yield Difference(
            kind, key.time, key.symbol, key.side, _to_json(simulated), _to_json(paper), reason
        )


def _intervention(
    simulated: SignalOutcome | FillRecord | None, paper: SignalOutcome | FillRecord | None
) -> str | None:
    """Return how somebody stepped in, by the paper's reason before the backtest's."""
    reasons = [outcome.reason for outcome in (paper, simulated) if outcome is not None]
    return next((reason for reason in reasons if reason in INTERVENTIONS), None)


def _to_json(
    value: CandleRecord | SignalOutcome | FillRecord | None,
) -> Mapping[str, object] | None:
    """Return a record as JSON, with rupees as text."""
    if value is None:
        return None
    return {
        name: str(content) if isinstance(content, Decimal) else content
        for name, content in value._asdict().items()
    }
