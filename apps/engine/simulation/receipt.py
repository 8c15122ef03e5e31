"""The inputs of a result: hashes of everything it depends on, and notes on its limits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict
from hashlib import sha256
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

from apps.engine.candles.candles import IST, Candles, calendar_month, ist_day
from apps.engine.candles.symbols import Symbol
from apps.engine.hashes import hash_of
from apps.engine.indicators.series import OWN_CANDLES, CandleSource
from apps.engine.kernel.codes import BY_EXPIRY, BY_EXPIRY_CLOSE
from apps.engine.kernel.records import ENGINE_VERSION, Array
from apps.engine.language.strategy import Strategy
from apps.engine.results.fill_quality import LATE_BARS, THIN_SHARE, FillQuality, is_late, is_thin
from apps.engine.results.wire_receipt import SimulationReceipt
from apps.engine.signals.alerts import NO_TIMES
from apps.engine.simulation.charges import Schedule, has_rates
from apps.engine.simulation.timeline import Note, SymbolSeries
from apps.engine.units import rupees_text

if TYPE_CHECKING:  # only for types: readers of results need no compiler
    from apps.engine.simulation.prepared_data import PreparedData
    from apps.engine.simulation.simulations import Simulation

_HEX_DIGITS_OF_A_MONTH: Final = 16
# Engines before this version lost the trail of a position that met nothing for 64 candles.
_FIRST_WITH_WHOLE_TRAILS: Final = 13
# The version of release 1.0, whose results of studies do not tell it where an algorithm keeps them.
_VERSION_OF_RELEASE_1: Final = 12


def rule_columns(data: PreparedData) -> Iterator[NDArray[Any]]:
    """Yield the columns that rules derive from bars: square-off, locked prices, the visibility of
    longer candles and of other symbols', the sessions of months, rupees locked by sold options, and
    the bars whose rows rank. Any: numbers of several kinds.
    """
    all_series = data.all_series
    for symbol_series in all_series:
        yield symbol_series.flags
    for symbol_series in all_series:
        for aligned in symbol_series.aligned.values():
            yield aligned.seen
    for symbol_series in all_series:
        yield from symbol_series.month_sessions
    for symbol_series in all_series:
        if len(symbol_series.short_margins):
            yield symbol_series.short_margins
    yield from data.ranking


def receipt(
    strategy: Strategy,
    data: PreparedData,
    schedule: Schedule,
    candle_series: Sequence[CandleSeries],
    *,
    capital: float,
    seed: int,
    notes: Sequence[Note],
) -> SimulationReceipt:
    """Return the receipt.

    Equal receipts mean equal results, to the last byte (rule 14). `configuration`, `candles`,
    `rulebook` (charges, contracts, square-off, visibility of longer candles) and `alerts` are
    SHA-256 in hex.
    """
    contracts = [asdict(history.contract) for history in data.histories]
    columns = rule_columns(data)
    return SimulationReceipt(
        engineVersion=ENGINE_VERSION,
        configuration=strategy.hash,
        candles=hash_of(candle_series),
        rulebook=hash_of([schedule, contracts, _hash_columns(columns)]),
        alerts=_hash_alerts(data.all_series),
        start=data.start,
        end=data.end,
        capital=capital,
        seed=seed,
        notes=[note.to_wire() for note in notes],
    )


class CandleSeries(NamedTuple):
    """The candles of a symbol in a timeframe that were read: keyed by month in Asia/Kolkata, such
    as 2024-01, the start of their SHA-256 (16 hex digits).
    """

    symbol: str
    timeframe: str
    months: dict[str, str]


def hash_candles(all_series: Sequence[SymbolSeries], timeframe: str) -> tuple[CandleSeries, ...]:
    """Return the hashes of all candles that were read: a second for every two gigabytes. What
    several symbols read of another one is named once.
    """
    own, of_others = list[tuple[str, str, Candles]](), dict[tuple[str, str], Candles]()
    for symbol_series in all_series:
        own.append((symbol_series.symbol, timeframe, symbol_series.used))
        for (symbol, longer), aligned in symbol_series.aligned.items():
            name, candles = longer or timeframe, aligned.candles
            if not symbol:
                own.append((symbol_series.symbol, name, candles))
            elif len(candles) >= len(of_others.get((symbol, name), ())):
                of_others[symbol, name] = candles
    named = [(symbol, name, candles) for (symbol, name), candles in of_others.items()]
    return tuple(
        CandleSeries(symbol, name, _hash_months(candles)) for symbol, name, candles in own + named
    )


def _hash_months(candles: Candles) -> dict[str, str]:
    months = calendar_month(candles.time)
    firsts = np.flatnonzero(np.diff(months, prepend=-1))
    return {
        str(months[first].astype("M8[M]")): _hash_columns(
            [getattr(candles, name)[first:after] for name in ("time", *Candles.NUMBERS)]
        )[:_HEX_DIGITS_OF_A_MONTH]
        for first, after in pairwise([*firsts, len(candles)])
    }


def _hash_alerts(all_series: Sequence[SymbolSeries]) -> str | None:
    """Return the hash of the alerts that conditions could read; None if no condition reads any."""
    read = [
        (series.symbol, name, _hash_columns([times]))
        for series in all_series
        for name, times in series.alerts.items()
    ]
    return hash_of(read) if read else None


def _hash_columns(columns: Iterable[NDArray[Any]]) -> str:
    """Return the hash of each column's length and bytes. Any: numbers of every kind."""
    digest = sha256()
    for column in columns:
        digest.update(len(column).to_bytes(8, "big"))
        digest.update(np.ascontiguousarray(column).data)
    return digest.hexdigest()


