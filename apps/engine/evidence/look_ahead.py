"""A check that a strategy decides by known data only: its history is cut short, and its future
shuffled.

At bars with an entry decision, the later bars are removed, or reordered. The decisions up to that
bar must stay equal, to the last bit: signals, ranges and levels of orders, and equity. The check
detects an indicator that reads one bar ahead, a candle of a longer timeframe that counts before it
closes, and a simulation that knows the next price.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from hashlib import sha256
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles.candles import TIMEFRAME_SECONDS, Candles, ist_day
from apps.engine.candles.resampling import bar_ends, buckets
from apps.engine.errors import InsufficientBars
from apps.engine.evidence.figures import LookAheadCertificate, LookAheadFigures
from apps.engine.evidence.inputs import EvidenceInput
from apps.engine.evidence.sections import CheckStatus, EvidenceCheck, EvidenceSection
from apps.engine.kernel.codes import ENTER
from apps.engine.kernel.records import ENGINE_VERSION
from apps.engine.results.wire_records import wire_times
from apps.engine.signals.required_inputs import required_inputs
from apps.engine.simulation.market import combine_signals
from apps.engine.simulation.plan import plan_of, terms_of
from apps.engine.simulation.prepared_data import PreparedData
from apps.engine.simulation.simulation_input import SimulationInput
from apps.engine.simulation.simulations import TradedMarket, ignore_progress, simulate_plan
from apps.engine.simulation.timeline import History, OtherSymbol, SymbolSignals, signals_of_series

LOOK_AHEAD: Final = "lookAhead"
CUTS: Final = 16
SHUFFLED_FUTURES: Final = 8

Times = NDArray[np.int64]


class Decisions(NamedTuple):
    """The decisions of a strategy: for each symbol the times of its bars, with its signals (after
    any ranking), ranges and levels; the times of all rows, with the equity.
    """

    symbols: Sequence[tuple[Times, SymbolSignals]]
    time: Times
    equity: NDArray[np.float64]

    def before(self, moment: int, *, last_row: bool = True) -> bytes:
        """Return the bytes of all decisions before a moment; at its last row open positions may
        have been closed because the data ended.
        """
        parts = list[bytes]()
        for time, (signals, ranges, levels, _) in self.symbols:
            bars = int(np.searchsorted(time, moment))
            parts += [column[:bars].tobytes() for column in (signals, ranges, levels)]
        rows = int(np.searchsorted(self.time, moment))
        return b"".join([*parts, self.equity[: rows if last_row else max(rows - 1, 0)].tobytes()])


class LookAhead(NamedTuple):
    """The numbers of cut histories and shuffled futures; the number of entry decisions before the
    last cut; the moments (epoch seconds) with changed earlier decisions; and the hash of the
    decisions.
    """

    cuts: int
    futures: int
    decisions: int
    changed: tuple[int, ...]
    digest: str

    @property
    def certificate(self) -> LookAheadCertificate:
        """Return the certificate for the receipt."""
        return LookAheadCertificate(
            engineVersion=ENGINE_VERSION,
            cuts=self.cuts,
            futures=self.futures,
            decisions=self.decisions,
            changed=len(self.changed),
            hash=self.digest,
        )


def look_ahead_of(evidence: EvidenceInput) -> LookAhead:
    """Look for decisions that depend on later bars. Raises the errors of `simulate.simulate`."""

    def decisions_on(changed: Sequence[History]) -> Decisions:
        changed_inputs = replace(inputs, histories=changed)
        return _decided(changed_inputs, changed_inputs.prepare())

    inputs = evidence.inputs
    timeframe = inputs.strategy.basicInfo.timeframe
    whole, random = _decided(inputs, evidence.data), np.random.default_rng(inputs.seed)
    entries = _times_of_entries(whole)
    moments, changed, cuts, futures = _moments(whole.time, entries), list[int](), 0, 0
    for number, moment in enumerate(moments):
        try:
            short = decisions_on([_cut(history, moment, timeframe) for history in inputs.histories])
        except InsufficientBars:  # a symbol had too few bars by then
            continue
        cuts += 1
        same = short.before(moment, last_row=False) == whole.before(moment, last_row=False)
        if number % (CUTS // SHUFFLED_FUTURES) == 0:
            futures += 1
            shuffled = decisions_on(
                [_shuffled(history, moment, timeframe, random) for history in inputs.histories]
            )
            same = same and shuffled.before(moment) == whole.before(moment)
        if not same:
            changed.append(moment)
    decided = int(np.searchsorted(entries, moments[-1])) if cuts else 0
    digest = sha256(whole.before(inputs.end)).hexdigest()
    return LookAhead(cuts, futures, decided, tuple(changed), digest)


def look_ahead_section(evidence: EvidenceInput) -> EvidenceSection[LookAheadFigures]:
    """Return the result of cut and shuffled histories, with the certificate for the receipt."""
    result = look_ahead_of(evidence)
    if not result.cuts:
        status, sentence = CheckStatus.UNKNOWN, "No entry signals to test."
    elif result.changed:
        status = CheckStatus.FAIL
        sentence = (
            f"Look-ahead found: at {len(result.changed):,} of {result.cuts:,} points decisions"
            " changed without the later candles."
        )
    else:
        status = CheckStatus.PASS
        sentence = f"No look-ahead found ({result.cuts + result.futures:,} tests)."
    return EvidenceSection(
        LOOK_AHEAD,
        LookAheadFigures(
            certificate=result.certificate,
            changedBefore=wire_times(np.array(result.changed, np.int64)),
        ),
        sentence,
        (
            "Hindsight in the candles themselves, such as adjusted prices.",
            *(() if evidence.joined is None else ("Parameters of windows before the last.",)),
        ),
        EvidenceCheck(LOOK_AHEAD, status, sentence),
    )


def _decided(inputs: SimulationInput, data: PreparedData) -> Decisions:
    strategy, plan = inputs.strategy, plan_of(inputs.strategy)
    required = required_inputs(strategy)
    read = [signals_of_series(required, plan, symbol_series) for symbol_series in data.all_series]
    joined = data.joined if required.rank is None else data.ranked(required.rank, read)
    market, signals = combine_signals(joined, read)
    terms = terms_of(data.symbols, data.contracts, inputs.charges)
    traded = TradedMarket(market, terms, data.candles)
    simulation = simulate_plan(
        plan, traded, signals, capital=inputs.capital, report=ignore_progress
    )
    times = [candles.time for candles in data.candles]
    return Decisions(list(zip(times, read, strict=True)), simulation.time, simulation.equity)


def _times_of_entries(decisions: Decisions) -> Times:
    """Return the starts of all bars with an entry signal."""
    return np.unique(
        np.concatenate([time[read.signals & ENTER > 0] for time, read in decisions.symbols])
    )


def _moments(time: Times, entries: Times) -> list[int]:
    """Return the starts of the rows after some of the entries, spread evenly over them."""
    following = np.searchsorted(time, entries, side="right")
    rows = np.unique(following[following < len(time)])
    chosen = np.unique(np.linspace(0, len(rows), CUTS + 1)[1:].round().astype(np.int64)) - 1
    moments: list[int] = time[rows[chosen[chosen >= 0]]].tolist()
    return moments


def _cut(history: History, moment: int, timeframe: str) -> History:
    """Return the history known at a moment, before the bar that starts then."""
    known = int(np.searchsorted(history.candles.time, moment))
    until = _end_of(history, known, timeframe, moment)
    return replace(
        history,
        candles=history.candles.slice(0, known),
        alerts={name: times[times <= until] for name, times in history.alerts.items()},
        higher_timeframes={
            name: candles.slice(0, _known(candles, name, moment))
            for name, candles in history.higher_timeframes.items()
        },
        other_symbols=[_of_other(other, moment, _first) for other in history.other_symbols],
    )


def _shuffled(
    history: History, moment: int, timeframe: str, random: np.random.Generator
) -> History:
    """Return the history with all parts unknown at a moment in another order."""
    known = int(np.searchsorted(history.candles.time, moment))
    until = _end_of(history, known, timeframe, moment)
    return replace(
        history,
        candles=_reordered(history.candles, known, random),
        alerts={
            name: _with_other_gaps(times, until, random) for name, times in history.alerts.items()
        },
        higher_timeframes={
            name: _reordered(candles, _known(candles, name, moment), random)
            for name, candles in history.higher_timeframes.items()
        },
        other_symbols=[
            _of_other(other, moment, lambda candles, n: _reordered(candles, n, random))
            for other in history.other_symbols
        ],
    )


def _end_of(history: History, known: int, timeframe: str, moment: int) -> int:
    """Return the end of the last of the known bars; the moment without one."""
    last = history.candles.time[max(known - 1, 0) : known]
    return max(bar_ends(last, timeframe, history.sessions).tolist(), default=moment)


def _with_other_gaps(times: Times, until: int, random: np.random.Generator) -> Times:
    """Return the times with the gaps between those after `until` in another order."""
    gaps = np.diff(np.unique(times[times > until]), prepend=until)
    random.shuffle(gaps)
    return np.concatenate((times[times <= until], until + np.cumsum(gaps)))


def _first(candles: Candles, known: int) -> Candles:
    return candles.slice(0, known)


def _of_other(
    other: OtherSymbol, moment: int, change: Callable[[Candles, int], Candles]
) -> OtherSymbol:
    """Return another symbol with its candles changed by the number of those that have ended."""
    changed = {}
    for name, candles in other.candles.items():
        ends = buckets(candles.time, TIMEFRAME_SECONDS[name], other.sessions)[1]
        changed[name] = change(candles, int(np.count_nonzero(ends <= moment)))
    return replace(other, candles=changed)


def _known(candles: Candles, timeframe: str, moment: int) -> int:
    """Return the number of complete candles of a timeframe: their length has passed, or their day
    or week has.
    """
    day, today = ist_day(candles.time), int(ist_day(np.array([moment]))[0])
    weekly = timeframe == "1w"
    past = (day + 3) // 7 < (today + 3) // 7 if weekly else day < today  # 1970-01-01: a Thursday
    over = past | (candles.time + TIMEFRAME_SECONDS[timeframe] <= moment)
    return int(np.count_nonzero(over))


def _reordered(candles: Candles, known: int, random: np.random.Generator) -> Candles:
    """Return the candles with the prices and volumes from an index on in another order."""
    order = np.arange(len(candles))
    random.shuffle(order[known:])
    columns = (getattr(candles, name)[order] for name in Candles.NUMBERS)
    return Candles.unchecked(candles.time, columns)
