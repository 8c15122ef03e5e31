"""The record of a run in a session, and the differences between its backtest and its paper
trading.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field, replace
from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Final, NamedTuple, TypeAlias, get_args

from pydantic import WithJsonSchema

from apps.engine.candles import Candles, Sessions
from apps.engine.live import BarSnapshot
from apps.trading.booking.step_result import EntryBlock
from apps.trading.models import BarStream
from apps.trading.runs.bar_rows import read_after


class DifferenceKind(StrEnum):
    """The kind of a difference.

    `data`: a candle came late, was changed, or is missing. `risk`: the owner, an operator or a
    limit intervened, now or earlier in the session; a backtest has no interventions.
    """

    DATA = "data"
    SIGNAL = "signal"
    FILL = "fill"
    CHARGE = "charge"
    RISK = "risk"


_Rupees: TypeAlias = Annotated[
    Decimal, WithJsonSchema({"type": "string", "description": "Rupees."})
]
INTERVENTIONS: Final = frozenset(EntryBlock) | {
    "daily_loss_limit",
    "daily_profit_limit",
    "price_band",
    "cancelled",
}


@dataclass(frozen=True, slots=True)
class CandleRecord:
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


@dataclass(frozen=True, slots=True)
class SignalOutcome:
    """Whether a signal was followed, and the reason if not; both null while undecided."""

    followed: bool | None
    reason: str | None


class FillKey(NamedTuple):
    """`number` distinguishes the fills of one bar, symbol and side, in their order."""

    time: int
    symbol: str
    side: str
    number: int


@dataclass(frozen=True, slots=True)
class FillRecord:
    """A fill; only a fill of an exit has a `reason`."""

    quantity: int
    price: _Rupees
    reason: str
    charges: _Rupees


Fact: TypeAlias = CandleRecord | SignalOutcome | FillRecord
FACTS: Final = get_args(Fact)


@dataclass(slots=True)
class SessionRecord:
    """The record of one run in one session.

    Times are starts of bars, epoch seconds. `closes` is the end of the last added row, at first the
    start of the session's first row. `undecided` are entry signals of a last close that the
    present position ignores, unless the next session's open closes it: only that session decides
    whether there was a signal (engine rule 7).
    """

    closes: int
    bars: dict[tuple[int, str], CandleRecord] = field(default_factory=dict)
    signals: dict[SignalKey, SignalOutcome] = field(default_factory=dict)
    fills: dict[FillKey, FillRecord] = field(default_factory=dict)
    undecided: frozenset[SignalKey] = frozenset()
    _seen: Counter[tuple[int, str, str]] = field(default_factory=Counter)

    def add_row(
        self, row: BarSnapshot, stream: BarStream, calendars: Mapping[str, Sessions]
    ) -> None:
        """Add the candles of the next row, without those of read symbols that came too late for the
        row before.
        """
        for index in filter(row.has, range(len(stream.symbols))):
            self.bars[row.time, stream.symbols[index]] = CandleRecord(*row.bars[index].tolist())
        of_read = [calendars[symbol] for symbol, _ in stream.read_series]
        for symbol, candles in read_after(row, stream.read_series, of_read, after=self.closes):
            numbers = [getattr(candles, name).tolist() for name in Candles.NUMBERS]
            for time, *values in zip(candles.time.tolist(), *numbers, strict=True):
                self.bars[time, symbol] = CandleRecord(*values)
        self.closes = row.closes

    def add_fill(self, time: int, symbol: str, side: str, execution: FillRecord) -> None:
        """Add the next fill of its bar, symbol and side."""
        self._seen[time, symbol, side] += 1
        self.fills[FillKey(time, symbol, side, self._seen[time, symbol, side])] = execution


class Difference(NamedTuple):
    """The backtester's result and the paper result; None for a missing one.

    The `reason` of `risk` names the intervention.
    """

    kind: DifferenceKind
    time: int
    symbol: str
    what: str
    expected: Mapping[str, object] | None
    actual: Mapping[str, object] | None
    reason: str | None = None


def differences(expected: SessionRecord, actual: SessionRecord) -> list[Difference]:
    """Return all differences in order of time.

    After an intervention the run continues with other positions and money than its backtest, so
    later differences in signals and fills get the intervention as their reason.
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
        if simulated and paper and replace(simulated, charges=paper.charges) == paper:
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
    """Return the intervention, from the paper's reason or else the backtest's."""
    reasons = [outcome.reason for outcome in (paper, simulated) if outcome is not None]
    return next((reason for reason in reasons if reason in INTERVENTIONS), None)


def _to_json(value: Fact | None) -> Mapping[str, object] | None:
    """Return a record as JSON, with rupees as text."""
    if value is None:
        return None
    return {
        name: str(content) if isinstance(content, Decimal) else content
        for name, content in asdict(value).items()
    }