def notes_on(
    strategy: Strategy, data: PreparedData, schedule: Schedule, simulation: Simulation
) -> list[Note]:
    """Return notes for the reader of a result."""
    notes = [note for history in data.histories for note in history.notes]
    notes += [note for other in data.histories[0].other_symbols for note in other.notes]
    notes += _on_bars_out_of_session(strategy, data.all_series)
    notes += _on_missing_volume(strategy, data.all_series)
    notes += _on_bars_after_expiry(data.all_series)
    notes += _on_unknown_calendars(data.all_series)
    notes += _on_ranking(strategy)
    notes += _on_alerts(strategy, data)
    first_days = [int(ist_day(candles.time[:1])[0]) for candles in data.candles]
    free = [
        history.symbol
        for history, first_day in zip(data.histories, first_days, strict=True)
        if not has_rates(schedule, history.contract.segment, first_day)
    ]
    if free:
        notes.append(Note("no_charges", f"No charges are included for {', '.join(free)}."))
    if _sells_shares_short(strategy):
        message = (
            "Shares are sold short in delivery here. Exchanges allow that within a day alone:"
            f" {_overnight_shorts(data.symbols, simulation.trades):,} trades held shares short over"
            " night, which is not tradable."
        )
        notes.append(Note("delivery_shorts", message))
    if exits := simulation.waited["exits"]:
        message = (
            f"At prices that were locked at a limit of their day, {exits:,} exits could not be"
            f" made: they waited {simulation.waited['bars']:,} bars in all."
        )
        notes.append(Note("waiting_exits", message))
    if simulation.ruined:
        message = "Equity fell to zero or below; the simulation ended there, at the last close."
        notes.append(Note("ruined", message))
    return notes


def notes_on_engine(steps: Mapping[str, Any], version: int = _VERSION_OF_RELEASE_1) -> list[Note]:
    """Return known defects of results with these steps by an engine version, by default the one of
    release 1.0.

    Any: steps as stored.
    """
    trail = steps.get("exitConditions", {}).get("trailingStop") or {}
    if version >= _FIRST_WITH_WHOLE_TRAILS or not trail.get("enabled"):
        return []
    message = (
        f"Its trailing stops may be wrong: engine version {version} made it, which missed trailing"
        " stops of positions that were quiet for more than 64 candles. Reproduce it, or submit it"
        " again."
    )
    return [Note("trailing_stops", message)]


def notes_on_fills(quantity: NDArray[np.float64], fills: FillQuality) -> list[Note]:
    """Return notes on late and thin fills of trades with these quantities."""
    notes, delays = list[Note](), (fills.entry_delay_bars, fills.exit_delay_bars)
    late = [int(is_late(column).sum()) for column in delays]
    if any(late):
        longest = int(max(np.nanmax(column, initial=0) for column in delays))
        message = (
            f"Filled more than {LATE_BARS} bars after their signals, as their symbols had no bars"
            f" before: {late[0]:,} entries and {late[1]:,} exits, of {len(quantity):,} trades; the"
            f" longest wait was {longest:,} bars."
        )
        notes.append(Note("late_fills", message))
    volumes = (fills.entry_volume, fills.exit_volume)
    thin = [int(is_thin(quantity, volume).sum()) for volume in volumes]
    if any(thin):
        message = (
            f"Of more than {THIN_SHARE:.0%} of the volume of their bars, which a market may not"
            f" fill so: {thin[0]:,} entries and {thin[1]:,} exits, of {len(quantity):,} trades."
        )
        notes.append(Note("thin_fills", message))
    return notes


def _on_ranking(strategy: Strategy) -> list[Note]:
    if strategy.entryConditions.rank is None:
        return []
    message = (
        "The ranking picks among the symbols of this list, and the list was chosen today: shares"
        " that failed or fell out of their index since then are not in it, and the result is better"
        " for that."
    )
    return [Note("chosen_universe", message)]


def _on_bars_out_of_session(strategy: Strategy, all_series: Sequence[SymbolSeries]) -> list[Note]:
    counts = {series.symbol: series.out_of_session for series in all_series}
    counts = {symbol: count for symbol, count in counts.items() if count}
    if not counts:
        return []
    of_symbols = ", ".join(f"{count:,} of {symbol}" for symbol, count in counts.items())
    included = strategy.executionSettings.includeOutOfSession
    handling = "are included, as includeOutOfSession asks" if included else "are left out"
    return [Note("out_of_session", f"Bars outside of sessions {handling}: {of_symbols}.")]


def _on_bars_after_expiry(all_series: Sequence[SymbolSeries]) -> list[Note]:
    counts = {series.symbol: series.after_expiry for series in all_series}
    of_symbols = ", ".join(f"{count:,} of {symbol}" for symbol, count in counts.items() if count)
    if not of_symbols:
        return []
    message = f"Bars after the last session of their contract are left out: {of_symbols}."
    return [Note("after_expiry", message)]


def notes_on_expiries(data: PreparedData, trades: Array) -> list[Note]:
    """Return notes on contracts with a position held to their last session, by TRADE records."""
    expired = np.isin(trades["reason"], (BY_EXPIRY, BY_EXPIRY_CLOSE))
    held = sorted(set(trades["symbol"][expired].tolist()))
    return [note for symbol in held for note in data.histories[symbol].expiry_notes]


def _on_missing_volume(strategy: Strategy, all_series: Sequence[SymbolSeries]) -> list[Note]:
    """Name the symbols without any volume in candles if the conditions read it (rule 11)."""
    operands = [(operand.type, source) for _, operand, source in strategy.volume_operands()]
    silent = dict.fromkeys(
        source.symbol or series.symbol
        for series in all_series
        for _, source in operands
        if not _candles_of(series, source).volume.any()
    )
    if not silent:
        return []
    types = ", ".join(sorted({name for name, _ in operands}))
    message = (
        f"No volume is stored of {', '.join(silent)}. Conditions on {types} are not true without"
        " it."
    )
    return [Note("no_volume", message)]


def _candles_of(series: SymbolSeries, source: CandleSource) -> Candles:
    return series.used if source == OWN_CANDLES else series.aligned[source].candles


def _on_unknown_calendars(all_series: Sequence[SymbolSeries]) -> list[Note]:
    counts = {series.symbol: series.unknown_months for series in all_series}
    of_symbols = ", ".join(f"{count:,} of {symbol}" for symbol, count in counts.items() if count)
    if not of_symbols:
        return []
    message = (
        "Conditions on sessions of the month are not true at bars in months whose holidays are not"
        f" known: {of_symbols}."
    )
    return [Note("unknown_calendar", message)]


def _on_alerts(strategy: Strategy, data: PreparedData) -> list[Note]:
    """Name the alerts that none of the symbols had by the start of the range (rule 25)."""
    never, late = [], []
    for name in strategy.alert_names:
        received = [history.alerts.get(name, NO_TIMES)[:1] for history in data.histories]
        first = int(np.concatenate(received).min(initial=data.end))
        if first >= data.end:
            never.append(f'"{name}"')
        elif first >= data.start:
            minute = str(np.datetime64(first + IST, "s").astype("M8[m]")).replace("T", " ")
            late.append(f'"{name}" (from {minute} on)')
    sentences = []
    if never:
        sentences.append(
            "No alert of these names came for the symbols before the end of the range, so"
            f" conditions on them are never true: {', '.join(never)}."
        )
    if late:
        sentences.append(
            "Alerts of these names began within the range, so conditions on them are not true"
            f" before: {', '.join(late)}."
        )
    return [Note("no_alerts", " ".join(sentences))] if sentences else []


def _overnight_shorts(symbols: Sequence[str], trades: Array) -> int:
    """Count the trades that held a share short from one date to a later one."""
    are_shares = np.array([Symbol.parse(symbol).type == "equity" for symbol in symbols])
    over_night = ist_day(trades["exit_time"]) > ist_day(trades["entry_time"])
    return int(np.count_nonzero((trades["side"] < 0) & are_shares[trades["symbol"]] & over_night))


def notes_on_payouts(data: PreparedData, trades: Array, capital: float) -> list[Note]:
    """Return notes on the dividends that the result leaves out, by TRADE records: for positions
    held overnight into an ex-date (a short one owes them), and for buying all symbols in equal
    parts at their first opens and holding them.
    """
    left_out, held_left_out, dates = 0.0, 0.0, 0
    first_days, last_days = ist_day(trades["entry_time"]), ist_day(trades["exit_time"])
    for symbol, (history, candles) in enumerate(zip(data.histories, data.candles, strict=True)):
        own = trades["symbol"] == symbol
        share = capital / len(data.histories) / float(candles.open[0])
        first, last = ist_day(candles.time[[0, -1]]).tolist()
        for day, rupees in history.payouts:
            through = own & (first_days < day) & (last_days >= day)
            signed = trades["side"][through] * trades["quantity"][through]
            left_out += rupees * float(signed.sum())
            dates += bool(through.any())
            held_left_out += rupees * share if first < day <= last else 0.0
    if not dates and not held_left_out:
        return []
    message = (
        f"Dividends are left out: {rupees_text(left_out)} of positions that were held into"
        f" {dates:,} ex-dates, and {rupees_text(held_left_out)} of buying all symbols at the first"
        " open and holding them."
    )
    return [Note("dividends_left_out", message)]


def _sells_shares_short(strategy: Strategy) -> bool:
    """Return whether a share may be held short overnight."""
    if strategy.is_intraday or strategy.entryConditions.positionType == "long":
        return False
    return any(Symbol.parse(symbol).type == "equity" for symbol in strategy.basicInfo.symbols)
